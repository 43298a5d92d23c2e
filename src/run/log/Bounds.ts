/** How much a log holds of content from others: bytes of JSON, levels of nesting, and the length of a message. Pure. */

/** A value's bytes of JSON, if there are more than `limit`. */
export const above = (value: unknown, limit: number): number | undefined => {
  if (isSurelyWithin(value, limit)) return undefined
  const bytes = new TextEncoder().encode(JSON.stringify(value)).length
  return bytes > limit ? bytes : undefined
}

/** JSON takes at most six bytes for a UTF-16 unit (`\\u0000`), and 24 for a number, the longest other leaf. */
const perUnit = 6
const perLeaf = 24
/** quotes, and the separator: a comma for an item, a comma and a colon for a member */
const aroundItem = 3
const aroundMember = 6

/**
 * Decided by an upper bound of the bytes, without making them: a value that is not surely within `limit` may still be.
 */
export const isSurelyWithin = (value: unknown, limit: number): boolean => {
  // every event and every answer goes through here, so there is no function call per node
  const nodes: Array<object> = [[value]]
  let sum = 0
  while (nodes.length > 0) {
    const node = nodes.pop()!
    sum += 2
    if (Array.isArray(node)) {
      for (let i = 0; i < node.length && sum <= limit; i++) {
        const item: unknown = node[i]
        sum += aroundItem
        if (typeof item === "string") sum += item.length * perUnit
        else if (typeof item === "object" && item !== null) nodes.push(item)
        else sum += perLeaf
      }
    } else {
      for (const key in node) {
        const member = (node as Record<string, unknown>)[key]
        sum += key.length * perUnit + aroundMember
        if (typeof member === "string") sum += member.length * perUnit
        else if (typeof member === "object" && member !== null) nodes.push(member)
        else sum += perLeaf
        if (sum > limit) return false
      }
    }
    if (sum > limit) return false
  }
  return true
}

/**
 * How many levels content from others may be nested. What can just be written at one depth of the stack cannot at another,
 * and would end every later run of its session.
 */
export const deepest = 1000

/** The same for a whole event: content from others is a few levels below it, in a snapshot too. */
export const deepestEvent = deepest + 16

/** Stands for what is nested more deeply, in arguments and results. */
export const leftOut = "(left out: nested too deeply)"

/** Whether this JSON is nested more deeply: decided from the text, since a value may present itself differently (`toJSON`). */
export const isTooDeep = (json: string, most: number = deepest): boolean => {
  if (json.length <= 2 * most) return false
  let levels = 0
  for (let i = 0; i < json.length; i++) {
    const character = json[i]
    if (character === "\"") i = endOfText(json, i)
    else if (character === "[" || character === "{") {
      if (++levels > most) return true
    } else if (character === "]" || character === "}") levels--
  }
  return false
}

/** The index where the string that begins here ends. */
const endOfText = (json: string, start: number): number => {
  let end = json.indexOf("\"", start + 1)
  while (isEscaped(json, end)) end = json.indexOf("\"", end + 1)
  return end
}

const isEscaped = (json: string, at: number): boolean => {
  let before = at
  while (json[before - 1] === "\\") before--
  return (at - before) % 2 === 1
}

const longestMessage = 10_000

/** At most 10,000 characters of an error message. */
export const message = (text: string): string => cut(text, longestMessage)

/** At most so many characters of a text. */
export const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`
