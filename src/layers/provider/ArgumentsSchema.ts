/** The JSON Schema of a tool's arguments, as providers get it. Does not own what is sent around it (`ChatRequest`, `CallOptions`). */
import * as Tool from "effect/ai/Tool"
import type * as JsonSchema from "effect/JsonSchema"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

/** Says that there are no other arguments where the tool's schema refuses them, which effect leaves out. */
export const of = (tool: Tool.Any): JsonSchema.JsonSchema => {
  const schema = Tool.getJsonSchema(tool)
  return schema.additionalProperties === true && schema.patternProperties === undefined &&
      refusesOthers(tool.parametersSchema)
    ? { ...schema, additionalProperties: false }
    : schema
}

/** A struct whose rest is never anything. */
const refusesOthers = (schema: unknown): boolean => {
  if (!Schema.isSchema(schema)) return false
  const ast = SchemaAST.toEncoded(schema.ast)
  return ast._tag === "Objects" && ast.indexSignatures.some(({ type }) => type._tag === "Never")
}
