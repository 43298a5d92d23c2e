/** Cuts long tool output down to its head and tail, for a model to read. */

interface Truncated {
  readonly text: string
  /** characters before the cut; absent where nothing was cut */
  readonly originalSize?: number
}

/**
 * At most `limit` characters of `text` and a marker between head and tail; surrogate pairs, JSON escapes, and escape
 * sequences of terminals (ECMA-48, also as JSON) stay whole.
 */
export const truncate = (text: string, limit: number): Truncated => {
  if (text.length <= limit) return { text }
  const headEnd = endOfUnit(text, Math.ceil(limit / 2))
  const tailStart = startOfUnit(text, text.length - Math.floor(limit / 2))
  const left = tailStart - headEnd
  return {
    text: `${text.slice(0, headEnd)}\n… [${left} of ${text.length} characters left out] …\n${text.slice(tailStart)}`,
    originalSize: text.length
  }
}

/** `at`, moved back to the start of a surrogate pair or JSON escape that it is inside. */
const endOfUnit = (text: string, at: number): number => unitAt(text, at)[0]

/** `at`, moved on to the end of a surrogate pair or JSON escape that it is inside. */
const startOfUnit = (text: string, at: number): number => unitAt(text, at)[1]

/** Where the unit around `at` begins and ends; `at` twice between two units. */
const unitAt = (text: string, at: number): readonly [number, number] => {
  const first = Math.max(0, at - longestSequence)
  let isEscaped = backslashesBefore(text, first) % 2 === 1
  for (let start = first; start < at; start++) {
    const end = start + (sequenceLength(text, start) || (isEscaped ? 0 : escapeLength(text, start)))
    if (end > at) return [start, end]
    isEscaped = text[start] === "\\" && !isEscaped
  }
  return isLow(text, at) && isHigh(text, at - 1) ? [at - 1, at + 1] : [at, at]
}

/** How many follow one another there: the character at `at` is escaped after an odd number. The text may hold nothing else. */
const backslashesBefore = (text: string, at: number): number => {
  let start = at
  while (text[start - 1] === "\\") start--
  return at - start
}

/** The length of the JSON escape that begins at `start`, where the character is not escaped itself; 0 where none does. */
const escapeLength = (text: string, start: number): number =>
  text[start] === "\\" ? escape.exec(text.slice(start, start + 6))?.[0].length ?? 0 : 0

const escape = /^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/

/** The length of the terminal escape sequence that begins at `start`; 0 where none does. */
const sequenceLength = (text: string, start: number): number =>
  text[start] === "\u001b" || text.startsWith("\\u001b", start)
    ? sequence.exec(text.slice(start, start + longestSequence))?.[0].length ?? 0
    : 0

/** Colours and the like are a few characters; nobody would miss a longer sequence. */
const longestSequence = 64

const esc = String.raw`(?:\u001b|\\u001b)`

/** CSI, with parameters and a final character, and OSC, up to its terminator; see ECMA-48, 5.4 and 8.3.89. */
const sequence = new RegExp(
  String.raw`^${esc}(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b\\]*(?:\u0007|\\u0007|${esc}\\{1,2}))`
)

const isHigh = (text: string, at: number): boolean => (text.charCodeAt(at) & 0xfc00) === 0xd800
const isLow = (text: string, at: number): boolean => (text.charCodeAt(at) & 0xfc00) === 0xdc00
