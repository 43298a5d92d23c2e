/** What was said to runs whose process is shut down by a deploy, as compared with one that is killed. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { temporaryFolder } from "../support/Processes.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Steering from "../support/Steering.ts"
import * as WorkerAgent from "./WorkerAgent.ts"
import * as Workers from "./Workers.ts"

const input = { sessionId: "s", runId: "r", input: Workers.plan({ gate: "gate" }) }

/** Waits until something said to the run of a session is stored. */
const isStored = (folder: string) =>
  SessionStore.SessionStore.use((store) =>
    Stream.runDrain(Stream.takeUntil(store.watch("s"), ({ _tag }) => _tag === "InputQueued"))
  ).pipe(Effect.provide(WorkerAgent.store({ folder })), Effect.orDie)

/** A process has ended in the midst of a run, after it stored what was said to that. */
const left = Effect.fnUntraced(function*(how: "SIGTERM" | "kill") {
  const folder = yield* temporaryFolder
  const a = yield* Workers.start({ folder })
  yield* a.ask({ do: "start", input })
  yield* a.told(Workers.atGate("gate"))
  yield* a.send({ do: "steer", sessionId: "s", text: "psst" })
  yield* isStored(folder)
  if (how === "SIGTERM") yield* Effect.andThen(a.signal("SIGTERM"), a.ended)
  else yield* a.kill
  return folder
})

for (const how of ["SIGTERM", "kill"] as const) {
  it.live(`what was said before a ${how} is delivered once by a process that looks for such runs`, () =>
    Effect.gen(function*() {
      const folder = yield* left(how)
      yield* Workers.start({ folder, recoverEvery: 100 })
      const log = yield* Workers.ended(folder, "s", "RunCompleted")
      assert.deepStrictEqual(Steering.received(log), ["steer: psst"])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.live(`what was said before a ${how} is delivered once when the same request is sent to another process`, () =>
    Effect.gen(function*() {
      const folder = yield* left(how)
      const b = yield* Workers.start({ folder })
      assert.strictEqual(Workers.ok(yield* b.ask({ do: "run", input })), "Completed: done")
      const log = yield* Workers.logOf(folder, "s")
      assert.deepStrictEqual(Steering.received(log), ["steer: psst"])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.live(`what was said before a ${how} comes before a new message`, () =>
    Effect.gen(function*() {
      const folder = yield* left(how)
      const b = yield* Workers.start({ folder })
      const hello = yield* b.ask({ do: "run", input: { sessionId: "s", input: "hello" } })
      assert.strictEqual(Workers.ok(hello), "Completed: done")
      const log = yield* Workers.logOf(folder, "s")
      assert.deepStrictEqual(Steering.received(log), ["steer: psst"])
      assert.isBelow(RunLog.only(log, "InputReceived")[0]!.seq, RunLog.only(log, "RunStarted")[1]!.seq)
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.live(`what was said before a ${how} is given up by an abort from another process`, () =>
    Effect.gen(function*() {
      const folder = yield* left(how)
      const b = yield* Workers.start({ folder })
      assert.isNull(Workers.ok(yield* b.ask({ do: "abort", sessionId: "s" })))
      const hello = yield* b.ask({ do: "run", input: { sessionId: "s", input: "hello" } })
      assert.strictEqual(Workers.ok(hello), "Completed: done")
      const log = yield* Workers.logOf(folder, "s")
      assert.deepStrictEqual(Steering.received(log), [])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))
}
