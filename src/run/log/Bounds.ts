/** How much a log holds of what others say: bytes of JSON, and the length of a message. Pure. */

/** A value's bytes of JSON, where they are more than `limit`. */
export const above = (value: unknown, limit: number): number | undefined => {
  if (isSurelyWithin(value, limit)) return undefined
  const bytes = new TextEncoder().encode(JSON.stringify(value)).length
  return bytes > limit ? bytes : undefined
}

/** Told from an upper bound of the bytes, without making them: what is not surely within `limit` may be all the same. */
export const isSurelyWithin = (value: unknown, limit: number): boolean => atMost([value], limit) <= limit

/** An upper bound of a node's bytes of JSON; stops adding once it is over `limit`. Calls itself for inner nodes alone. */
const atMost = (node: object, limit: number): number => {
  let sum = 2
  if (Array.isArray(node)) {
    for (let i = 0; i < node.length && sum <= limit; i++) {
      const item: unknown = node[i]
      if (typeof item === "string") sum += item.length * 6 + 3
      else sum += typeof item === "object" && item !== null ? atMost(item, limit) + 1 : 27
    }
    return sum
  }
  for (const key in node) {
    if (sum > limit) return sum
    const member = (node as Record<string, unknown>)[key]
    if (typeof member === "string") sum += (key.length + member.length) * 6 + 6
    else sum += key.length * 6 + (typeof member === "object" && member !== null ? atMost(member, limit) + 4 : 30)
  }
  return sum
}

const longestMessage = 10_000

/** At most 10,000 characters of a text that says what is wrong. */
export const message = (text: string): string =>
  text.length <= longestMessage ? text : `${text.slice(0, longestMessage - 1).toWellFormed()}…`
