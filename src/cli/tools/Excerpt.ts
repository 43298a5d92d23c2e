/** Owns cutting a long text to its head and tail, measured as the model gets it: in the characters of its JSON. Pure. */

/** A text of which only the head and the tail may be there. */
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
  // No character is shorter in JSON, so that more of the text is not looked at.
  const start = take(codePoints((isWhole ? whole : head).slice(0, limit)), limit / 2)
  const end = take(codePoints((isWhole ? whole : tail).slice(-limit)).reverse(), limit / 2).reverse()
  const left = size - unitsOf(start) - unitsOf(end)
  return { text: `${start.join("")}\n… [${left} of ${size} characters left out] …\n${end.join("")}`, isCut: true }
}

/** A whole text. */
export const ofText = (text: string, limit: number) => make({ head: text, tail: "", size: text.length }, limit)

const jsonLength = (text: string): number => JSON.stringify(text).length - 2

/** A half of a surrogate pair, where a part was cut off, is left out. */
const codePoints = (text: string): Array<string> => [...text].filter((char) => char.isWellFormed())

const unitsOf = (chars: ReadonlyArray<string>): number => chars.reduce((units, char) => units + char.length, 0)

const take = (chars: ReadonlyArray<string>, limit: number): Array<string> => {
  let used = 0
  const end = chars.findIndex((char) => (used += jsonLength(char)) > limit)
  return end === -1 ? [...chars] : chars.slice(0, end)
}
