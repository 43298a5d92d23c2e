/** What a partial JSON value must be, found the slow way: each prefix of a text is parsed from scratch. */
import type * as Schema from "effect/Schema"
import { dice } from "../support/Odd.ts"

/** The value of a text so far: the longest prefix of it that can be closed, without a number that may continue. */
export const naive = (text: string): Schema.Json | undefined => {
  const isInString = closers(text).startsWith("\"")
  const read = isInString ? text : text.replace(/[-+.\w]+$/, "")
  for (let end = read.length; end > 0; end--) {
    const close = closers(read.slice(0, end))
    const value = parse(read.slice(0, end) + close)
    if (value !== undefined) return close.startsWith("\"") ? withoutHalf(value) : value
  }
  return undefined
}

const parse = (text: string): Schema.Json | undefined => {
  try {
    return JSON.parse(text) as Schema.Json
  } catch {
    return undefined
  }
}

/** Closes everything that is open in a text. */
const closers = (text: string): string => {
  let open = ""
  let isInString = false
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!
    if (isInString && char === "\\") at++
    else if (char === "\"") isInString = !isInString
    else if (!isInString && char === "{") open = `}${open}`
    else if (!isInString && char === "[") open = `]${open}`
    else if (!isInString && (char === "}" || char === "]")) open = open.slice(1)
  }
  return (isInString ? "\"" : "") + open
}

/** Without the first half of a character at the end of the last string in it. */
const withoutHalf = (value: Schema.Json): Schema.Json => {
  if (typeof value === "string") return value.replace(/[\ud800-\udbff]$/, "")
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value)
  const last = entries.at(-1)
  if (last === undefined) return value
  const [key, member] = last
  const cut: ReadonlyArray<[string, Schema.Json]> = [...entries.slice(0, -1), [key, withoutHalf(member)]]
  return Array.isArray(value) ? cut.map(([, item]) => item) : Object.fromEntries(cut)
}

/** Whether one may grow into the other. */
export const isPrefix = (one: Schema.Json | undefined, whole: Schema.Json | undefined): boolean => {
  if (typeof one === "string") return typeof whole === "string" && whole.startsWith(one)
  if (typeof one !== "object" || one === null) return Object.is(one, whole)
  if (typeof whole !== "object" || whole === null || Array.isArray(one) !== Array.isArray(whole)) return false
  return Object.entries(one).every(([key, member], at) => {
    const [name, other] = Object.entries(whole)[at] ?? []
    return name === key && isPrefix(member, other)
  })
}

/** The text of a value as some model writes it: with or without white space, characters literal or escaped. */
export const written = (value: Schema.Json, seed: number): string => {
  const die = dice(seed)
  const text = JSON.stringify(value, null, die.pick(["", "  ", "\t"]))
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`
  return die.chance(0.5) ? text.replace(/[^\u0020-\u007e\s]/g, escaped) : text
}

/** A text in pieces, cut anywhere. */
export const cut = (text: string, seed: number): ReadonlyArray<string> => {
  const die = dice(seed)
  const longest = die.pick([1, 4, 30])
  const pieces: Array<string> = []
  for (let at = 0; at < text.length;) {
    const end = at + 1 + die.int(longest)
    pieces.push(text.slice(at, end))
    at = end
  }
  return pieces
}
