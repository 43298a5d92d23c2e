/** A process that was stopped while others took over its session, and wakes. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { temporaryFolder } from "../support/Processes.ts"
import * as RunLog from "../support/RunLog.ts"
import * as WorkerAgent from "./WorkerAgent.ts"
import * as Workers from "./Workers.ts"

const lease = 900

/** Its lease runs out. */
const resumed = (b: Workers.Worker) =>
  Effect.repeat(b.ask({ do: "resume", input: { sessionId: "s" } }), { while: ({ error }) => error === "SessionBusy" })

it.live("a run that waits for an approver ends in its process once that wakes and another has its session", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const a = yield* Workers.start({ folder, lease, isAsked: true })
    const b = yield* Workers.start({ folder, lease })
    const input = { sessionId: "s", runId: "r", input: Workers.plan([{ tool: "refund" }]) }
    const run = yield* a.send({ do: "run", input })
    yield* a.told(({ at }) => at === "approver")
    yield* a.signal("SIGSTOP")
    assert.strictEqual(Workers.ok(yield* resumed(b)), "Suspended: ")
    const hello = { do: "run", input: { sessionId: "s", input: "hello" } } as const
    assert.strictEqual(Workers.ok(yield* b.ask(hello)), "Completed: done")
    yield* a.signal("SIGCONT")
    assert.strictEqual((yield* Effect.timeout(run.answer, "20 seconds"))["error"], "StaleWriter")
    assert.strictEqual(Workers.ok(yield* a.ask(hello)), "Completed: done")
    assert.deepStrictEqual(RunLog.violations(yield* Workers.logOf(folder, "s")), [])
    assert.deepStrictEqual(WorkerAgent.effects(folder), [])
  }))

it.live("nothing begins below a call in a process that wakes after another has gone on with the run around it", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const a = yield* Workers.start({ folder, lease })
    const b = yield* Workers.start({ folder, lease })
    const below = [[{ tool: "put", wait: "gate" }], [{ tool: "pay" }]] as const
    const input = { sessionId: "s", runId: "r", input: Workers.plan([{ tool: "hire", plan: below }]) }
    const run = yield* a.send({ do: "run", input })
    yield* a.told(Workers.atGate("gate"))
    yield* a.signal("SIGSTOP")
    assert.strictEqual(Workers.ok(yield* resumed(b)), "Completed: done")
    yield* a.signal("SIGCONT")
    assert.strictEqual((yield* Effect.timeout(run.answer, "20 seconds"))["error"], "StaleWriter")
    yield* a.ask({ do: "go", name: "gate" })
    yield* a.ask({ do: "run", input: { sessionId: "s", input: "hello" } })
    assert.deepStrictEqual(RunLog.outcomes(yield* Workers.logOf(folder, "s")), ["1.0 OutcomeUnknown"])
    assert.deepStrictEqual(WorkerAgent.effects(folder).map((line) => line.split(" ")[0]), ["put"])
  }))
