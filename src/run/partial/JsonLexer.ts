/**
 * The tokens of a JSON text that comes in pieces: each character is looked at once, and it does not matter where the
 * text is cut. As strict as `JSON.parse`; text that is not JSON is reported, never thrown.
 *
 * Does not own which token may stand where (`JsonTree`).
 */

/** Receives the tokens; each method says whether its token may stand here. */
export interface Tokens {
  /** one of `{}[]:,` */
  readonly mark: (mark: string) => boolean
  readonly stringBegins: () => boolean
  /** a piece of the string under way, unescaped; never empty */
  readonly stringGoesOn: (piece: string) => void
  readonly stringEnds: () => void
  /** any other value, whole */
  readonly scalar: (value: number | boolean | null) => boolean
  /** a character that is not JSON */
  readonly other: (character: string) => boolean
}

const words: ReadonlyMap<string, boolean | null> = new Map([["true", true], ["false", false], ["null", null]])
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const escapes: ReadonlyMap<string, string> = new Map([
  ["\"", "\""],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"]
])

export class JsonLexer {
  /** Nothing more is read: this is not JSON. */
  isBroken = false
  readonly #tokens: Tokens
  #within: "nothing" | "string" | "escape" | "word" = "nothing"
  /** what has come of a word or an escape */
  #held = ""

  constructor(tokens: Tokens) {
    this.#tokens = tokens
  }

  push(text: string): void {
    let at = 0
    while (at < text.length && !this.isBroken) {
      switch (this.#within) {
        case "nothing":
          at = this.#next(text, at)
          break
        case "string":
          at = this.#string(text, at)
          break
        case "escape":
          this.#escape(text[at++]!)
          break
        case "word":
          at = this.#word(text, at)
      }
    }
  }

  /** The text is whole, and so is a word at its end. */
  end(): void {
    if (this.#within === "word" && !this.isBroken) this.#wordEnds()
  }

  #next(text: string, at: number): number {
    const char = text[at]!
    if (isSpace(char)) return at + 1
    if (isWord(char)) {
      this.#within = "word"
      this.#held = ""
      return at
    }
    if (char === "\"") {
      this.#within = "string"
      this.#check(this.#tokens.stringBegins())
    } else {
      this.#check("{}[]:,".includes(char) ? this.#tokens.mark(char) : this.#tokens.other(char))
    }
    return at + 1
  }

  #string(text: string, at: number): number {
    let end = at
    while (end < text.length && isPlain(text.charCodeAt(end))) end++
    if (end > at) this.#tokens.stringGoesOn(text.slice(at, end))
    if (end === text.length) return end
    if (text[end] === "\"") {
      this.#within = "nothing"
      this.#tokens.stringEnds()
    } else {
      this.#within = "escape"
      this.#held = ""
      this.#check(text[end] === "\\")
    }
    return end + 1
  }

  #escape(char: string): void {
    this.#held += char
    const known = escapes.get(this.#held)
    const isWhole = known !== undefined || this.#held.length === 5
    this.#check(known !== undefined || /^u[\da-fA-F]*$/.test(this.#held))
    if (this.isBroken || !isWhole) return
    this.#within = "string"
    this.#tokens.stringGoesOn(known ?? String.fromCharCode(Number.parseInt(this.#held.slice(1), 16)))
  }

  #word(text: string, at: number): number {
    let end = at
    while (end < text.length && isWord(text[end]!)) end++
    this.#held += text.slice(at, end)
    if (end < text.length) this.#wordEnds()
    return end
  }

  #wordEnds(): void {
    this.#within = "nothing"
    const value = number.test(this.#held) ? Number(this.#held) : words.get(this.#held)
    this.#check(value !== undefined && this.#tokens.scalar(value))
  }

  #check(fits: boolean): void {
    if (!fits) this.isBroken = true
  }
}

const isSpace = (char: string): boolean => char === " " || char === "\n" || char === "\r" || char === "\t"

const isWord = (char: string): boolean =>
  (char >= "0" && char <= "9") || (char >= "a" && char <= "z") || char === "-" || char === "+" || char === "." ||
  char === "E"

/** Neither the end of a string, nor an escape, nor a character that may not stand in a string. */
const isPlain = (code: number): boolean => code !== 0x22 && code !== 0x5c && code >= 0x20
