/** The Markdown fence that models like to put JSON into: off a whole text, and off one that is still coming. */

/** What stands in a fence; a text without one as it is. */
export const unfenced = (text: string): string => /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text)?.[1] ?? text

const opened = /^\s*```(?:json)?\s*\n/
/** Nothing but white space, or what may become a fence yet. */
const undecided = /^\s*(?:`{1,2}|```(?:j|js|jso|json)?[^\S\n]*)?$/

/** Takes the beginning of a fence off a text that comes in pieces. Its end stays. */
export class Unfencing {
  /** what came, until it is known whether it is a fence */
  #head: string | undefined = ""

  /** What there is to read of the text with this piece. */
  push(piece: string): string {
    if (this.#head === undefined) return piece
    const head = this.#head + piece
    if (undecided.test(head)) {
      // models that hang say white space for ever
      this.#head = head.replace(/\s+/g, " ")
      return ""
    }
    this.#head = undefined
    return head.replace(opened, "")
  }
}
