/**
 * How many tokens a text is, estimated from its characters: for models whose tokenizer is not public or not at hand.
 *
 * Does not own what a message costs besides its text; that is `MessageTokens`.
 *
 * Byte-pair tokenizers cut a text into words, numbers, runs of punctuation and white space before they merge within
 * each. So most of the cost is in where a run of one kind begins, and less in how long it grows. The costs, in
 * hundredths of a token, are fitted to OpenAI's o200k_base and cl100k_base (the patterns:
 * https://github.com/openai/tiktoken, openai_public.py) on prose, source code, JSON, logs, hexadecimal and base64, then
 * raised by about a twentieth: too high costs a compaction, too low an overflow. Where the two differ much, as in
 * Chinese and Russian, they are between them.
 */

// of characters; control characters are among the punctuation
const Start = 0
const Lower = 1
const Upper = 2
const Digit = 3
const Space = 4
const Newline = 5
const Tab = 6
const Punctuation = 7
const Accented = 8
const Other = 9
const kinds = 10

/**
 * What the first character of a run costs, by the kind before it. A space belongs to the word after it; a line break to
 * the punctuation before it; a lower-case letter to the capital before it, if that is alone. A first space costs
 * nothing.
 */
const firstCost = new Uint8Array(kinds * kinds)
const setFirstCost = (kind: number, costs: ReadonlyArray<number>): void =>
  costs.forEach((cost, before) => firstCost[before * kinds + kind] = cost)
//     the kind before: Start, Lower, Upper, Digit, Space, Newline, Tab, Punctuation, Accented, Other
setFirstCost(Lower, [100, 0, 10, 115, 105, 115, 80, 75, 30, 100])
setFirstCost(Upper, [100, 100, 0, 150, 105, 110, 80, 70, 100, 100])
setFirstCost(Digit, [100, 115, 150, 0, 195, 110, 100, 115, 115, 100])
setFirstCost(Newline, [100, 85, 85, 60, 100, 0, 100, 5, 85, 80])
setFirstCost(Tab, [100, 100, 100, 100, 100, 60, 0, 90, 100, 100])
setFirstCost(Punctuation, [100, 95, 110, 95, 120, 145, 100, 0, 95, 80])

const kindOf = (code: number): number => {
  if (code >= 97 && code <= 122) return Lower
  if (code >= 65 && code <= 90) return Upper
  if (code >= 48 && code <= 57) return Digit
  if (code === 32) return Space
  if (code === 10 || code === 13) return Newline
  return code === 9 ? Tab : Punctuation
}

const ascii = new Uint8Array(128).map((_, code) => kindOf(code))

/** What one more character of the same kind costs, the `length`th of its run. */
const nextCost = (kind: number, length: number, isRepeated: boolean): number => {
  switch (kind) {
    case Lower:
      return length < 5 ? 0 : length < 8 ? 2 : length < 16 ? 15 : isRepeated ? 13 : 35
    case Upper:
      return length < 3 ? 5 : length < 12 ? 15 : isRepeated ? 13 : 45
    case Digit:
      return length % 3 === 1 ? 100 : 0
    case Space:
      return length === 2 ? 80 : 1
    case Tab:
      return 25
    case Newline:
      return isRepeated ? 2 : 5
    default:
      return isRepeated ? 3 : 27
  }
}

/** What a character beyond ASCII costs, wherever it is. Each half of a surrogate pair costs by itself, also alone. */
const beyondAscii = (code: number): number => {
  if (code < 0x3000) {
    if (code < 0x250) return code < 0xc0 ? 100 : 175 // signs; Latin, in words dearer than English ones
    if (code < 0x370) return 120
    if (code < 0x400) return 68 // Greek
    if (code < 0x530) return 45 // Cyrillic
    if (code < 0x900) return 66 // Hebrew, Arabic
    if (code < 0x1e00) return 80 // the scripts of India, Thai, Georgian
    return code < 0x2000 ? 25 : 120 // Vietnamese; punctuation and signs
  }
  if (code < 0x3040) return 100
  if (code < 0x3100) return 95 // kana
  if (code < 0xac00) return 100 // Chinese characters
  if (code < 0xd7b0) return 114 // Hangul
  if (code < 0xe000) return code >= 0xd840 && code < 0xd8c0 ? 250 : 125 // emoji; rare characters
  return code >= 0xf900 ? 110 : 220 // compatibility and full-width forms; private use
}

/**
 * Tokens of a text, a whole number: 0 for no text, else at least 1. Total on any string, linear in its length, and
 * never less than for any part of it.
 *
 * For English, German, Japanese, Korean, Russian, source code and JSON it is 0.8 to 1.5 times what o200k_base and
 * cl100k_base count. For scripts where these two differ by more than that (Chinese, Thai, Hindi, Georgian) it is between
 * them: for Chinese 0.8 to 1.8 times what o200k_base counts, most for companies, manuals and encyclopedias, whose words it
 * takes as one, and for literature down to 0.6 times what cl100k_base counts.
 */
export const text = (value: string): number => {
  let hundredths = 0
  let kind = Start
  let length = 0
  let last = 0
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i)
    if (code < 128) {
      const next = ascii[code]!
      if (next === kind) {
        hundredths += nextCost(kind, ++length, code === last)
      } else {
        // a word after several capitals, as in HTMLElement or base64
        hundredths += kind === Upper && next === Lower && length > 1 ? 150 : firstCost[kind * kinds + next]!
        kind = next
        length = 1
      }
    } else {
      hundredths += beyondAscii(code)
      kind = code >= 0xc0 && code < 0x250 ? Accented : Other
    }
    last = code
  }
  return hundredths === 0 ? Math.min(1, value.length) : Math.ceil(hundredths / 100)
}
