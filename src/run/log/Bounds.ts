/** How much a log holds of what others say: bytes of JSON, and the length of a message. Pure. */

/** A value's bytes of JSON, where they are more than `limit`. */
export const above = (value: unknown, limit: number): number | undefined => {
  if (isSurelyWithin(value, limit)) return undefined
  const bytes = new TextEncoder().encode(JSON.stringify(value)).length
  return bytes > limit ? bytes : undefined
}

/** Told from an upper bound of the bytes, without making them: what is not surely within `limit` may be all the same. */
export const isSurelyWithin = (value: unknown, limit: number): boolean => atMost([value], limit) <= limit

/** JSON takes at most six bytes for a UTF-16 unit (`\\u0000`), and 24 for what is neither a text nor a node: a number. */
const perUnit = 6
const perLeaf = 24
/** quotes, and what stands between one and the next: a comma, or a colon too */
const aroundItem = 3
const aroundMember = 6

/** An upper bound of a node's bytes of JSON; stops adding once it is over `limit`. Calls itself for inner nodes alone. */
const atMost = (node: object, limit: number): number => {
  let sum = 2
  if (Array.isArray(node)) {
    for (let i = 0; i < node.length && sum <= limit; i++) {
      const item: unknown = node[i]
      if (typeof item === "string") sum += item.length * perUnit + aroundItem
      else sum += aroundItem + (typeof item === "object" && item !== null ? atMost(item, limit) : perLeaf)
    }
    return sum
  }
  for (const key in node) {
    if (sum > limit) return sum
    const member = (node as Record<string, unknown>)[key]
    if (typeof member === "string") sum += (key.length + member.length) * perUnit + aroundMember
    else {
      const inner = typeof member === "object" && member !== null ? atMost(member, limit) : perLeaf
      sum += key.length * perUnit + aroundMember + inner
    }
  }
  return sum
}

const longestMessage = 10_000

/** At most 10,000 characters of a text that says what is wrong. */
export const message = (text: string): string =>
  text.length <= longestMessage ? text : `${text.slice(0, longestMessage - 1).toWellFormed()}…`
