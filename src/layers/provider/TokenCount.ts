/** Reads a count of tokens, as providers write them. Owns no usage. */

/**
 * A non-negative integer: a fraction is rounded, and any other value is unknown. effect/ai accepts no others, and would lose
 * the answer over one.
 */
export const read = (value: unknown): number | undefined => {
  const whole = typeof value === "number" ? Math.round(value) : -1
  return Number.isSafeInteger(whole) && whole >= 0 ? whole : undefined
}
