/**
 * Removes from a provider's words what it was sent: providers like to repeat what they refuse.
 *
 * Does not own what is an excerpt of that (`Excerpts`), the shape of requests, nor the key; the last two are the adapter's.
 */
import * as Excerpts from "./Excerpts.ts"
import * as Json from "./Json.ts"

/** Headers that hold no secret. */
const open =
  /^(accept(-encoding|-language)?|anthropic-(beta|version)|connection|content-(type|length)|host|user-agent|traceparent|b3)$/

/** The parts of headers that may hold a secret: their values, and the words after a scheme (`Bearer ...`). */
export const ofHeaders = (headers: Readonly<Record<string, string | undefined>>): ReadonlyArray<string> =>
  Object.entries(headers).flatMap(([name, value = ""]) =>
    open.test(name.toLowerCase()) ? [] : [value, ...value.split(" ").slice(1)].filter((value) => value.length >= 8)
  )

/** What follows one of these in a path is a name that providers use in their words, and no secret. */
const naming = /^(deployments|endpoints|locations|models?|projects|publishers|regions)$/

/**
 * The parts of an address's path that may be secret, as some gateways have keys there, each as it is and decoded: those of at least 8
 * characters with a digit. Others name the model (`<name>`, or `<name>:<what it does>`), or follow a word such as `deployments`.
 */
export const ofPath = ({ pathname }: URL, model: string): ReadonlyArray<string> => {
  const names = [model, ...model.split("/")]
  const raw = pathname.split("/")
  const parts = raw.map(decoded)
  return parts.flatMap((part, at) =>
    part.length < 8 || !/\d/.test(part) || naming.test(parts[at - 1] ?? "")
      || names.some((name) => part === name || part.startsWith(`${name}:`))
      ? []
      : [...new Set([raw[at]!, part])]
  )
}

/** A part of a path without its percent-encoding, where that is right. */
const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/**
 * Every text in a value, in no order, of at least `least` characters; a text that is JSON is searched as JSON. At any depth, without
 * the stack, since what a tool read may be nested in more levels than that has; also in a value that holds itself, as options may.
 */
export const texts = (value: Json.Json | undefined, least: number): ReadonlyArray<string> => {
  const found: Array<string> = []
  const left = [value]
  const seen = new Set<object>()
  while (left.length > 0) {
    const next = left.pop()
    if (typeof next === "string") {
      if (next.trim().length >= least) found.push(next, next.trim())
      if (/^\s*[[{]/.test(next)) left.push(Json.parse(next))
    } else if (typeof next === "object" && next !== null && !seen.has(next)) {
      seen.add(next)
      for (const member of Object.values(next)) left.push(member)
    }
  }
  return found
}

/** The texts in settings that may be a secret, and not a choice between words (`auto`, `json_object`, `standard_only`). */
export const ofSettings = (settings: Json.JsonObject): ReadonlyArray<string> =>
  texts(settings, 8).filter((text) => text.length >= 16 || !choice.test(text))

const choice = /^[a-z._-]+$/i

/** A text without any of these, however it quotes them: as JSON or Python strings, nested too. */
export const without = (said: string, secrets: ReadonlyArray<string>): string => {
  // a quoted text is never shorter than the original
  const possible = secrets.filter(({ length }) => length > 0 && length <= said.length)
  if (possible.length === 0) return said
  const { at, text } = located(said)
  const places = [...new Set(possible.map(unescaped))].flatMap((secret) => placesOf(secret, text))
  let told = ""
  let end = 0
  for (const [from, to] of places.toSorted((a, b) => a[0] - b[0])) {
    if (from >= end) told += `${said.slice(at[end], at[from])}<redacted>`
    end = Math.max(end, to)
  }
  return told + said.slice(at[end])
}

/** In UTF-16 units: what a provider says beyond that is not told, since looking for what was sent takes its time. */
const longestSaid = 16_384

/**
 * Takes out of texts what was sent, as a whole and in excerpts. That is looked for once, when there is the first of them. Of a long text
 * the beginning stays.
 */
export const redacting = (sent: () => ReadonlyArray<string>): (said: string) => string => {
  const look = () => {
    const secrets = sent()
    return { secrets, excerptsIn: Excerpts.of([...new Set(secrets.map(unescaped))]) }
  }
  let known: ReturnType<typeof look> | undefined
  return (all) => {
    const { excerptsIn, secrets } = known ??= look()
    const said = all.slice(0, longestSaid)
    return without(said, [...secrets, ...excerptsIn(unescaped(said))])
  }
}

const escape = /\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(["'\\/bfnrt]))/g
const letters: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }

const meaning = (_: string, unicode?: string, hex?: string, char = ""): string =>
  char === "" ? String.fromCharCode(Number.parseInt(unicode ?? hex ?? "", 16)) : letters[char] ?? char

/** How many levels of quotes are looked through. */
const mostQuoted = 4

/** A text without escapes, however often it was quoted: the same for the text itself and all that quote it. */
const unescaped = (text: string): string => {
  let plain = text
  for (let i = 0; i < mostQuoted && plain.includes("\\"); i++) plain = plain.replace(escape, meaning)
  return plain
}

/** The same, with the index in `said` of each character, and of the end. */
const located = (said: string): { readonly text: string; readonly at: ReadonlyArray<number> } => {
  let text = said
  let at = Array.from({ length: said.length + 1 }, (_, i) => i)
  for (let i = 0; i < mostQuoted && text.includes("\\"); i++) {
    const next: Array<number> = []
    let last = 0
    for (const { 0: { length }, index } of text.matchAll(escape)) {
      for (; last <= index; last++) next.push(at[last]!)
      last = index + length
    }
    for (; last <= text.length; last++) next.push(at[last]!)
    text = text.replace(escape, meaning)
    at = next
  }
  return { text, at }
}

/** The places where a text occurs in another one. */
const placesOf = (text: string, where: string): Array<readonly [from: number, to: number]> => {
  const places: Array<readonly [number, number]> = []
  for (let at = where.indexOf(text); at >= 0; at = where.indexOf(text, at + text.length)) {
    places.push([at, at + text.length])
  }
  return places
}
