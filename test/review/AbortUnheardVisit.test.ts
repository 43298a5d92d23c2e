/** An abort that was accepted, whose process died before it heard of it, and a session that somebody visits before it is recovered. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import * as Workers from "../processes/Workers.ts"
import { temporaryFolder } from "../support/Processes.ts"
import * as RunLog from "../support/RunLog.ts"
import * as SqliteStores from "../support/SqliteStores.ts"

it.live("the run still ends so, after a compaction by hand was tried", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const a = yield* Workers.start({ folder })
    const b = yield* Workers.start({ folder })
    const input = Workers.plan([{ tool: "put", wait: "gate" }], [{ tool: "pay" }])
    yield* a.send({ do: "run", input: { sessionId: "s", runId: "r", input } })
    yield* a.told(Workers.atGate("gate"))
    yield* a.signal("SIGSTOP")
    const abort = yield* b.send({ do: "abort", sessionId: "s" })
    const asked = () =>
      SqliteStores.sqlOn(join(folder, "sessions.db"), (db) => db.prepare("SELECT owner FROM fiberloop_aborts").all())
    yield* Effect.repeat(Effect.sync(asked), { until: (rows) => rows.length > 0 })
    yield* b.interrupt(abort.id)
    yield* a.kill
    yield* b.ask({ do: "go", name: "gate" })
    yield* b.ask({ do: "go", name: "compact" })
    yield* b.ask({ do: "compact", sessionId: "s" })
    yield* b.ask({ do: "recover" })
    assert.strictEqual(RunLog.endOf(yield* Workers.ended(folder, "s")), "RunAborted(requested)")
  }))
