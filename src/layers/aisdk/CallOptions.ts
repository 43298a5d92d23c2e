/** Encodes a call as the options of the AI SDK. Owns tools, tool choice and output format; messages are `Messages`. */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ProviderTool,
  LanguageModelV4ToolChoice
} from "@ai-sdk/provider"
import * as AiError from "effect/ai/AiError"
import { toCodecAnthropic } from "effect/ai/AnthropicStructuredOutput"
import type * as LanguageModel from "effect/ai/LanguageModel"
import { toCodecOpenAI } from "effect/ai/OpenAiStructuredOutput"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import type * as Schema from "effect/Schema"
import * as ArgumentsSchema from "../provider/ArgumentsSchema.ts"
import * as OrderRefusal from "../provider/OrderRefusal.ts"
import * as ResponseFormat from "../provider/ResponseFormat.ts"
import * as Messages from "./Messages.ts"

/**
 * What a call sends besides prompt, tools and output format, as the AI SDK has it: `maxOutputTokens`, `temperature`,
 * `reasoning`, `headers`, and, by provider name, `providerOptions` (thinking, caching, safety).
 */
export type Settings = Pick<
  LanguageModelV4CallOptions,
  | "maxOutputTokens"
  | "temperature"
  | "stopSequences"
  | "topP"
  | "topK"
  | "presencePenalty"
  | "frequencyPenalty"
  | "seed"
  | "reasoning"
  | "headers"
  | "providerOptions"
>

type SentTool = LanguageModelV4FunctionTool | LanguageModelV4ProviderTool

const encodeTool = (transformer: LanguageModel.CodecTransformer) => (tool: Tool.Any): SentTool => {
  if (Tool.isProviderDefined(tool)) {
    return { type: "provider", id: tool.id, name: tool.name, args: (tool.args ?? {}) as Record<string, unknown> }
  }
  const { schema, strict } = ArgumentsSchema.of(tool, transformer)
  const description = Tool.getDescription(tool)
  return {
    type: "function",
    name: tool.name,
    inputSchema: schema,
    ...(description === undefined ? {} : { description }),
    ...(strict === undefined ? {} : { strict })
  }
}

const toolOf = memoize(encodeTool(toCodecOpenAI))
const toolOfClaude = memoize(encodeTool(toCodecAnthropic))

/** Claude refuses a strict tool whose schema has bounds, which other strict modes know; effect says them in its descriptions. */
const isClaude = (name: string): boolean => /anthropic|claude/i.test(name)

/** `tools` holds only what the call may choose from: for a choice by `oneOf`, exactly those. */
const choiceOf = ({ toolChoice: choice }: LanguageModel.ProviderOptions): LanguageModelV4ToolChoice =>
  typeof choice === "string"
    ? { type: choice }
    : "tool" in choice
    ? { type: "tool", toolName: choice.tool }
    : { type: choice.mode ?? "auto" }

const toolFields = (call: LanguageModel.ProviderOptions, name: string) =>
  call.tools.length === 0
    ? {}
    : { tools: call.tools.map(isClaude(name) ? toolOfClaude : toolOf), toolChoice: choiceOf(call) }

/** Claude's package asks for an object of an open schema by a tool, which works where tools do: for one that no strict mode takes. */
const objectOf = (asked: { readonly objectName: string; readonly schema: Schema.Constraint }, model: string) => {
  const output = { name: asked.objectName, schema: asked.schema }
  const format = ResponseFormat.ofOnly(output)
  return isClaude(model) && !format.json_schema.strict ? ResponseFormat.asTold(output) : format
}

/** OpenAI's package sends every schema as strict unless told otherwise; other packages ignore that option. */
const formatFields = (
  { responseFormat: asked }: LanguageModel.ProviderOptions,
  { providerOptions }: Settings,
  { format: answer, name: model }: Way
) => {
  const format = asked.type === "json" ? objectOf(asked, model) : answer
  if (format === undefined) return {}
  const { name, schema, strict } = format.json_schema
  return {
    responseFormat: { type: "json" as const, name, schema },
    providerOptions: { ...providerOptions, openai: { strictJsonSchema: strict, ...providerOptions?.["openai"] } }
  }
}

/** What a call depends on besides its content. */
interface Way {
  /** of the model (`Metadata.nameOf`) */
  readonly name: string
  /** whether results of tools get an answer before what the user says next (`OrderRefusal`) */
  readonly answersResults: boolean
  /** whether what the model attached to its answers is sent (`LostItems`) */
  readonly hasAttached: boolean
  /** what the answer has to fit */
  readonly format: ResponseFormat.ResponseFormat | undefined
}

const answer: LanguageModelV4Message = { role: "assistant", content: [{ type: "text", text: OrderRefusal.noted }] }

/** The name of no model: to it, all that is attached is another one's. */
const nobody = ""

const promptOf = (call: LanguageModel.ProviderOptions, way: Way): LanguageModelV4Prompt => {
  const { answersResults, hasAttached, name } = way
  const messages = Messages.encode(call.prompt, hasAttached ? name : nobody)
  return answersResults ? OrderRefusal.answered(messages, answer) : messages
}

/** The options of a call. Fails on a schema that JSON Schema cannot express. */
export const encode = (
  call: LanguageModel.ProviderOptions,
  settings: Settings,
  way: Way
): Effect.Effect<LanguageModelV4CallOptions, AiError.AiErrorReason> =>
  Effect.try({
    try: () => ({
      ...settings,
      prompt: promptOf(call, way),
      ...toolFields(call, way.name),
      ...formatFields(call, settings, way)
    }),
    catch: (cause) => new AiError.UnsupportedSchemaError({ description: cause instanceof Error ? cause.message : "" })
  })
