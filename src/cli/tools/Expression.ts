/**
 * Owns what an arithmetic expression means: numbers, `+ - * / ^`, parentheses, percent, `mod` and `of`. Exact where the
 * result is a fraction. Pure; refuses what would take long.
 *
 *     sum     = product (("+" | "-") product)*
 *     product = unary (("*" | "/" | "mod" | "of" | "%" before a number or "(") unary)*
 *     unary   = ("+" | "-") unary | power
 *     power   = percent ("^" unary)?                      2^3^2 is 2^(3^2), -2^2 is -(2^2)
 *     percent = primary "%"*                              17% is 0.17
 *     primary = number | "(" sum ")"
 */
import * as Result from "effect/Result"
import * as Rational from "./Rational.ts"

/** A number, and whether it is the very result or a rounded one. */
export interface Value {
  readonly number: Rational.Rational
  readonly isExact: boolean
}

/** `message` says what is wrong, in words. */
export interface Problem {
  readonly reason: "Syntax" | "DivisionByZero" | "TooLarge" | "NotReal"
  readonly message: string
}

const longest = 1_000
const deepest = 100
const mostDigits = 1_000

/** What the expression comes to. */
export const evaluate = (text: string): Result.Result<Value, Problem> => {
  try {
    if (text.length > longest) throw problem("Syntax", `The expression has more than ${longest} characters.`)
    return Result.succeed(new Parser(tokens(text)).whole())
  } catch (error) {
    if (error instanceof Refusal) return Result.fail(error.problem)
    throw error
  }
}

/** Leaves the recursion; never leaves this file. */
class Refusal extends Error {
  readonly problem: Problem
  constructor(problem: Problem) {
    super(problem.message)
    this.problem = problem
  }
}

const problem = (reason: Problem["reason"], message: string) => new Refusal({ reason, message })

const token = /\s*(?:(\d[\d,]*(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)|(\*\*|mod\b|of\b|[-+*/^%()×·÷−–]))/iy
const sameAs: Record<string, string> = { "**": "^", "×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "of": "*" }

const tokens = (text: string): ReadonlyArray<string> => {
  const out: Array<string> = []
  const end = text.trimEnd().length
  token.lastIndex = 0
  while (token.lastIndex < end) {
    const from = token.lastIndex
    const found = token.exec(text)
    if (found === null) throw problem("Syntax", `"${text.slice(from, end).trim()}" is no part of an expression.`)
    const symbol = found[2]?.toLowerCase()
    out.push(symbol === undefined ? number(found[1]!) : sameAs[symbol] ?? symbol)
  }
  return out
}

/** A number without the commas that group its thousands. */
const number = (text: string): string => {
  if (text.includes(",") && !/^\d{1,3}(,\d{3})+(\.|e|$)/i.test(text)) {
    throw problem("Syntax", `"${text}" is no number: decimals take a point, commas group thousands.`)
  }
  if (Math.abs(Number(/e(.*)$/i.exec(text)?.[1] ?? 0)) > mostDigits) throw tooLarge()
  return text.replaceAll(",", "")
}

const tooLarge = () => problem("TooLarge", `The result has more than ${mostDigits} digits.`)
const isNumber = (token: string | undefined): boolean => token !== undefined && /^[\d.]/.test(token)

class Parser {
  readonly #tokens: ReadonlyArray<string>
  #at = 0
  #depth = 0

  constructor(tokens: ReadonlyArray<string>) {
    this.#tokens = tokens
  }

  whole(): Value {
    const value = this.#sum()
    if (this.#at < this.#tokens.length) throw problem("Syntax", `An operator is missing before "${this.#next}".`)
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

  #sum(): Value {
    let left = this.#product()
    for (let sign = this.#take("+", "-"); sign !== undefined; sign = this.#take("+", "-")) {
      const right = this.#product()
      left = combine(left, right, (a, b) => Rational.add(a, sign === "+" ? b : Rational.negate(b)))
    }
    return left
  }

  #product(): Value {
    let left = this.#unary()
    while (true) {
      const symbol = this.#take("*", "/", "mod", "%")
      if (symbol === undefined) return left
      const right = this.#unary()
      if (symbol !== "*" && Rational.isZero(right.number)) {
        throw problem("DivisionByZero", "A number divided by zero has no value.")
      }
      const apply = symbol === "*" ? Rational.multiply : symbol === "/" ? Rational.divide : Rational.remainder
      left = combine(left, right, apply)
    }
  }

  #unary(): Value {
    if (++this.#depth > deepest) throw problem("Syntax", `The expression is nested more than ${deepest} deep.`)
    const sign = this.#take("+", "-")
    const value = sign === undefined ? this.#power() : this.#unary()
    this.#depth--
    return sign === "-" ? { ...value, number: Rational.negate(value.number) } : value
  }

  #power(): Value {
    const base = this.#percent()
    return this.#take("^") === undefined ? base : raise(base, this.#unary())
  }

  #percent(): Value {
    let value = this.#primary()
    while (this.#next === "%" && !isOperand(this.#tokens[this.#at + 1])) {
      this.#at++
      value = { ...value, number: Rational.divide(value.number, Rational.make(100n)) }
    }
    return value
  }

  #primary(): Value {
    if (this.#take("(") !== undefined) {
      const value = this.#sum()
      if (this.#take(")") === undefined) throw problem("Syntax", "A parenthesis is not closed.")
      return value
    }
    const next = this.#next
    if (next === undefined || !isNumber(next)) {
      throw problem("Syntax", `A number is missing ${next === undefined ? "at the end" : `before "${next}"`}.`)
    }
    this.#at++
    return bounded({ number: Rational.fromDecimal(next), isExact: true })
  }
}

/** What can stand right of `mod`: `10 % 3` is a remainder, `10% of 3` and `10% + 3` are not. */
const isOperand = (token: string | undefined): boolean => isNumber(token) || token === "("

const combine = (
  left: Value,
  right: Value,
  apply: (a: Rational.Rational, b: Rational.Rational) => Rational.Rational
): Value => bounded({ number: apply(left.number, right.number), isExact: left.isExact && right.isExact })

const digits = (n: bigint): number => (n < 0n ? -n : n).toString().length

const bounded = (value: Value): Value => {
  const { den, num } = value.number
  if (digits(num) > mostDigits || digits(den) > mostDigits) throw tooLarge()
  return value
}

const raise = (base: Value, exponent: Value): Value => {
  if (!Rational.isWhole(exponent.number)) return raiseByDoubles(base, exponent)
  const times = exponent.number.num
  if (Rational.isZero(base.number) && times < 0n) {
    throw problem("DivisionByZero", "Zero to a negative power is a division by zero and has no value.")
  }
  const isUnit = base.number.den === 1n && base.number.num >= -1n && base.number.num <= 1n
  const leastDigits = Math.max(digits(base.number.num), digits(base.number.den), 2) - 1
  if (!isUnit && (times < 0n ? -times : times) * BigInt(leastDigits) > 4n * BigInt(mostDigits)) throw tooLarge()
  return bounded({
    number: Rational.power(base.number, isUnit && times !== 0n ? 2n + times % 2n : times),
    isExact: base.isExact && exponent.isExact
  })
}

const raiseByDoubles = (base: Value, exponent: Value): Value => {
  const result = Math.pow(Rational.toNumber(base.number), Rational.toNumber(exponent.number))
  if (Number.isNaN(result)) throw problem("NotReal", "A negative number to a broken power is no real number.")
  if (!Number.isFinite(result)) throw tooLarge()
  return { number: Rational.fromDecimal(result.toString()), isExact: false }
}
