/** The Markdown fence that models like to put JSON into: off a whole text, and off one that is still coming. */

/** White space is what is some in JSON. */
const opened = /^[ \n\r\t]*```(?:json)?[ \n\r\t]*\n/
/** Nothing but white space, or what may become a fence yet. */
const undecided = /^[ \n\r\t]*(?:`{1,2}|```(?:j|js|jso|json)?[ \r\t]*)?$/

/** What stands in a fence; a text without one as it is. Linear in the text, also in one of nothing but new lines. */
export const unfenced = (text: string): string => {
  const begin = opened.exec(text)?.[0]
  const end = text.trimEnd()
  return begin !== undefined && end.endsWith("```") ? end.slice(begin.length, -3) : text
}

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
      this.#head = head.replace(/[ \n\r\t]+/g, " ")
      return ""
    }
    this.#head = undefined
    return head.replace(opened, "")
  }
}
