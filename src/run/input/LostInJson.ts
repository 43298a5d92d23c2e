/**
 * What JSON would leave out of a value, or change, without a word: a Map would be `{}`, a NaN `null`. Members that are `undefined` are
 * left out as meant, and what has a `toJSON` is what that says, except an invalid Date, which says `null`.
 *
 * Does not own what JSON refuses by itself, such as a bigint or a circle (`NotJson`).
 */
import * as NotJson from "./NotJson.ts"

export interface Lost {
  /** such as `a Map` */
  readonly what: string
  /** such as `.rows[2].price` */
  readonly path: string
}

/** The first such; `undefined` if nothing is lost. The value has been written as JSON, so it holds no circle. */
export const find = (value: unknown): Lost | undefined => {
  switch (typeof value) {
    case "object":
      return value === null ? undefined : inObject(value)
    case "number":
      return Number.isFinite(value) ? undefined : at("", String(value))
    case "function":
    case "symbol":
      return at("", `a ${typeof value}`)
    default:
      return undefined
  }
}

/** Most members are texts: no call for these, since every result of a tool goes through here. */
const inObject = (node: object): Lost | undefined => {
  if (Array.isArray(node)) return inItems(node)
  if (saysItself(node)) return isInvalidDate(node) ? at("", "an invalid Date") : undefined
  if (node instanceof Number && !Number.isFinite(node.valueOf())) return at("", String(node))
  for (const key in node) {
    const member = (node as Record<string, unknown>)[key]
    if (typeof member === "string") continue
    const lost = find(member)
    if (lost !== undefined && Object.hasOwn(node, key)) return within(NotJson.member(key), lost)
  }
  return Object.getPrototypeOf(node) === Object.prototype ? undefined : hidden(node)
}

const saysItself = (node: object): boolean => typeof (node as { toJSON?: unknown }).toJSON === "function"

const isInvalidDate = (node: object): boolean =>
  node instanceof Date && Number.isNaN(node.getTime()) && node.toJSON === Date.prototype.toJSON

const inItems = (items: ReadonlyArray<unknown>): Lost | undefined => {
  for (let i = 0; i < items.length; i++) {
    const item = items[i]
    if (typeof item === "string") continue
    const lost = item === undefined ? at("", "undefined") : find(item)
    if (lost !== undefined) return saysItself(items) ? undefined : within(`[${i}]`, lost)
  }
  return undefined
}

const at = (path: string, what: string): Lost => ({ path, what })
const within = (step: string, { path, what }: Lost): Lost => at(step + path, what)

/** What an object is that keeps what it holds elsewhere than in its members, as a Map does and a class of the application does not. */
const hidden = (node: object): Lost | undefined => {
  const kind = Object.prototype.toString.call(node).slice("[object ".length, -1)
  const isOpen = !kept.has(kind) && !ArrayBuffer.isView(node) && !(node instanceof Error) &&
    Object.keys(node).length > 0
  if (isOpen) return undefined
  return isItself.has(kind) ? undefined : at("", `${/^[AEIO]/.test(kind) ? "an" : "a"} ${kind}`)
}

/** What keeps what it holds elsewhere whatever members it has besides. */
const kept: ReadonlySet<string> = new Set(["Map", "Set", "WeakMap", "WeakSet", "RegExp", "Promise"])

const isItself: ReadonlySet<string> = new Set(["Object", "Number", "String", "Boolean"])
