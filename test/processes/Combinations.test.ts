/** Processes that decide, abort, compact and go on around the deaths of others. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { temporaryFolder } from "../support/Processes.ts"
import * as RunLog from "../support/RunLog.ts"
import * as WorkerAgent from "./WorkerAgent.ts"
import * as Workers from "./Workers.ts"

const tools = (folder: string) => WorkerAgent.effects(folder).map((line) => line.split(" ")[0])

it.live("what was allowed below a call runs once, though the process that went on with it is killed in the handler", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const a = yield* Workers.start({ folder })
    const below = [[{ tool: "refund", wait: "gate" }], [{ tool: "pay" }]] as const
    const input = Workers.plan([{ tool: "delegate", plan: below }])
    yield* a.ask({ do: "run", input: { sessionId: "s", runId: "r", input } })
    yield* a.kill
    const b = yield* Workers.start({ folder })
    const [question] = (yield* b.ask({ do: "approvals", sessionId: "s" }))["ok"] as ReadonlyArray<{
      readonly id: string
      readonly sessionId: string
    }>
    const { id, sessionId } = question!
    yield* b.ask({ do: "decide", input: { sessionId, approvalId: id, approved: true } })
    const c = yield* Workers.start({ folder, recoverEvery: 100 })
    yield* c.told(Workers.atGate("gate"))
    yield* c.kill
    yield* Workers.start({ folder, recoverEvery: 100 })
    const log = yield* Workers.ended(folder, "s", "RunCompleted")
    assert.deepStrictEqual(RunLog.violations(log), [])
    assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded"])
    assert.deepStrictEqual(RunLog.outcomes(yield* Workers.logOf(folder, sessionId)), [
      "1.0 OutcomeUnknown",
      "2.0 Succeeded"
    ])
    assert.deepStrictEqual(tools(folder), ["refund", "pay"])
  }))

it.live("an abort from another process ends a wait for the next try", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const a = yield* Workers.start({ folder })
    const b = yield* Workers.start({ folder })
    const run = yield* a.send({ do: "run", input: { sessionId: "s", runId: "r", input: Workers.plan("overloaded") } })
    yield* a.told(({ at }) => at === "model")
    assert.isNull(Workers.ok(yield* b.ask({ do: "abort", sessionId: "s" })))
    assert.strictEqual(RunLog.endOf(yield* Workers.logOf(folder, "s")), "RunAborted(requested)")
    assert.strictEqual(Workers.ok(yield* run.answer), "Aborted: ")
  }))

it.live("an abort of a run whose process is stopped takes the session over, and that process ends its run once it wakes", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const a = yield* Workers.start({ folder, lease: 900 })
    const b = yield* Workers.start({ folder, lease: 900 })
    const input = Workers.plan([{ tool: "hire", plan: [[{ tool: "put", wait: "gate" }], [{ tool: "pay" }]] }])
    const run = yield* a.send({ do: "run", input: { sessionId: "s", runId: "r", input } })
    yield* a.told(Workers.atGate("gate"))
    yield* a.signal("SIGSTOP")
    assert.isNull(Workers.ok(yield* b.ask({ do: "abort", sessionId: "s" })))
    const log = yield* Workers.logOf(folder, "s")
    assert.strictEqual(RunLog.endOf(log), "RunAborted(requested)")
    yield* a.signal("SIGCONT")
    assert.strictEqual((yield* run.answer)["error"], "StaleWriter")
    yield* a.ask({ do: "go", name: "gate" })
    assert.strictEqual(
      Workers.ok(yield* a.ask({ do: "run", input: { sessionId: "s", input: "hello" } })),
      "Completed: done"
    )
    assert.deepStrictEqual(tools(folder), ["put"])
  }))

it.live("a compaction whose process is killed keeps nobody from deciding, and one under way does", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const a = yield* Workers.start({ folder })
    const b = yield* Workers.start({ folder })
    yield* a.ask({ do: "run", input: { sessionId: "s", input: "hello" } })
    yield* a.ask({ do: "run", input: { sessionId: "s", runId: "r", input: Workers.plan([{ tool: "refund" }]) } })
    yield* a.send({ do: "compact", sessionId: "s" })
    yield* a.told(Workers.atGate("compact"))
    const decide = { do: "decide", input: { sessionId: "s", approvalId: "r/1.0", approved: true } } as const
    assert.strictEqual((yield* b.ask(decide))["error"], "SessionBusy")
    assert.strictEqual((yield* b.ask({ do: "abort", sessionId: "s" }))["error"], "SessionBusy")
    yield* a.kill
    assert.isNull(Workers.ok(yield* b.ask(decide)))
    assert.strictEqual((yield* b.ask(decide))["error"], "ApprovalNotOpen")
    yield* b.send({ do: "compact", sessionId: "s" })
    yield* b.told(Workers.atGate("compact"))
    yield* b.ask({ do: "go", name: "compact" })
    const c = yield* Workers.start({ folder })
    const resumed = yield* Effect.repeat(c.ask({ do: "resume", input: { sessionId: "s" } }), {
      while: ({ error }) => error === "SessionBusy"
    })
    assert.strictEqual(Workers.ok(resumed), "Completed: done")
    assert.deepStrictEqual(tools(folder), ["refund"])
    assert.deepStrictEqual(RunLog.violations(yield* Workers.logOf(folder, "s")), [])
  }))

it.live("a deploy in the midst of work below a call: the next process goes on with it, and does nothing twice", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const a = yield* Workers.start({ folder })
    const input = Workers.plan([{ tool: "delegate", plan: [[{ tool: "put", wait: "gate" }], [{ tool: "pay" }]] }])
    yield* a.send({ do: "start", input: { sessionId: "s", runId: "r", input } })
    yield* a.told(Workers.atGate("gate"))
    yield* a.signal("SIGTERM")
    yield* a.ended
    assert.strictEqual(RunLog.endOf(yield* Workers.logOf(folder, "s")), "RunAborted(shutdown)")
    const b = yield* Workers.start({ folder })
    const c = yield* Workers.start({ folder })
    const found = yield* Effect.all([b.ask({ do: "recover" }), c.ask({ do: "recover" })], { concurrency: 2 })
    const runs = found.flatMap((told) => (told["ok"] as { readonly runs: ReadonlyArray<string> }).runs)
    assert.deepStrictEqual(runs, ["s"])
    yield* Effect.all([b.send({ do: "go", name: "gate" }), c.send({ do: "go", name: "gate" })])
    const log = yield* Workers.ended(folder, "s", "RunCompleted")
    assert.deepStrictEqual(RunLog.violations(log), [])
    assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded"])
    assert.deepStrictEqual(RunLog.outcomes(yield* Workers.logOf(folder, "s/r/1.0")), ["1.0 Succeeded", "2.0 Succeeded"])
    assert.deepStrictEqual(tools(folder), ["put", "put", "pay"])
  }))
