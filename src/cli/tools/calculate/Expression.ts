/**
 * Owns what an arithmetic expression means: numbers, `+ - * / ^`, parentheses, percent, `mod` and `of`. Pure; refuses what
 * would take long. Does not own the arithmetic (`Value.ts`).
 *
 *     sum     = product (("+" | "-") product)*
 *     product = unary (("*" | "/" | "mod" | "of" | "%" before a number or "(") unary)*
 *     unary   = ("+" | "-") unary | power
 *     power   = percent ("^" unary)?                      2^3^2 is 2^(3^2), -2^2 is -(2^2)
 *     percent = primary "%"*                              17% is 0.17; 230 + 17% is refused, as it can mean 230 * 1.17
 *     primary = number | "(" sum ")"
 */
import * as Result from "effect/Result"
import * as Value from "./Value.ts"

const longest = 1_000
const deepest = 100

/** The value of the expression. */
export const evaluate = (text: string): Result.Result<Value.Value, Value.Problem> => {
  try {
    if (text.length > longest) throw wrong(`The expression has more than ${longest} characters.`)
    return Result.succeed(new Parser(tokens(text)).whole())
  } catch (error) {
    if (error instanceof Value.NoValue) return Result.fail(error.problem)
    throw error
  }
}

const wrong = (message: string): Value.NoValue => new Value.NoValue("Syntax", message)

const ambiguous = (sign: string, share: string): Value.NoValue =>
  wrong(
    `"${sign} ${share}%" can mean ${share}% of what is before it, or ${share}/100: ` +
      `write "${sign} ${share}% of" and the number, or "${sign} ${share}/100".`
  )

const token = /\s*(?:(\d[\d,]*(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)|(\*\*|mod\b|of\b|[-+*/^%()×·÷−–]))/iy
const sameAs: Record<string, string> = { "**": "^", "×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "of": "*" }

const tokens = (text: string): ReadonlyArray<string> => {
  const out: Array<string> = []
  const end = text.trimEnd().length
  token.lastIndex = 0
  while (token.lastIndex < end) {
    const from = token.lastIndex
    const found = token.exec(text)
    if (found === null) throw wrong(`"${text.slice(from, end).trim()}" is no part of an expression.`)
    const symbol = found[2]?.toLowerCase()
    out.push(symbol === undefined ? number(found[1]!) : sameAs[symbol] ?? symbol)
  }
  return out
}

/** A number without the commas that group its thousands. */
const number = (text: string): string => {
  if (text.includes(",") && !/^\d{1,3}(,\d{3})+(\.|e|$)/i.test(text)) {
    throw wrong(`"${text}" is no number: decimals take a point, commas group thousands.`)
  }
  if (Math.abs(Number(/e(.*)$/i.exec(text)?.[1] ?? 0)) > Value.mostDigits) throw Value.tooLarge()
  return text.replaceAll(",", "")
}

const isNumber = (token: string | undefined): boolean => token !== undefined && /^[\d.]/.test(token)

class Parser {
  readonly #tokens: ReadonlyArray<string>
  #at = 0
  #depth = 0

  constructor(tokens: ReadonlyArray<string>) {
    this.#tokens = tokens
  }

  whole(): Value.Value {
    const value = this.#sum()
    if (this.#at < this.#tokens.length) throw wrong(`An operator is missing before "${this.#next}".`)
    return value
  }

  get #next(): string | undefined {
    return this.#tokens[this.#at]
  }

  /** The next token, when it is one of these. */
  #take(...symbols: ReadonlyArray<string>): string | undefined {
    const found = symbols.find((symbol) => symbol === this.#next)
    if (found !== undefined) this.#at++
    return found
  }

  #sum(): Value.Value {
    let from = this.#at
    let left = this.#product()
    let isShare = this.#isShare(from)
    for (let sign = this.#take("+", "-"); sign !== undefined; sign = this.#take("+", "-")) {
      from = this.#at
      const right = this.#product()
      if (!isShare && this.#isShare(from)) throw ambiguous(sign, this.#tokens[from]!)
      isShare &&= this.#isShare(from)
      left = (sign === "+" ? Value.add : Value.subtract)(left, right)
    }
    return left
  }

  /** Whether what was read from there on is a percentage and nothing else. */
  #isShare(from: number): boolean {
    return this.#at === from + 2 && this.#tokens[from + 1] === "%"
  }

  #product(): Value.Value {
    let left = this.#unary()
    while (true) {
      const symbol = this.#take("*", "/", "mod", "%")
      if (symbol === undefined) return left
      const apply = symbol === "*" ? Value.multiply : symbol === "/" ? Value.divide : Value.remainder
      left = apply(left, this.#unary())
    }
  }

  #unary(): Value.Value {
    if (++this.#depth > deepest) throw wrong(`The expression is nested more than ${deepest} deep.`)
    const sign = this.#take("+", "-")
    const value = sign === undefined ? this.#power() : this.#unary()
    this.#depth--
    return sign === "-" ? Value.negate(value) : value
  }

  #power(): Value.Value {
    const base = this.#percent()
    return this.#take("^") === undefined ? base : Value.raise(base, this.#unary())
  }

  #percent(): Value.Value {
    let value = this.#primary()
    while (this.#next === "%" && !isOperand(this.#tokens[this.#at + 1])) {
      this.#at++
      value = Value.percent(value)
    }
    return value
  }

  #primary(): Value.Value {
    if (this.#take("(") !== undefined) {
      const value = this.#sum()
      if (this.#take(")") === undefined) throw wrong("A parenthesis is not closed.")
      return value
    }
    const next = this.#next
    if (next === undefined || !isNumber(next)) {
      throw wrong(`A number is missing ${next === undefined ? "at the end" : `before "${next}"`}.`)
    }
    this.#at++
    return Value.fromDecimal(next)
  }
}

/** What may come to the right of `mod`: `10 % 3` is a remainder, `10% of 3` and `10% + 3` are not. */
const isOperand = (token: string | undefined): boolean => isNumber(token) || token === "("
