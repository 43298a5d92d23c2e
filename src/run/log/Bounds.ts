/** How much a log holds of what others say: bytes of JSON, levels of nesting, and the length of a message. Pure. */

/** A value's bytes of JSON, where they are more than `limit`. */
export const above = (value: unknown, limit: number): number | undefined => {
  if (isSurelyWithin(value, limit)) return undefined
  const bytes = new TextEncoder().encode(JSON.stringify(value)).length
  return bytes > limit ? bytes : undefined
}

/**
 * JSON takes at most six bytes for a UTF-16 unit (`\\u0000`), and 24 for what is neither a text nor a node: a number.
 */
const perUnit = 6
const perLeaf = 24
/** quotes, and what stands between one and the next: a comma, or a colon too */
const aroundItem = 3
const aroundMember = 6

/**
 * Told from an upper bound of the bytes, without making them: what is not surely within `limit` may be all the same.
 */
export const isSurelyWithin = (value: unknown, limit: number): boolean => {
  // every event and every answer goes through here, so without a call for each node
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
 * How many levels what others say may be nested. What can just be written at one place of the stack cannot at another, and
 * would end every later run of its session.
 */
export const deepest = 1000

/** How many an event may be: what others say stands a few levels below it, in a snapshot too. */
export const deepestEvent = deepest + 16

/** Whether this JSON is nested in more levels: told from the text, as a value may say something else of itself (`toJSON`). */
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

/** Where the text ends that begins here. */
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

/** At most 10,000 characters of a text that says what is wrong. */
export const message = (text: string): string =>
  text.length <= longestMessage ? text : `${text.slice(0, longestMessage - 1).toWellFormed()}…`
