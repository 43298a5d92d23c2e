/**
 * What Anthropic, Google and OpenAI's Responses send, for a server on the loopback interface (`OpenAiServer`), and the
 * AI SDK models that call it.
 */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createGoogle } from "@ai-sdk/google"
import { createOpenAI } from "@ai-sdk/openai"
import type { LanguageModelV4 } from "@ai-sdk/provider"
import { Effect, Schema } from "effect"
import { Tool } from "effect/ai"
import type * as LanguageModelAiSdk from "../../src/layers/LanguageModelAiSdk.ts"
import { layer } from "../../src/layers/LanguageModelAiSdk.ts"
import * as OpenAi from "./OpenAiServer.ts"

export const key = "sk-ant-secret-0123456789"

type Payload = Record<string, unknown>

// ---- Anthropic ----------------------------------------------------------------------------------------------------

/** One event for each payload. */
export const named = (...payloads: ReadonlyArray<Payload>): string =>
  payloads.map((payload) => `event: ${String(payload["type"])}\ndata: ${JSON.stringify(payload)}\n\n`).join("")

export const begin = (usage: object = { input_tokens: 10, output_tokens: 1 }): Payload => ({
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-x-1",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage
  }
})

/** A block of content, with what its deltas bring. */
export const block = (index: number, content: object, ...deltas: ReadonlyArray<object>): ReadonlyArray<Payload> => [
  { type: "content_block_start", index, content_block: content },
  ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
  { type: "content_block_stop", index }
]

export const says = (index: number, ...texts: ReadonlyArray<string>): ReadonlyArray<Payload> =>
  block(index, { type: "text", text: "" }, ...texts.map((text) => ({ type: "text_delta", text })))

export const thinks = (index: number, thinking: string, signature: string): ReadonlyArray<Payload> =>
  block(
    index,
    { type: "thinking", thinking: "", signature: "" },
    { type: "thinking_delta", thinking },
    { type: "signature_delta", signature }
  )

export const calls = (
  index: number,
  id: string,
  name: string,
  ...json: ReadonlyArray<string>
): ReadonlyArray<Payload> =>
  block(
    index,
    { type: "tool_use", id, name, input: {} },
    ...json.map((partial_json) => ({ type: "input_json_delta", partial_json }))
  )

export const finish = (stop_reason: string | null, usage: object = { output_tokens: 5 }): ReadonlyArray<Payload> => [
  { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
  { type: "message_stop" }
]

/** A whole answer. */
export const message = (reason: string, ...blocks: ReadonlyArray<ReadonlyArray<Payload>>): OpenAi.Reply =>
  OpenAi.events(named(begin(), ...blocks.flat(), ...finish(reason)))

export const apiError = (type: string, words: string): Payload => ({ type: "error", error: { type, message: words } })

export const anthropic = ({ baseUrl }: Pick<OpenAi.Server, "baseUrl">, id = "claude-x"): LanguageModelV4 =>
  createAnthropic({ apiKey: key, baseURL: baseUrl })(id)

/** A tool that Anthropic runs itself. */
export const WebSearch = Tool.providerDefined({
  id: "anthropic.web_search_20250305",
  customName: "web_search",
  providerName: "web_search",
  args: Schema.Struct({ maxUses: Schema.Finite }),
  parameters: Schema.Struct({ query: Schema.String }),
  success: Schema.Array(Schema.Record(Schema.String, Schema.Json))
})

// ---- Google -------------------------------------------------------------------------------------------------------

export const chunk = (parts: ReadonlyArray<object>, fields: object = {}): Payload => ({
  candidates: [{ content: { parts, role: "model" }, index: 0, ...fields }],
  usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3, thoughtsTokenCount: 2, totalTokenCount: 12 },
  modelVersion: "gemini-x",
  responseId: "resp_1"
})

export const google = ({ baseUrl }: Pick<OpenAi.Server, "baseUrl">, id = "gemini-x"): LanguageModelV4 =>
  createGoogle({ apiKey: key, baseURL: baseUrl })(id)

// ---- OpenAI's Responses -------------------------------------------------------------------------------------------

const response = (status: string, fields: object = {}) => ({
  id: "resp_1",
  created_at: 1_700_000_000,
  model: "gpt-x-1",
  status,
  error: null,
  incomplete_details: null,
  usage: { input_tokens: 7, output_tokens: 5, output_tokens_details: { reasoning_tokens: 2 } },
  ...fields
})

export const created: Payload = { type: "response.created", response: response("in_progress") }

const item = (output_index: number, added: object, done: object, ...deltas: ReadonlyArray<object>) => [
  { type: "response.output_item.added", output_index, item: { ...added } },
  ...deltas.map((delta) => ({ output_index, ...delta }) as Payload),
  { type: "response.output_item.done", output_index, item: { ...added, ...done } }
]

export const writes = (index: number, ...texts: ReadonlyArray<string>): ReadonlyArray<Payload> => {
  const id = `msg_${index}`
  const deltas = texts.map((delta) => ({ type: "response.output_text.delta", item_id: id, content_index: 0, delta }))
  return item(index, { id, type: "message", role: "assistant", content: [] }, {}, ...deltas)
}

export const asks = (index: number, name: string, ...json: ReadonlyArray<string>): ReadonlyArray<Payload> => {
  const id = `fc_${index}`
  const deltas = json.map((delta) => ({ type: "response.function_call_arguments.delta", item_id: id, delta }))
  const call = { id, type: "function_call", call_id: `call_${index}`, name, arguments: "" }
  return item(index, call, { arguments: json.join(""), status: "completed" }, ...deltas)
}

/** The end of an answer: complete, or cut short for a reason. */
export const completed = (reason?: string): Payload =>
  reason === undefined
    ? { type: "response.completed", response: response("completed") }
    : { type: "response.incomplete", response: response("incomplete", { incomplete_details: { reason } }) }

/** The end of an answer that failed, with what it used. */
export const broken = (error: object): Payload => ({
  type: "response.failed",
  sequence_number: 9,
  response: response("failed", { error })
})

/** An error inside an answer. */
export const failed = (error: object): Payload => ({ type: "error", sequence_number: 9, error })

export const responses = ({ baseUrl }: Pick<OpenAi.Server, "baseUrl">, id = "gpt-x"): LanguageModelV4 =>
  createOpenAI({ apiKey: key, baseURL: baseUrl }).responses(id)

// ---- calling ------------------------------------------------------------------------------------------------------

export type Maker = typeof anthropic

/** What becomes of these replies, with the server that sent them. */
export const answer = Effect.fnUntraced(function*(
  make: Maker,
  reply: OpenAi.Reply,
  call: OpenAi.Call = {},
  options: LanguageModelAiSdk.Options = {}
) {
  const server = yield* OpenAi.make(reply)
  const outcome = yield* Effect.provide(OpenAi.outcome(call), layer(make(server), options))
  return { ...outcome, server, request: server.requests[0]?.body }
})
