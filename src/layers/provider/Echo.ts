/**
 * Keeps out of a provider's words what it was sent: providers like to repeat what they refuse.
 *
 * Does not own the shape of requests, nor the key; those are an adapter's.
 */
import * as Json from "./Json.ts"

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

/** What settings hold that is long enough to be a secret and not a setting. */
export const ofSettings = (settings: Json.JsonObject): ReadonlyArray<string> => texts(settings, 16)

/** A text without any of these, also where it quotes them: as JSON, in JSON that is a text itself, or as Python writes a text. */
export const without = (said: string, secrets: ReadonlyArray<string>): string =>
  [...new Set(secrets.flatMap(quoted))]
    .toSorted((a, b) => b.length - a.length)
    .reduce((text, secret) => text.replaceAll(secret, "<redacted>"), said)

/** A text, and how it stands in others. */
const quoted = (text: string): ReadonlyArray<string> => {
  const json = inJson(text)
  // Python puts what has a single quote in double ones, and escapes it where that has double ones too
  const python = inPython(text)
  const all = [text, json, inJson(json), python, python.replaceAll("'", "\\'")]
  return [...all, ...all.map(inAscii)]
}

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)

/** In single quotes, none of which are in it. */
const inPython = (text: string): string => inJson(text).replace(/\\(.)/g, (escaped, of) => pythons[of] ?? escaped)

const pythons: Readonly<Record<string, string>> = { "\"": "\"", b: "\\x08", f: "\\x0c" }

/** As JSON is written that keeps to ASCII, as Python's does. */
const inAscii = (text: string): string =>
  text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
