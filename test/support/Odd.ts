/** Deterministic choices, and the odd values that models, providers and people send. */
import type { Json } from "effect/Schema"
import type * as Message from "../../src/run/Message.ts"

export interface Dice {
  /** a whole number from 0 to `n` - 1 */
  readonly int: (n: number) => number
  readonly chance: (probability: number) => boolean
  readonly pick: <A>(items: ReadonlyArray<A>) => A
}

/** Equal seeds throw equal dice (mulberry32). */
export const dice = (seed: number): Dice => {
  let state = seed | 0
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  next()
  return {
    int: (n) => Math.floor(next() * n),
    chance: (probability) => next() < probability,
    pick: (items) => items[Math.floor(next() * items.length)]!
  }
}

export const texts: ReadonlyArray<string> = [
  "",
  " ",
  "\n\t\r\n",
  "\u00a0\ufeff",
  "\0",
  "a\0b",
  "\ud800",
  "low \udc00 alone",
  "\udc00\ud800",
  "pair \u{1f600}",
  "bell \u0007 escape \u001b[31m delete \u007f",
  "\u2028\u2029\u202e",
  "looks escaped: \\u0000 \\ud800",
  "e\u0301 \u{1f469}\u200d\u{1f4bb}",
  "__proto__",
  "x".repeat(3000)
]

export const toolNames: ReadonlyArray<string> = [
  "search",
  "pay",
  "read_file",
  "",
  " ",
  "has space",
  "a/b:c",
  "поиск",
  "\0",
  "\ud800",
  "__proto__",
  "constructor",
  "n".repeat(100)
]

/** What providers name their calls: the same twice, nothing, too much. */
export const callIds: ReadonlyArray<string> = [
  "call_0",
  "call_0",
  "toolu_01",
  "",
  "id with space",
  "\0",
  "\ud800",
  "i".repeat(100),
  "c00000100"
]

const nested = (depth: number): Json => (depth === 0 ? "deep \0" : { in: [nested(depth - 1)] })

export const jsons: ReadonlyArray<Json> = [
  {},
  { q: "cats" },
  { q: "a\0b\ud800", list: ["\udc00", null, 1.5, true] },
  { "\0": 1, "\ud800": { "\udc00": "\0" } },
  JSON.parse("{\"__proto__\": {\"polluted\": true}, \"constructor\": 1}"),
  { "": "", " ": " " },
  [],
  [1, [2, ["\0"]]],
  null,
  true,
  0,
  -1.5e300,
  "",
  "  ",
  "{\"q\": \"cut off",
  "\ud800 raw",
  nested(40),
  { big: "y".repeat(20_000) },
  { many: Array.from({ length: 300 }, (_, i) => ({ i })) }
]

export const metadatas: ReadonlyArray<Message.Metadata> = [
  { scripted: { signature: "c2ln" } },
  { anthropic: { cacheControl: { type: "ephemeral" } } },
  { openai: { itemId: "rs_1", encryptedContent: "e".repeat(200) } },
  {},
  { odd: "a\0b" },
  { "\ud800": null }
]

export const models: ReadonlyArray<Message.ModelRef> = [
  { provider: "scripted", name: "one" },
  { provider: "scripted", name: "two" },
  { provider: "other", name: "one" }
]
