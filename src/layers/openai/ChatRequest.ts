/** Encodes a call as the body of a chat completion. Owns tools and tool choice; messages are `ChatMessages`. */
import * as AiError from "effect/ai/AiError"
import type * as LanguageModel from "effect/ai/LanguageModel"
import { toCodecOpenAI } from "effect/ai/OpenAiStructuredOutput"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import type * as JsonSchema from "effect/JsonSchema"
import * as ArgumentsSchema from "../provider/ArgumentsSchema.ts"
import * as OrderRefusal from "../provider/OrderRefusal.ts"
import * as ResponseFormat from "../provider/ResponseFormat.ts"
import * as ChatMessages from "./ChatMessages.ts"

export interface Options extends Omit<ChatMessages.Options, "offersTools"> {
  readonly model: string
  /** Fields that the call does not decide. `stream_options: undefined` removes that field. */
  readonly body: Readonly<Record<string, unknown>>
  /** Whether results of tools get an answer before what the user says next (`OrderRefusal`). */
  readonly answersResults: boolean
  /** The format of the answer, where the call itself does not name one. */
  readonly format: ResponseFormat.ResponseFormat | undefined
}

interface FunctionTool {
  readonly type: "function"
  readonly function: {
    readonly name: string
    readonly description?: string
    readonly parameters: JsonSchema.JsonSchema
    readonly strict?: boolean
  }
}

const encodeTool = (tool: Tool.Any): FunctionTool => {
  const { schema, strict } = ArgumentsSchema.of(tool, toCodecOpenAI)
  const description = Tool.getDescription(tool)
  return {
    type: "function",
    function: {
      name: tool.name,
      ...(description === undefined ? {} : { description }),
      parameters: schema,
      ...(strict === undefined ? {} : { strict })
    }
  }
}

const toolOf = memoize(encodeTool)

/** Only OpenAI can restrict a call to some of its tools, so the others are not sent at all. */
const choose = ({ toolChoice: choice, tools }: LanguageModel.ProviderOptions) => {
  if (typeof choice === "string") return { tools, choice }
  if ("tool" in choice) return { tools, choice: { type: "function", function: { name: choice.tool } } }
  const allowed: ReadonlyArray<string> = choice.oneOf
  return { tools: tools.filter((tool) => allowed.includes(tool.name)), choice: choice.mode ?? "auto" }
}

const toolFields = (call: LanguageModel.ProviderOptions) => {
  const { choice, tools } = choose(call)
  return tools.length === 0 ? {} : { tools: tools.map(toolOf), tool_choice: choice }
}

const formatFields = ({ responseFormat: asked }: LanguageModel.ProviderOptions, format: Options["format"]) => {
  const response_format = asked.type === "json" ? ResponseFormat.ofObject(asked.objectName, asked.schema) : format
  return response_format === undefined ? {} : { response_format }
}

const messagesOf = (call: LanguageModel.ProviderOptions, options: Options) => {
  const messages = ChatMessages.encode(call.prompt, { ...options, offersTools: call.tools.length > 0 })
  return options.answersResults
    ? OrderRefusal.answered(messages, { role: "assistant", content: OrderRefusal.noted })
    : messages
}

/** The JSON text of a request. Fails on a tool that only another API has, and on a schema or value that JSON cannot express. */
export const encode = Effect.fnUntraced(function*(
  call: LanguageModel.ProviderOptions,
  options: Options
): Effect.fn.Return<string, AiError.AiErrorReason> {
  const foreign = call.tools.find((tool) => Tool.isProviderDefined(tool))
  if (foreign !== undefined) {
    return yield* new AiError.ToolConfigurationError({
      toolName: foreign.name,
      description: "chat completions have no provider-defined tools; leave it out"
    })
  }
  const fields = yield* Effect.try({
    try: () => ({ ...toolFields(call), ...formatFields(call, options.format) }),
    catch: (cause) => new AiError.UnsupportedSchemaError({ description: cause instanceof Error ? cause.message : "" })
  })
  return yield* Effect.try({
    try: () =>
      JSON.stringify({
        stream_options: { include_usage: true },
        ...options.body,
        model: options.model,
        messages: messagesOf(call, options),
        ...fields,
        stream: true
      }),
    catch: () =>
      new AiError.InvalidUserInputError({
        description: "the prompt or the option body holds a value that JSON cannot express (a cycle or a bigint)"
      })
  })
})
