/**
 * Finds the end of the JSON document that begins a text which comes in pieces; looks at each character once. Only for kinds of
 * document of which no proper prefix is one: an object, an array, a string.
 *
 * Does not own whether the text before that end is JSON.
 */
export class JsonEnd {
  #depth = 0
  #isInString = false
  #isEscaped = false
  #state: "before" | "within" | "at" | "none" = "before"

  static of(text: string): JsonEnd {
    const end = new JsonEnd()
    end.push(text)
    return end
  }

  /** Whether the document ended with the last character that was not a space. */
  get isReached(): boolean {
    return this.#state === "at"
  }

  push(piece: string): void {
    for (let i = 0; i < piece.length && this.#state !== "none"; i++) this.#look(piece.charCodeAt(i))
  }

  #look(char: number): void {
    if (this.#isInString) return this.#lookInString(char)
    if (isSpace(char)) return
    if (this.#state === "at" || (this.#state === "before" && char !== quote && !isOpening(char))) {
      this.#state = "none"
      return
    }
    this.#state = "within"
    if (char === quote) this.#isInString = true
    else if (isOpening(char)) this.#depth++
    else if (isClosing(char)) this.#depth--
    if (!this.#isInString && this.#depth === 0) this.#state = "at"
  }

  #lookInString(char: number): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (char === backslash) this.#isEscaped = true
    else if (char === quote) {
      this.#isInString = false
      if (this.#depth === 0) this.#state = "at"
    }
  }
}

const quote = 0x22
const backslash = 0x5c

const isSpace = (char: number): boolean => char === 0x20 || char === 0x0a || char === 0x0d || char === 0x09

/** `[` or `{` */
const isOpening = (char: number): boolean => char === 0x5b || char === 0x7b

/** `]` or `}` */
const isClosing = (char: number): boolean => char === 0x5d || char === 0x7d
