/**
 * The texts that a chat completion sent, which its provider's words may not repeat.
 *
 * Does not own the key, which is the endpoint's.
 */
import type { Headers } from "effect/http/Headers"
import * as Echo from "../provider/Echo.ts"
import * as Json from "../provider/Json.ts"
import * as Attached from "./Attached.ts"

/** What a conversation says, and what tools are called with. */
const ofMessages = (messages: Json.Json | undefined): ReadonlyArray<string> =>
  Json.array(messages).flatMap((message) => {
    const { content, extra_content, reasoning_content, reasoning_details, tool_calls } = Json.object(message) ?? {}
    const reasoned = [reasoning_content ?? null, reasoning_details ?? null, extra_content ?? null]
    const called = Json.array(tool_calls).flatMap((item): ReadonlyArray<Json.Json> => {
      const call = Json.object(item)
      return [Json.object(call?.function)?.arguments ?? null, Attached.ofCall(call) ?? null]
    })
    return Echo.texts([content ?? null, ...reasoned, ...called], 8)
  })

/** The texts that this request sent: its headers, its conversation, its settings. */
export const texts = (body: string, headers: Headers): ReadonlyArray<string> => {
  const { messages, model: _1, response_format: _2, tool_choice: _3, tools: _4, ...settings } =
    Json.object(Json.parse(body)) ?? {}
  return [...Echo.ofHeaders(headers), ...ofMessages(messages), ...Echo.ofSettings(settings)]
}
