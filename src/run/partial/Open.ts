/**
 * A list or an object of a JSON text that has not ended: its ended values, and copies that add the one under way.
 *
 * Does not own what may stand in it, nor when it ends (`JsonTree`).
 */
import type * as Schema from "effect/Schema"

type Members = Record<string, Schema.Json>

/** Holds only values that have ended, and nobody else has it. */
export type Open = { readonly items: Array<Schema.Json> } | OpenObject

interface OpenObject {
  readonly members: Members
  /** how many members have ended, counting repeated keys */
  count: number
  /** the key of the member under way, or of the last one */
  key: string
  /** the last copy, with the value of `key` under way in it: engines copy it many times faster than `members` */
  copied: Members | undefined
}

export const list = (): Open => ({ items: [] })

export const object = (): Open => ({ members: {}, count: 0, key: "", copied: undefined })

/** The cost of copying one thing in it, in items of a list. */
export const costOfOne = (open: Open): number => "items" in open ? 1 : 4

/** The cost of copying all of it. */
export const costOf = (open: Open): number => 1 + costOfOne(open) * ("items" in open ? open.items.length : open.count)

/** A value in it has ended. */
export const add = (open: Open, value: Schema.Json): void => {
  if ("items" in open) {
    open.items.push(value)
    return
  }
  open.count++
  open.copied = undefined
  // an assignment to this name would set the prototype
  if (open.key === "__proto__") Object.defineProperty(open.members, open.key, { ...own, value })
  else open.members[open.key] = value
}

const own = { configurable: true, enumerable: true, writable: true }

/** Its value once it has ended. */
export const ended = (open: Open): Schema.Json => "items" in open ? open.items.slice() : open.members

/** A copy with the value that is under way in it, if there is one. */
export const copy = (open: Open, value: Schema.Json | undefined): Schema.Json => {
  if ("items" in open) return value === undefined ? open.items.slice() : [...open.items, value]
  if (value === undefined) return { ...open.members }
  const { copied, key, members } = open
  return open.copied = copied === undefined ? { ...members, [key]: value } : replaced(copied, key, value)
}

/** A copy with another value for a member that it has. */
const replaced = (members: Members, key: string, value: Schema.Json): Members => {
  const copied = { ...members }
  copied[key] = value
  return copied
}
