/** A clock that was ahead, and is set back. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { temporaryFolder } from "../support/Processes.ts"
import * as Attackers from "./Attackers.ts"

const hour = 3_600_000

it.live("a run that died twice waits for a minute from what it did last, and not until the clock has caught up", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const input = { sessionId: "s", runId: "r", input: Attackers.plan([{ tool: "put", wait: "gate" }]) }
    for (const command of [{ do: "run", input }, { do: "resume", input: { sessionId: "s" } }] as const) {
      const a = yield* Attackers.start({ folder })
      yield* a.ask({ do: "clock", ahead: hour })
      yield* a.send(command)
      yield* a.told(Attackers.atGate("gate"))
      yield* a.kill
    }
    const b = yield* Attackers.start({ folder })
    yield* b.ask({ do: "clock", ahead: hour + 30_000 })
    assert.deepStrictEqual(Attackers.ok(yield* b.ask({ do: "recover" })), { runs: [], refused: [] })
    yield* b.ask({ do: "clock", ahead: 0 })
    assert.deepStrictEqual(Attackers.ok(yield* b.ask({ do: "recover" })), { runs: ["s"], refused: [] })
  }))

// a known fault: a lease goes by the clock of the day
it.live.fails("a process that is stopped keeps its session for its lease, and not until the clock has caught up", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const lease = 900
    const a = yield* Attackers.start({ folder, lease })
    yield* a.ask({ do: "clock", ahead: hour })
    const input = { sessionId: "s", runId: "r", input: Attackers.plan([{ tool: "put", wait: "gate" }]) }
    yield* a.send({ do: "run", input })
    yield* a.told(Attackers.atGate("gate"))
    yield* a.signal("SIGSTOP")
    const b = yield* Attackers.start({ folder, lease })
    yield* b.ask({ do: "go", name: "gate" })
    const resumed = yield* b.ask({ do: "resume", input: { sessionId: "s" } }).pipe(
      Effect.repeat({ while: ({ error }) => error === "SessionBusy" }),
      Effect.timeout(10 * lease)
    )
    assert.strictEqual(Attackers.ok(resumed), "Completed: done")
  }))
