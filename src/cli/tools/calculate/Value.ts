/**
 * The values of expressions, and arithmetic on them: exact where the result is a fraction, up to a number of digits. Pure.
 * Throws a `NoValue` where there is no value.
 *
 * Does not own how fractions are calculated (`Rational.ts`).
 */
import * as Rational from "./Rational.ts"

/** A number, and whether it is exact or rounded. */
export interface Value {
  readonly number: Rational.Rational
  readonly isExact: boolean
}

/** `message` says what is wrong, in words. */
export interface Problem {
  readonly reason: "Syntax" | "DivisionByZero" | "TooLarge" | "NotReal"
  readonly message: string
}

/** Leaves the recursion; `Expression.evaluate` catches it. */
export class NoValue extends Error {
  readonly problem: Problem
  constructor(reason: Problem["reason"], message: string) {
    super(message)
    this.problem = { reason, message }
  }
}

export const mostDigits = 1_000

export const tooLarge = (): NoValue => new NoValue("TooLarge", `The result has more than ${mostDigits} digits.`)

const digits = (n: bigint): number => (n < 0n ? -n : n).toString().length

const bounded = (value: Value): Value => {
  const { den, num } = value.number
  if (digits(num) > mostDigits || digits(den) > mostDigits) throw tooLarge()
  return value
}

/** The value that a decimal text such as `12.5e-3` names, whose exponent is no larger than a result may be. */
export const fromDecimal = (text: string): Value => bounded({ number: Rational.fromDecimal(text), isExact: true })

type Operation = (left: Value, right: Value) => Value

const combined = (apply: (a: Rational.Rational, b: Rational.Rational) => Rational.Rational): Operation => (a, b) =>
  bounded({ number: apply(a.number, b.number), isExact: a.isExact && b.isExact })

const unlessByZero = (operation: Operation): Operation => (left, right) => {
  if (Rational.isZero(right.number)) throw new NoValue("DivisionByZero", "A number divided by zero has no value.")
  return operation(left, right)
}

export const add = combined(Rational.add)
export const subtract = combined((a, b) => Rational.add(a, Rational.negate(b)))
export const multiply = combined(Rational.multiply)
export const divide = unlessByZero(combined(Rational.divide))
export const remainder = unlessByZero(combined(Rational.remainder))

export const negate = (value: Value): Value => ({ ...value, number: Rational.negate(value.number) })
export const percent = (value: Value): Value => ({
  ...value,
  number: Rational.divide(value.number, Rational.make(100n))
})

/** Refused before it is calculated where that would take long. */
export const raise: Operation = (base, exponent) => {
  const times = exponent.number.num
  if (Rational.isZero(base.number) && times < 0n) {
    throw new NoValue("DivisionByZero", "Zero to a negative power is a division by zero and has no value.")
  }
  if (!Rational.isWhole(exponent.number)) return raiseByDoubles(base, exponent)
  const isUnit = base.number.den === 1n && base.number.num >= -1n && base.number.num <= 1n
  const leastDigits = Math.max(digits(base.number.num), digits(base.number.den), 2) - 1
  if (!isUnit && (times < 0n ? -times : times) * BigInt(leastDigits) > 4n * BigInt(mostDigits)) throw tooLarge()
  return bounded({
    number: Rational.power(base.number, isUnit && times !== 0n ? 2n + times % 2n : times),
    isExact: base.isExact && exponent.isExact
  })
}

const raiseByDoubles: Operation = (base, exponent) => {
  if (Rational.isZero(base.number)) return base
  if (base.number.num < 0n) throw new NoValue("NotReal", "A negative number to a broken power is no real number.")
  const of = Rational.toNumber(base.number)
  const result = Math.pow(of, Rational.toNumber(exponent.number))
  if (!hasItsDigits(of) || !hasItsDigits(result)) throw new NoValue("TooLarge", beyondDoubles)
  const number = Rational.fromDecimal(result.toString())
  return { number, isExact: base.isExact && isRoot(number, base.number, exponent.number) }
}

const beyondDoubles = "A broken power is calculated only where its base and its value are between 1e-307 and 1e308."

/** Whether a positive double is a number, and not so near to zero that it lacks some of its digits. */
const hasItsDigits = (double: number): boolean => double >= 2 ** -1022 && double < Infinity

const largestRoot = 10n

/** Whether `root` is the exact power, where that can be checked without large numbers. */
const isRoot = (root: Rational.Rational, base: Rational.Rational, { den, num }: Rational.Rational): boolean => {
  if (den > largestRoot || num > largestRoot || num < -largestRoot) return false
  return Rational.isZero(Rational.add(Rational.power(root, den), Rational.negate(Rational.power(base, num))))
}
