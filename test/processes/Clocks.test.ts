/** A clock that was ahead, and is set back. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { temporaryFolder } from "../support/Processes.ts"
import * as Workers from "./Workers.ts"

const hour = 3_600_000

it.live("a run that died twice waits for a minute from what it did last, and not until the clock has caught up", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const input = { sessionId: "s", runId: "r", input: Workers.plan([{ tool: "put", wait: "gate" }]) }
    for (const command of [{ do: "run", input }, { do: "resume", input: { sessionId: "s" } }] as const) {
      const a = yield* Workers.start({ folder })
      yield* a.ask({ do: "clock", ahead: hour })
      yield* a.send(command)
      yield* a.told(Workers.atGate("gate"))
      yield* a.kill
    }
    const b = yield* Workers.start({ folder })
    yield* b.ask({ do: "clock", ahead: hour + 30_000 })
    assert.deepStrictEqual(Workers.ok(yield* b.ask({ do: "recover" })), { runs: [], refused: [] })
    yield* b.ask({ do: "clock", ahead: 0 })
    assert.deepStrictEqual(Workers.ok(yield* b.ask({ do: "recover" })), { runs: ["s"], refused: [] })
  }))
