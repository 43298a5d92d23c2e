/** Exact arithmetic on fractions of big integers, and their decimal text. Pure. */

/** A fraction in lowest terms, `den` positive. */
export interface Rational {
  readonly num: bigint
  readonly den: bigint
}

/** `den` must not be zero. */
export const make = (num: bigint, den = 1n): Rational => {
  const sign = den < 0n ? -1n : 1n
  const divisor = gcd(num < 0n ? -num : num, den * sign)
  return { num: (num * sign) / divisor, den: (den * sign) / divisor }
}

const gcd = (a: bigint, b: bigint): bigint => {
  while (b !== 0n) [a, b] = [b, a % b]
  return a === 0n ? 1n : a
}

/** The number that a decimal text such as `12.5e-3` names. */
export const fromDecimal = (text: string): Rational => {
  const [mantissa = "", exponent = "0"] = text.toLowerCase().split("e")
  const [whole = "", fraction = ""] = mantissa.split(".")
  const scale = Number(exponent) - fraction.length
  const digits = BigInt(whole + fraction || "0")
  return scale >= 0 ? make(digits * 10n ** BigInt(scale)) : make(digits, 10n ** BigInt(-scale))
}

export const add = (a: Rational, b: Rational): Rational => make(a.num * b.den + b.num * a.den, a.den * b.den)
export const negate = (a: Rational): Rational => ({ num: -a.num, den: a.den })
export const multiply = (a: Rational, b: Rational): Rational => make(a.num * b.num, a.den * b.den)
/** `b` must not be zero. */
export const divide = (a: Rational, b: Rational): Rational => make(a.num * b.den, a.den * b.num)
/** The remainder of `a` after whole `b`s, with the sign of `a`; `b` must not be zero. */
export const remainder = (a: Rational, b: Rational): Rational => make((a.num * b.den) % (b.num * a.den), a.den * b.den)

/** `a` to an integer power; zero must not have a negative one. */
export const power = (a: Rational, exponent: bigint): Rational =>
  exponent >= 0n ? make(a.num ** exponent, a.den ** exponent) : make(a.den ** -exponent, a.num ** -exponent)

export const isZero = (a: Rational): boolean => a.num === 0n
export const isWhole = (a: Rational): boolean => a.den === 1n

/** The nearest double. */
export const toNumber = (a: Rational): number => Number(significant(a, 20))

const exactDecimals = 30
const roundedDigits = 15

/** In decimals: all of them where there are at most 30, else rounded to 15 significant digits. */
export const toText = (a: Rational): { readonly text: string; readonly isExact: boolean } => {
  const decimals = decimalsOf(a.den)
  return decimals === undefined
    ? { text: significant(a, roundedDigits), isExact: false }
    : { text: fixed(a.num * 10n ** BigInt(decimals) / a.den, decimals), isExact: true }
}

/** How many decimals a fraction with this denominator has; `undefined` when they are endless, or too many. */
const decimalsOf = (den: bigint): number | undefined => {
  let scale = 1n
  for (let decimals = 0; decimals <= exactDecimals; decimals++) {
    if (scale % den === 0n) return decimals
    scale *= 10n
  }
  return undefined
}

/** An integer number of units of the last decimal, with its point. */
const fixed = (units: bigint, decimals: number): string => {
  const digits = (units < 0n ? -units : units).toString().padStart(decimals + 1, "0")
  const sign = units < 0n ? "-" : ""
  return decimals === 0 ? sign + digits : `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

/** Rounded half away from zero to so many significant digits; in scientific notation where that is shorter. */
const significant = (a: Rational, digits: number): string => {
  if (a.num === 0n) return "0"
  const num = a.num < 0n ? -a.num : a.num
  let exponent = num.toString().length - a.den.toString().length
  if (scaled(num, a.den, -exponent) < 1n) exponent--
  let units = roundedUnits(num, a.den, digits - 1 - exponent)
  if (units.toString().length > digits) {
    units /= 10n
    exponent++
  }
  const mantissa = units.toString().replace(/0+$/, "")
  return (a.num < 0n ? "-" : "") + place(mantissa, exponent)
}

/** `num / den * 10^by`, truncated to an integer. */
const scaled = (num: bigint, den: bigint, by: number): bigint =>
  by >= 0 ? num * 10n ** BigInt(by) / den : num / (den * 10n ** BigInt(-by))

const roundedUnits = (num: bigint, den: bigint, by: number): bigint => (scaled(num * 2n, den, by) + 1n) / 2n

const place = (mantissa: string, exponent: number): string => {
  if (exponent < -6 || exponent > 20) {
    return `${mantissa[0]}${mantissa.length > 1 ? `.${mantissa.slice(1)}` : ""}e${exponent}`
  }
  if (exponent < 0) return `0.${"0".repeat(-exponent - 1)}${mantissa}`
  const whole = mantissa.padEnd(exponent + 1, "0")
  return whole.length > exponent + 1 ? `${whole.slice(0, exponent + 1)}.${whole.slice(exponent + 1)}` : whole
}
