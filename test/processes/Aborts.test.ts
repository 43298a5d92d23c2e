/** Aborts that are asked for while the processes concerned stop, die, or are cut off. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import { temporaryFolder } from "../support/Processes.ts"
import * as RunLog from "../support/RunLog.ts"
import * as SqliteStores from "../support/SqliteStores.ts"
import * as WorkerAgent from "./WorkerAgent.ts"
import * as Workers from "./Workers.ts"

/** Waits until one process has asked another to abort. */
const asked = (folder: string) =>
  Effect.repeat(
    Effect.sync(() =>
      SqliteStores.sqlOn(join(folder, "sessions.db"), (db) => db.prepare("SELECT owner FROM fiberloop_aborts").all())
    ),
    { until: (rows) => rows.length > 0 }
  )

/** A process has been asked to abort its run, and died before it heard of that; who asked has left. */
const unheard = Effect.gen(function*() {
  const folder = yield* temporaryFolder
  const a = yield* Workers.start({ folder })
  const b = yield* Workers.start({ folder })
  const input = Workers.plan([{ tool: "put", wait: "gate" }], [{ tool: "pay" }])
  yield* a.send({ do: "run", input: { sessionId: "s", runId: "r", input } })
  yield* a.told(Workers.atGate("gate"))
  yield* a.signal("SIGSTOP")
  const abort = yield* b.send({ do: "abort", sessionId: "s" })
  yield* asked(folder)
  yield* b.interrupt(abort.id)
  yield* a.kill
  yield* b.ask({ do: "go", name: "gate" })
  return { b, folder, input }
})

it.live("a run that was to be aborted ends so where its process died before it heard of that", () =>
  Effect.gen(function*() {
    const { b, folder } = yield* unheard
    assert.deepStrictEqual(Workers.ok(yield* b.ask({ do: "recover" })), { runs: ["s"], refused: [] })
    assert.strictEqual(RunLog.endOf(yield* Workers.ended(folder, "s")), "RunAborted(requested)")
    assert.lengthOf(WorkerAgent.effects(folder), 1)
  }))

it.live("so it does where its request is sent again", () =>
  Effect.gen(function*() {
    const { b, folder, input } = yield* unheard
    const again = yield* b.ask({ do: "run", input: { sessionId: "s", runId: "r", input } })
    assert.strictEqual(Workers.ok(again), "Aborted: ")
    assert.strictEqual(RunLog.endOf(yield* Workers.logOf(folder, "s")), "RunAborted(requested)")
    assert.lengthOf(WorkerAgent.effects(folder), 1)
  }))

it.live("who resumes it by hand, or sends another message, comes after that abort", () =>
  Effect.gen(function*() {
    const { b } = yield* unheard
    assert.strictEqual(Workers.ok(yield* b.ask({ do: "resume", input: { sessionId: "s" } })), "Completed: done")
    const other = yield* unheard
    const hello = yield* other.b.ask({ do: "run", input: { sessionId: "s", input: "hello" } })
    assert.strictEqual(Workers.ok(hello), "Completed: done")
  }))
