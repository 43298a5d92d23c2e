/** A model and tools that answer at once: other work gets its turn between turns. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as TestAgent from "../support/TestAgent.ts"

describe("between turns that wait for nothing", () => {
  it.effect("a reader that leaves prevents the next model call", () =>
    Effect.gen(function*() {
      const { agent, script } = yield* TestAgent.make(Array.from({ length: 40 }, (_, n) => TestAgent.work(n)), {
        agent: { limits: { maxTurns: 100 } }
      })
      for (let turns = 1; turns <= 8; turns++) {
        const before = (yield* script.requests).length
        yield* agent.stream({ sessionId: `s${turns}`, input: "go" }).pipe(
          Stream.filter((event) => event._tag === "TurnFinished"),
          Stream.take(turns),
          Stream.runDrain
        )
        assert.strictEqual((yield* script.requests).length - before, turns)
      }
    }))

  it.effect("something waiting for the event loop can abort the run", () =>
    Effect.gen(function*() {
      const turns = 200
      const { agent } = yield* TestAgent.make(Array.from({ length: turns }, (_, n) => TestAgent.work(n)), {
        agent: { limits: { maxTurns: turns } }
      })
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      setImmediate(() => Effect.runFork(run.abort))
      const result = yield* run.result
      assert.strictEqual(result._tag, "Aborted")
      assert.isBelow(result.turns, 70)
    }))
})
