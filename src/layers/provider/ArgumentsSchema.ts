/** The JSON Schema of a tool's arguments, as a provider gets it. Does not own what is sent around it (`ChatRequest`, `CallOptions`). */
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Tool from "effect/ai/Tool"
import type * as JsonSchema from "effect/JsonSchema"
import type * as Schema from "effect/Schema"
import * as ToldSchema from "../../services/ToldSchema.ts"
import * as ResponseFormat from "./ResponseFormat.ts"
import * as StrictForm from "./StrictForm.ts"

interface ArgumentsSchema {
  readonly schema: JsonSchema.JsonSchema
  /** what the tool says of itself, if anything, and the provider can do */
  readonly strict: boolean | undefined
}

/**
 * A strict tool gets the subset of JSON Schema that `transformer` writes for the strict mode of its provider, unless that cannot
 * express the arguments, or writes them in another form, which nobody would read; such a tool is not strict.
 */
export const of = (tool: Tool.Any, transformer: LanguageModel.CodecTransformer): ArgumentsSchema => {
  const told = ToldSchema.ofTool(tool)
  const strict = Tool.getStrictMode(tool)
  if (strict !== true) return { schema: told, strict }
  if (Tool.isDynamic(tool) && tool.jsonSchema !== undefined) {
    return { schema: told, strict: ResponseFormat.isStrict(told) }
  }
  const schema = strictly(tool.parametersSchema, transformer)
  return schema === undefined ? { schema: told, strict: false } : { schema, strict }
}

/** `undefined` where strict mode cannot express it, as Anthropic's cannot express what is inside itself. */
const strictly = (
  parameters: Schema.Constraint,
  transformer: LanguageModel.CodecTransformer
): JsonSchema.JsonSchema | undefined => {
  if (!StrictForm.isKept(parameters)) return undefined
  try {
    const schema = Tool.getJsonSchemaFromSchema(parameters, { transformer })
    return schema.type === "object" ? schema : undefined
  } catch {
    return undefined
  }
}
