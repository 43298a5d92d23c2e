/** A count of tokens as a provider says it. */

/** A whole number that is not negative; `undefined` where it was not told, or is none. */
export const of = (value: unknown): number | undefined => {
  const whole = typeof value === "number" ? Math.round(value) : -1
  return Number.isSafeInteger(whole) && whole >= 0 ? whole : undefined
}
