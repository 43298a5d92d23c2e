/**
 * Keeps out of a provider's words what it was sent: providers like to repeat what they refuse. Knows the shape of requests.
 *
 * Does not own the key, which is the endpoint's.
 */
import type { Headers } from "effect/http/Headers"
import * as Json from "../provider/Json.ts"

/** Headers that hold no secret. */
const open = /^(accept(-encoding|-language)?|connection|content-(type|length)|host|user-agent|traceparent|b3)$/

const ofHeaders = (headers: Headers): ReadonlyArray<string> =>
  Object.entries(headers).flatMap(([name, value]) => open.test(name) ? [] : [value, ...value.split(" ").slice(1)])

/** Every text in a value, however deep, that is not shorter than `least`; JSON in a text is JSON. */
const texts = (value: Json.Json | undefined, least: number): ReadonlyArray<string> => {
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

/** Long enough to be a secret and not a setting. */
const ofSettings = ({ messages: _1, model: _2, tools: _3, ...settings }: Json.JsonObject): ReadonlyArray<string> =>
  texts(settings, 16)

/** A text without what this request sent: its headers, its conversation, its settings. */
export const hide = (said: string, body: string, headers: Headers): string => {
  const sent = Json.object(Json.parse(body)) ?? {}
  const secrets = [
    ...ofHeaders(headers).filter((value) => value.length >= 8),
    ...ofMessages(sent.messages),
    ...ofSettings(sent)
  ]
  return secrets
    .toSorted((a, b) => b.length - a.length)
    .reduce((text, secret) => text.replaceAll(secret, "<redacted>"), said)
}
