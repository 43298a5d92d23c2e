/** Aborts that are asked for while the processes concerned stop, die, or are cut off. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { temporaryFolder } from "../support/Processes.ts"
import * as RunLog from "../support/RunLog.ts"
import * as WorkerAgent from "./WorkerAgent.ts"
import * as Workers from "./Workers.ts"

/** A process has been asked to abort its run, once it got so far, and died before it heard of that; who asked has left. */
const unheardIn = Effect.fnUntraced(function*(input: string, isThere: (what: Workers.Told) => boolean) {
  const folder = yield* temporaryFolder
  const a = yield* Workers.start({ folder, isAsked: true })
  const b = yield* Workers.start({ folder })
  yield* a.send({ do: "run", input: { sessionId: "s", runId: "r", input } })
  yield* a.told(isThere)
  yield* a.signal("SIGSTOP")
  const abort = yield* b.send({ do: "abort", sessionId: "s" })
  yield* Workers.askedToAbort(folder)
  yield* b.interrupt(abort.id)
  yield* a.kill
  yield* b.ask({ do: "go", name: "gate" })
  return { b, folder, input }
})

const unheard = unheardIn(Workers.plan([{ tool: "put", wait: "gate" }], [{ tool: "pay" }]), Workers.atGate("gate"))

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

it.live("so it does after a compaction by hand", () =>
  Effect.gen(function*() {
    const { b, folder } = yield* unheard
    yield* b.ask({ do: "go", name: "compact" })
    Workers.ok(yield* b.ask({ do: "compact", sessionId: "s" }))
    assert.deepStrictEqual(Workers.ok(yield* b.ask({ do: "recover" })), { runs: ["s"], refused: [] })
    assert.strictEqual(RunLog.endOf(yield* Workers.ended(folder, "s")), "RunAborted(requested)")
    assert.lengthOf(WorkerAgent.effects(folder), 1)
  }))

it.live("so it does after somebody has answered its question", () =>
  Effect.gen(function*() {
    const { b, folder } = yield* unheardIn(Workers.plan([{ tool: "refund" }]), ({ at }) => at === "approver")
    const asking = Workers.ok(yield* b.ask({ do: "approvals", sessionId: "s" })) as ReadonlyArray<
      { readonly id: string }
    >
    const decision = { sessionId: "s", approvalId: asking[0]!.id, approved: true }
    assert.isNull(Workers.ok(yield* b.ask({ do: "decide", input: decision })))
    assert.deepStrictEqual(Workers.ok(yield* b.ask({ do: "recover" })), { runs: ["s"], refused: [] })
    assert.strictEqual(RunLog.endOf(yield* Workers.ended(folder, "s")), "RunAborted(requested)")
    assert.deepStrictEqual(WorkerAgent.effects(folder), [])
  }))

it.live("who resumes it by hand, or sends another message, comes after that abort", () =>
  Effect.gen(function*() {
    const { b } = yield* unheard
    assert.strictEqual(Workers.ok(yield* b.ask({ do: "resume", input: { sessionId: "s" } })), "Completed: done")
    const other = yield* unheard
    const hello = yield* other.b.ask({ do: "run", input: { sessionId: "s", input: "hello" } })
    assert.strictEqual(Workers.ok(hello), "Completed: done")
  }))
