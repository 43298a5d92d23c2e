/**
 * What a chat completion sent, as what the words of its provider may not repeat.
 *
 * Does not own the key, which is the endpoint's.
 */
import type { Headers } from "effect/http/Headers"
import * as Echo from "../provider/Echo.ts"
import * as Json from "../provider/Json.ts"

/** What is said in a conversation, and what tools are called with. */
const ofMessages = (messages: Json.Json | undefined): ReadonlyArray<string> =>
  Json.array(messages).flatMap((message) => {
    const { content, reasoning_content, tool_calls } = Json.object(message) ?? {}
    const called = Json.array(tool_calls).map((call) => Json.object(Json.object(call)?.function)?.arguments ?? null)
    return Echo.texts([content ?? null, reasoning_content ?? null, ...called], 8)
  })

/** The texts that this request sent: its headers, its conversation, its settings. */
export const texts = (body: string, headers: Headers): ReadonlyArray<string> => {
  const { messages, model: _1, tools: _2, ...settings } = Json.object(Json.parse(body)) ?? {}
  return [...Echo.ofHeaders(headers), ...ofMessages(messages), ...Echo.ofSettings(settings)]
}
