/** How much a log holds of what others say: bytes of JSON, and the length of a message. Pure. */

/** A value's bytes of JSON, where they are more than `limit`. */
export const above = (value: unknown, limit: number): number | undefined => {
  if (atMost(value, limit) <= limit) return undefined
  const bytes = new TextEncoder().encode(JSON.stringify(value)).length
  return bytes > limit ? bytes : undefined
}

/** An upper bound of a value's bytes of JSON, without making them; stops adding once it is over `limit`. */
const atMost = (value: unknown, limit: number): number => {
  if (typeof value === "string") return value.length * 6 + 2
  if (typeof value !== "object" || value === null) return 26
  let sum = 2
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && sum <= limit; i++) sum += atMost(value[i], limit) + 1
    return sum
  }
  for (const key in value) {
    if (sum > limit) return sum
    sum += key.length * 6 + 4 + atMost((value as Record<string, unknown>)[key], limit)
  }
  return sum
}

const longestMessage = 10_000

/** At most 10,000 characters of a text that says what is wrong. */
export const message = (text: string): string =>
  text.length <= longestMessage ? text : `${text.slice(0, longestMessage - 1).toWellFormed()}…`
