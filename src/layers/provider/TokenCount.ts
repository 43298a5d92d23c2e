/** Reads a count of tokens, as providers write them. Owns no usage. */

/**
 * A whole count that is not negative: a fraction is rounded, and of what is no such number nothing is known. effect/ai reads
 * no other, and would lose the answer for it.
 */
export const read = (value: unknown): number | undefined => {
  const whole = typeof value === "number" ? Math.round(value) : -1
  return Number.isSafeInteger(whole) && whole >= 0 ? whole : undefined
}
