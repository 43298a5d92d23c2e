/** Removes the Markdown fence that models like to put JSON into: from a whole text, and from one that is still coming. */

/** White space is what JSON counts as such. */
const opened = /^[ \n\r\t]*```(?:json)?[ \n\r\t]*\n/
/** Only white space, or text that may still become a fence. */
const undecided = /^[ \n\r\t]*(?:`{1,2}|```(?:j|js|jso|json)?[ \r\t]*)?$/

/** The content of a fence; a text without a fence unchanged. Linear in the text, even if it is nothing but new lines. */
export const unfenced = (text: string): string => {
  const begin = opened.exec(text)?.[0]
  const end = text.trimEnd()
  return begin !== undefined && end.endsWith("```") ? end.slice(begin.length, -3) : text
}

/** Removes the beginning of a fence from a text that comes in pieces. The fence's end stays. */
export class Unfencing {
  /** what has come, until it is clear whether it is a fence */
  #head: string | undefined = ""

  /** What there is to read of the text after this piece. */
  push(piece: string): string {
    if (this.#head === undefined) return piece
    const head = this.#head + piece
    if (undecided.test(head)) {
      // models that hang may produce white space for ever
      this.#head = head.replace(/[ \n\r\t]+/g, " ")
      return ""
    }
    this.#head = undefined
    return head.replace(opened, "")
  }
}
