/** Exports with a few wrong fields: of another type, missing, twice, huge, negative, or named like an object member. */
import { type Dice, dice } from "./Odd.ts"

interface Damaged {
  readonly lines: ReadonlyArray<string>
  /** tells the reader of a failure what was damaged */
  readonly what: string
}

/** All lines, or some from the beginning, as in an export in the middle of a run, with one to three wrong fields. */
export const of = (lines: ReadonlyArray<string>, seed: number): Damaged => {
  const die = dice(seed)
  const events = die.chance(0.5) ? lines.length - 1 : 1 + die.int(lines.length - 1)
  const cut = lines.slice(0, events + 1).with(0, lines[0]!.replace(/"events":\d+/, `"events":${events}`))
  let damaged: Damaged = { lines: cut, what: `seed ${seed}` }
  for (let wrong = 1 + die.int(3); wrong > 0; wrong--) damaged = damageOne(damaged, die)
  return damaged
}

const texts = ["", "x", "NaN", "-1", "__proto__", "constructor", "hasOwnProperty", "\0", "\ud800", "\u001b[31m", "1.0"]
const numbers = [0, -1, -0.5, 1.5, 2, 1e308, -1e308, Number.MAX_SAFE_INTEGER, 8.64e15 + 1, 1e21]
const others = [null, true, false, [], {}, [null], JSON.parse("{\"__proto__\":{\"a\":1}}") as object]

type Place = ReadonlyArray<string>
type Node = Record<string, unknown>

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null

const placesIn = (value: unknown, at: Place = []): ReadonlyArray<Place> =>
  isNode(value) ? Object.entries(value).flatMap(([key, part]) => [[...at, key], ...placesIn(part, [...at, key])]) : []

const damageOne = ({ lines, what }: Damaged, die: Dice): Damaged => {
  // there is most to get wrong where reading starts
  const start = die.chance(0.4) ? lines.findLastIndex((line) => line.includes("\"snapshot\":")) : -1
  const line = start > 0 ? start : 1 + die.int(lines.length - 1)
  const event = JSON.parse(lines[line]!) as Node
  const places = placesIn(event)
  if (places.length === 0) return { lines, what }
  const place = die.pick(places)
  const key = place.at(-1)!
  const node = place.slice(0, -1).reduce((node, key) => node[key] as Node, event)
  const done = change(node, key, die)
  return {
    lines: lines.with(line, JSON.stringify(event)),
    what: `${what}, line ${line + 1} ${place.join(".")}: ${done}`
  }
}

const change = (node: Node, key: string, die: Dice): string => {
  if (die.chance(0.15)) {
    if (Array.isArray(node)) node.splice(Number(key), 1)
    else delete node[key]
    return "missing"
  }
  if (Array.isArray(node) && die.chance(0.15)) {
    node.push(structuredClone(node[Number(key)]))
    return "twice"
  }
  const before = node[key]
  const alike: ReadonlyArray<unknown> = typeof before === "string"
    ? texts
    : typeof before === "number"
    ? numbers
    : others
  const value = die.pick(die.chance(0.75) ? alike : [...texts, ...numbers, ...others])
  Object.defineProperty(node, key, { value, enumerable: true, configurable: true, writable: true })
  return JSON.stringify(value)
}
