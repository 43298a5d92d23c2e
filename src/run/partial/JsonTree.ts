/**
 * The value of a JSON text as far as its tokens have come. A string is there as far as it came, without half a
 * character at its end; keys, numbers and literals once they are whole.
 *
 * Does not own the text (`JsonLexer`), how lists and objects are kept and copied (`Open`), nor how often the value is
 * taken.
 */
import type * as Schema from "effect/Schema"
import type { Tokens } from "./JsonLexer.ts"
import * as Open from "./Open.ts"

type Expected = "value" | "item or end" | "key" | "key or end" | "colon" | "comma or end" | "nothing"

export class JsonTree implements Tokens {
  /** The value has changed since it was last taken. */
  isChanged = false
  /** the cost of copying everything that is open, in items of a list */
  cost = 0
  #root: Schema.Json | undefined
  readonly #open: Array<Open.Open> = []
  #expected: Expected = "value"
  #string: "none" | "key" | "value" = "none"
  #text = ""
  /** half a character after `#text` */
  #half = ""

  /**
   * The value as it is now, never changed later: what has ended is shared with values taken before, what is open is
   * copied. `undefined` if no value has begun.
   */
  take(): Schema.Json | undefined {
    this.isChanged = false
    let value = this.#string === "value" ? this.#text : this.#root
    for (let at = this.#open.length - 1; at >= 0; at--) value = Open.copy(this.#open[at]!, value)
    return value
  }

  /** The value is not inside a list or an object. */
  get isBare(): boolean {
    return this.#open.length === 0
  }

  /** The text is whole: a number or a literal that is all of it counts now, since only white space can follow. */
  end(): void {
    if (isScalar(this.#root)) this.isChanged = true
  }

  mark(mark: string): boolean {
    const expected = this.#expected
    switch (mark) {
      case "{":
        return this.#enter(Open.object(), "key or end")
      case "[":
        return this.#enter(Open.list(), "item or end")
      case "}":
        return (expected === "key or end" || (expected === "comma or end" && this.#key !== undefined)) && this.#leave()
      case "]":
        return (expected === "item or end" || (expected === "comma or end" && this.#key === undefined)) && this.#leave()
      case ":":
        return expected === "colon" && this.#expect("value")
      default:
        return expected === "comma or end" && this.#expect(this.#key === undefined ? "value" : "key")
    }
  }

  stringBegins(): boolean {
    const isKey = this.#expected === "key" || this.#expected === "key or end"
    if (!isKey && !this.#takesValue) return false
    this.#string = isKey ? "key" : "value"
    this.#text = ""
    if (!isKey) this.isChanged = true
    return true
  }

  stringGoesOn(piece: string): void {
    const text = this.#half + piece
    const isHalf = (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800
    this.#half = isHalf ? text.slice(-1) : ""
    this.#show(isHalf ? text.slice(0, -1) : text)
  }

  stringEnds(): void {
    this.#show(this.#half)
    this.#half = ""
    const isKey = this.#string === "key"
    this.#string = "none"
    if (!isKey) return this.#add(this.#text)
    const open = this.#open.at(-1)!
    if ("key" in open) open.key = this.#text
    this.#expected = "colon"
  }

  scalar(value: number | boolean | null): boolean {
    if (!this.#takesValue) return false
    this.#add(value)
    if (this.#open.length > 0) this.isChanged = true
    return true
  }

  /** The end of a fence, after everything else. */
  other(character: string): boolean {
    return character === "`" && this.#expected === "nothing"
  }

  get #takesValue(): boolean {
    return this.#expected === "value" || this.#expected === "item or end"
  }

  /** The key of the open object; `undefined` in a list. */
  get #key(): string | undefined {
    const open = this.#open.at(-1)
    return open !== undefined && "key" in open ? open.key : undefined
  }

  #expect(expected: Expected): boolean {
    this.#expected = expected
    return true
  }

  #show(text: string): void {
    this.#text += text
    if (text !== "" && this.#string === "value") this.isChanged = true
  }

  #enter(open: Open.Open, expected: Expected): boolean {
    if (!this.#takesValue) return false
    this.#open.push(open)
    this.cost++
    this.isChanged = true
    return this.#expect(expected)
  }

  #leave(): boolean {
    const open = this.#open.pop()!
    this.cost -= Open.costOf(open)
    this.#add(Open.ended(open))
    return true
  }

  /** A value has ended. */
  #add(value: Schema.Json): void {
    const open = this.#open.at(-1)
    this.#expected = open === undefined ? "nothing" : "comma or end"
    if (open === undefined) {
      this.#root = value
      return
    }
    this.cost += Open.costOfOne(open)
    Open.add(open, value)
  }
}

const isScalar = (root: Schema.Json | undefined): boolean =>
  root !== undefined && typeof root !== "string" && !(typeof root === "object" && root !== null)
