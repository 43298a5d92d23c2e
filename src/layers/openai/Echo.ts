/**
 * Keeps out of a provider's words what it was sent: providers like to repeat what they refuse. Knows the shape of requests.
 *
 * Does not own the key, which is the endpoint's.
 */
import type { Headers } from "effect/http/Headers"
import * as Json from "../provider/Json.ts"

/** Headers that hold no secret. */
const open = /^(accept(-encoding|-language)?|connection|content-(type|length)|host|user-agent|traceparent|b3)$/

/** What stands in headers that may hold a secret: their values, and the words behind a scheme (`Bearer ...`). */
export const ofHeaders = (headers: Readonly<Record<string, string | undefined>>): ReadonlyArray<string> =>
  Object.entries(headers).flatMap(([name, value = ""]) =>
    open.test(name.toLowerCase()) ? [] : [value, ...value.split(" ").slice(1)].filter((value) => value.length >= 8)
  )

/** Every text in a value, however deep, that is not shorter than `least`; JSON in a text is JSON. */
export const texts = (value: Json.Json | undefined, least: number): ReadonlyArray<string> => {
  if (typeof value === "string") {
    const inner = /^\s*[[{]/.test(value) ? Json.parse(value) : undefined
    return [...value.trim().length < least ? [] : [value, value.trim()], ...texts(inner, least)]
  }
  return typeof value === "object" && value !== null
    ? Object.values(value).flatMap((member) => texts(member, least))
    : []
}

/** What is said in a conversation, and what tools are called with. */
const ofMessages = (messages: Json.Json | undefined): ReadonlyArray<string> =>
  Json.array(messages).flatMap((message) => {
    const { content, reasoning_content, tool_calls } = Json.object(message) ?? {}
    const called = Json.array(tool_calls).map((call) => Json.object(Json.object(call)?.function)?.arguments ?? null)
    return texts([content ?? null, reasoning_content ?? null, ...called], 8)
  })

/** What settings hold that is long enough to be a secret and not a setting. */
export const ofSettings = (settings: Json.JsonObject): ReadonlyArray<string> => texts(settings, 16)

/** A text without any of these. */
export const without = (said: string, secrets: ReadonlyArray<string>): string =>
  secrets
    .toSorted((a, b) => b.length - a.length)
    .reduce((text, secret) => text.replaceAll(secret, "<redacted>"), said)

/** A text without what this request sent: its headers, its conversation, its settings. */
export const hide = (said: string, body: string, headers: Headers): string => {
  const { messages, model: _1, tools: _2, ...settings } = Json.object(Json.parse(body)) ?? {}
  return without(said, [...ofHeaders(headers), ...ofMessages(messages), ...ofSettings(settings)])
}
