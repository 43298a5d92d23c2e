/** How much a log holds of what others say: bytes of JSON, and the length of a message. Pure. */

/** A value's bytes of JSON, where they are more than `limit`. */
export const above = (value: unknown, limit: number): number | undefined => {
  if (isSurelyWithin(value, limit)) return undefined
  const bytes = new TextEncoder().encode(JSON.stringify(value)).length
  return bytes > limit ? bytes : undefined
}

/** Told from an upper bound of the bytes, without making them: what is not surely within `limit` may be all the same. */
export const isSurelyWithin = (value: unknown, limit: number): boolean => {
  let sum = 0
  const nodes: Array<object> = [[value]]
  for (let at = 0; at < nodes.length; at++) {
    const node = nodes[at]!
    const members = Array.isArray(node) ? node : Object.values(node)
    if (members !== node) { for (const key in node) sum += key.length * 6 + 3 }
    sum += members.length + 2
    for (let i = 0; i < members.length && sum <= limit; i++) {
      const member: unknown = members[i]
      if (typeof member === "string") sum += member.length * 6 + 2
      else if (typeof member === "object" && member !== null) nodes.push(member)
      else sum += 26
    }
    if (sum > limit) return false
  }
  return true
}

const longestMessage = 10_000

/** At most 10,000 characters of a text that says what is wrong. */
export const message = (text: string): string =>
  text.length <= longestMessage ? text : `${text.slice(0, longestMessage - 1).toWellFormed()}…`
