/** Owns cutting a long text to its head and tail, measured in what the model gets: the characters of its JSON. Pure. */

/** A text, perhaps with only its head and tail. */
export interface Ends {
  readonly head: string
  /** What follows the head when nothing is missing. */
  readonly tail: string
  /** UTF-16 code units of the whole text. */
  readonly size: number
}

/** At most `limit` characters of JSON, without its quotes, and a marker between head and tail where something is left out. */
export const make = ({ head, size, tail }: Ends, limit: number): { readonly text: string; readonly isCut: boolean } => {
  const whole = head + tail
  const isWhole = whole.length === size
  if (isWhole && size <= limit && jsonLength(whole) <= limit) return { text: whole, isCut: false }
  // No character is shorter in JSON, so no more of the text need be looked at.
  const start = take(codePoints((isWhole ? whole : head).slice(0, limit)), limit / 2)
  const end = take(codePoints((isWhole ? whole : tail).slice(-limit)).reverse(), limit / 2).reverse()
  const left = size - unitsOf(start) - unitsOf(end)
  return { text: `${start.join("")}\n… [${left} of ${size} characters left out] …\n${end.join("")}`, isCut: true }
}

/** A whole text. */
export const ofText = (text: string, limit: number) => make({ head: text, tail: "", size: text.length }, limit)

const jsonLength = (text: string): number => JSON.stringify(text).length - 2

/** Drops halves of surrogate pairs, left where a part was cut off. */
const codePoints = (text: string): Array<string> => [...text].filter((char) => char.isWellFormed())

const unitsOf = (chars: ReadonlyArray<string>): number => chars.reduce((units, char) => units + char.length, 0)

const take = (chars: ReadonlyArray<string>, limit: number): Array<string> => {
  let used = 0
  const end = chars.findIndex((char) => (used += jsonLength(char)) > limit)
  return end === -1 ? [...chars] : chars.slice(0, end)
}
