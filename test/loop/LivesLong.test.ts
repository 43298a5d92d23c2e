/** What a log and a transcript keep is made in the young generation: V8 puts what literals make straight into the old one. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as Model from "../../src/services/Model.ts"
import * as TestAgent from "../support/TestAgent.ts"

setFlagsFromString("--allow-natives-syntax")
const isYoung: (value: object) => boolean = runInNewContext("(value) => %InYoungGeneration(value)")
// a function is parsed when it is first called
isYoung({})
setFlagsFromString("--no-allow-natives-syntax")

/** How many objects there are, and how many of them are old, by the path that leads to them. */
type Counts = Map<string, { all: number; old: number }>

const count = (counts: Counts, way: string, value: unknown): void => {
  if (typeof value !== "object" || value === null) return
  const counted = counts.get(way) ?? { all: 0, old: 0 }
  counts.set(way, counted)
  counted.all++
  if (!isYoung(value)) counted.old++
  const members = Array.isArray(value) ? value.map((member) => ["[]", member] as const) : Object.entries(value)
  for (const [key, member] of members) count(counts, `${way}.${key}`, member)
}

const steps = 60
const usage = { inputTokens: 1, outputTokens: 1 }
const partsOf = (turn: number): ReadonlyArray<Model.ModelPart> =>
  turn > steps
    ? [{ type: "text-delta", block: "0", delta: "Done." }, { type: "finish", reason: "stop", usage }]
    : [
      { type: "text-delta", block: "0", delta: "So." },
      { type: "tool-call", id: `c${turn}`, name: "work", params: { n: turn } },
      { type: "finish", reason: "tool-calls", usage }
    ]

it.effect("what events and messages are made of is young", () =>
  Effect.gen(function*() {
    const counts: Counts = new Map()
    let isCounting = false
    const model = Layer.succeed(Model.Model, {
      info: { provider: "test", name: "same" },
      stream: ({ messages, metadata }) => {
        // the turn before
        if (isCounting) { for (const message of messages.slice(-2)) count(counts, message.role, message) }
        return Stream.fromArray(partsOf(metadata.turn))
      }
    })
    const { agent } = yield* TestAgent.make([], { model, agent: { limits: { maxTurns: Infinity } } })
    const run = (n: number) =>
      Stream.runForEachArray(agent.stream({ sessionId: `s${n}`, input: "go" }), (events) =>
        Effect.sync(() => {
          if (isCounting) {
            for (const event of events) if (RunEvent.isDurable(event)) count(counts, event._tag, event)
          }
        }))
    // V8 decides while its young generation is small
    for (let n = 0; n < 100; n++) yield* run(n)
    isCounting = true
    for (let n = 100; n < 110; n++) yield* run(n)
    const many = [...counts].filter(([, { all }]) => all >= 5 * steps)
    assert.isAbove(many.length, 20)
    const old = many.filter(([, { all, old }]) => old > all / 2).map(([way]) => way)
    assert.deepStrictEqual(old, [])
  }))
