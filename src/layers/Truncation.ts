/** Cuts long tool output down to its head and tail, for a model to read. */

export interface Truncated {
  readonly text: string
  /** characters there were; absent where nothing was cut */
  readonly originalSize?: number
}

/** At most `limit` characters of `text` and a marker between head and tail; pairs and JSON escapes stay whole. */
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

/** `at`, moved back out of a surrogate pair or a JSON escape. */
const endOfUnit = (text: string, at: number): number => {
  const escape = /\\(?:u[0-9a-fA-F]{0,3})?$/.exec(text.slice(Math.max(0, at - 5), at))
  if (escape !== null) return at - escape[0].length
  return isLow(text, at) ? at - 1 : at
}

/** `at`, moved on out of a surrogate pair or a JSON escape. */
const startOfUnit = (text: string, at: number): number => {
  for (let back = 1; back <= 5; back++) {
    const start = at - back
    if (text[start] !== "\\") continue
    const length = text[start + 1] === "u" ? 6 : 2
    return Math.max(at, start + length)
  }
  return isLow(text, at) ? at + 1 : at
}

const isLow = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff
}
