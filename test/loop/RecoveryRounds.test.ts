/** Rounds of several calls that a drive died in: each call is taken up as it stands. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import type * as RunInput from "../../src/run/RunInput.ts"
import type * as RunPolicy from "../../src/run/RunPolicy.ts"
import * as Approver from "../../src/services/Approver.ts"
import * as Reconciler from "../../src/services/Reconciler.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as Drafts from "../support/Drafts.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

const turn = (toolPolicy: RunPolicy.ToolPolicy, ...tools: ReadonlyArray<string>): ReadonlyArray<Drafts.Placed> => [
  Drafts.started("go", { toolPolicy }),
  Drafts.turnStarted(1),
  Drafts.assistant(tools.map((tool, n) => Drafts.call(tool, { n })))
]
const started = (tool: string, n: number): Drafts.Placed => ({ ...Drafts.toolStarted(`1.${n}`, { n }), tool })
const failed = (n: number) => Drafts.settled(`1.${n}`, { _tag: "Failed", result: "no" })

/** Resumes what this log left, and says which handlers ran, by `n`, with their keys. */
const resume = Effect.fnUntraced(function*(
  log: ReadonlyArray<Drafts.Placed>,
  options: TestAgent.Options & Pick<RunInput.ResumeInput, "limits"> & {
    readonly turns?: ReadonlyArray<ScriptedModel.Turn>
  } = {}
) {
  const { limits, turns = [ScriptedModel.text("done")], ...rest } = options
  const store = yield* DeadRun.of(log)
  const ran: Array<string> = []
  const { agent, script } = yield* TestAgent.make(turns, {
    ...rest,
    store,
    tool: () =>
      Effect.flatMap(
        ToolCall,
        (call) => Effect.sync(() => (ran.push(call.idempotencyKey), `ran ${call.idempotencyKey}`))
      )
  })
  yield* Effect.exit(Stream.runDrain(agent.resume({ sessionId: "s", limits })))
  const after = yield* store.log("s")
  return { agent, log: after, ran, script, store, outcomes: RunLog.outcomes(after), end: RunLog.endOf(after) }
})

describe("a round whose drive died, with a policy that does not continue on errors,", () => {
  const policy = { maxParallel: 2, continueOnError: false }

  it.effect("fails its run when a call had failed: what was not started does not run, and the model is not asked", () =>
    Effect.gen(function*() {
      const { end, log, outcomes, ran, script } = yield* resume([
        ...turn(policy, "work", "work", "look"),
        started("work", 0),
        started("work", 1),
        failed(0)
      ])
      assert.deepStrictEqual([end, ran], ["RunFailed(ToolFailed)", []])
      assert.deepStrictEqual(outcomes, ["1.0 Failed", "1.1 OutcomeUnknown", "1.2 NotExecuted(failed)"])
      assert.deepStrictEqual(RunLog.violations(log), [])
      assert.lengthOf(yield* script.requests, 0)
    }))

  it.effect("fails its run when a call fails while a reconciler is asked about another, whose answer still counts", () =>
    Effect.gen(function*() {
      const store = yield* DeadRun.of([...turn(policy, "work", "again"), started("work", 0), started("again", 1)])
      const { agent } = yield* TestAgent.make([], { store, tool: () => Effect.fail("no") })
      const reconcile = () => Effect.as(Effect.sleep("1 minute"), { _tag: "Done", result: "paid" } as const)
      const run = yield* agent.resume({ sessionId: "s" }).pipe(
        Stream.runDrain,
        Effect.exit,
        Effect.provideService(Reconciler.Reconciler, { reconcile }),
        Effect.forkChild
      )
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(run)
      const log = yield* store.log("s")
      assert.sameMembers(RunLog.outcomes(log), ["1.0 Succeeded", "1.1 Failed"])
      assert.strictEqual(RunLog.endOf(log), "RunFailed(ToolFailed)")
    }))

  it.effect("fails its run when a call had failed, after its reconciler is asked about the others, whose answers count", () =>
    Effect.gen(function*() {
      const log = [...turn(policy, "work", "work", "work"), ...[0, 1, 2].map((n) => started("work", n)), failed(0)]
      const reconcile = ({ callId }: Reconciler.Question) =>
        Effect.succeed(callId === "1.1" ? { _tag: "Done", result: "paid" } as const : { _tag: "NotDone" } as const)
      const after = yield* Effect.provideService(resume(log), Reconciler.Reconciler, { reconcile })
      assert.deepStrictEqual(after.outcomes, ["1.0 Failed", "1.1 Succeeded", "1.2 NotExecuted(failed)"])
      assert.deepStrictEqual([after.end, after.ran], ["RunFailed(ToolFailed)", []])
      assert.deepStrictEqual(RunLog.violations(after.log), [])
    }))

  it.effect("does not make a call that took no effect if another fails while its reconciler is asked, once, and says so", () =>
    Effect.gen(function*() {
      const store = yield* DeadRun.of([...turn(policy, "work", "again"), started("work", 0), started("again", 1)])
      const failing = yield* Deferred.make<void>()
      const { agent } = yield* TestAgent.make([], { store, tool: () => Effect.fail("no") })
      let asked = 0
      const reconcile = () =>
        Effect.gen(function*() {
          asked++
          yield* Deferred.await(failing)
          return { _tag: "NotDone" } as const
        })
      const events = agent.resume({ sessionId: "s" }).pipe(
        Stream.tap((event) => event._tag === "ToolSettled" ? Deferred.succeed(failing, undefined) : Effect.void)
      )
      yield* Effect.provideService(Effect.exit(Stream.runDrain(events)), Reconciler.Reconciler, { reconcile })
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.1 Failed", "1.0 NotExecuted(failed)"])
      assert.deepStrictEqual([RunLog.endOf(log), asked], ["RunFailed(ToolFailed)", 1])
    }))

  it.effect("continues when the failed run is resumed", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* resume([...turn(policy, "work"), started("work", 0), failed(0)])
      yield* Stream.runDrain(agent.resume({ sessionId: "s" }))
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunCompleted(stop)")
    }))
})

it.effect("a call that had started does not wait with one that a person is asked about, where a lower limit has room for one only", () =>
  Effect.gen(function*() {
    const waits = { ...Drafts.approvalRequested("1.0"), tool: "work" }
    const log = [...turn({ maxParallel: 2 }, "work", "work"), waits, started("work", 1)]
    const after = yield* resume(log, { limits: { maxToolCalls: 1 } })
    assert.deepStrictEqual(after.outcomes, ["1.1 OutcomeUnknown", "1.0 NotExecuted(limit)"])
    assert.strictEqual(after.end, "RunLimited(toolCalls)")
  }))

describe("a parallel round in mixed states", () => {
  const log = [
    ...turn({ maxParallel: 4 }, "work", "look", "again", "work", "look"),
    started("work", 0),
    started("look", 1),
    started("again", 2),
    Drafts.settled("1.1", "seen")
  ]

  it.effect("counts each of its calls once, and the round", () =>
    Effect.gen(function*() {
      const { log: after } = yield* resume(log)
      const { toolCalls, toolRounds, turns } = RunLog.only(after, "RunCompleted")[0]!.totals
      assert.deepStrictEqual([toolCalls, toolRounds, turns], [5, 1, 2])
    }))

  it.effect("has its outcomes from before and after the death read by the model, in call order", () =>
    Effect.gen(function*() {
      const { script } = yield* resume(log)
      const answered = (yield* script.requests)[0]!.messages.at(-1)!
      const results = answered.role === "tool" ? answered.content.map(({ result }) => result) : []
      assert.include(JSON.stringify(results[0]), "Outcome unknown")
      assert.deepStrictEqual(results.slice(1), ["seen", ...["1.2", "1.3", "1.4"].map((id) => `ran s/run-1/${id}`)])
    }))

  it.effect("runs no more than its limit on tool calls allows: what was started counts", () =>
    Effect.gen(function*() {
      const limited = log.map((draft) =>
        draft._tag === "RunStarted" ? { ...draft, input: { ...draft.input, limits: { maxToolCalls: 3 } } } : draft
      )
      const { end, outcomes, ran } = yield* resume(limited)
      assert.strictEqual(end, "RunLimited(toolCalls)")
      assert.deepStrictEqual(ran, ["s/run-1/1.2"])
      assert.includeMembers(outcomes, ["1.3 NotExecuted(limit)", "1.4 NotExecuted(limit)"])
    }))

  it.effect("settles calls that never started as unknown tools when the agent no longer has them", () =>
    Effect.gen(function*() {
      const { end, outcomes } = yield* resume(log, { agent: { toolPolicy: { allowList: ["again"] } } })
      assert.strictEqual(end, "RunCompleted(stop)")
      assert.sameMembers(outcomes, [
        "1.0 OutcomeUnknown",
        "1.1 Succeeded",
        "1.2 Succeeded",
        "1.3 UnknownTool",
        "1.4 UnknownTool"
      ])
    }))
})

describe("a question that was asked before its drive died", () => {
  const ask = (callId: string): Drafts.Placed => ({
    ...Drafts.approvalRequested(callId),
    tool: "work",
    params: { n: 0 }
  })
  const asked = [...turn({ requireApprovalByDefault: true }, "work"), ask("1.0")]
  const unasked = Effect.provideService(Approver.Approver, { ask: () => Effect.die("asked again") })

  it.effect("and answered yes: the call runs without asking again", () =>
    Effect.gen(function*() {
      const { end, ran } = yield* unasked(resume([...asked, Drafts.approvalResolved("1.0")]))
      assert.deepStrictEqual([end, ran], ["RunCompleted(stop)", ["s/run-1/1.0"]])
    }))

  it.effect("and answered no, without an outcome: the call is denied and does not run", () =>
    Effect.gen(function*() {
      const { ran, outcomes } = yield* unasked(resume([...asked, Drafts.approvalResolved("1.0", false)]))
      assert.deepStrictEqual([outcomes, ran], [["1.0 Denied"], []])
    }))

  it.effect("and answered yes, and started: it is not asked again, but what became of the call is", () =>
    Effect.gen(function*() {
      const questions: Array<string> = []
      const reconcile = ({ callId }: Reconciler.Question) =>
        Effect.sync(() => (questions.push(callId), { _tag: "Done", result: "paid" } as const))
      const { outcomes, ran } = yield* unasked(
        resume([...asked, Drafts.approvalResolved("1.0"), started("work", 0)]).pipe(
          Effect.provideService(Reconciler.Reconciler, { reconcile })
        )
      )
      assert.deepStrictEqual([questions, outcomes, ran], [["1.0"], ["1.0 Succeeded"], []])
    }))

  it.effect("and answered yes: a new message keeps the call from running", () =>
    Effect.gen(function*() {
      const store = yield* DeadRun.of([...asked, Drafts.approvalResolved("1.0")])
      const { agent } = yield* TestAgent.make([ScriptedModel.text("hello!")], { store })
      assert.strictEqual((yield* agent.run({ sessionId: "s", input: "hello" })).text, "hello!")
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 NotExecuted(superseded)"])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))
})

describe("an outcome that nobody knows", () => {
  it.effect("is words for the model, and data for readers of the stream or the log", () =>
    Effect.gen(function*() {
      const { log, script } = yield* resume([...turn({}, "work"), started("work", 0)])
      const [request] = yield* script.requests
      const result = request?.messages.at(-1)?.content[0]
      assert.isTrue(typeof result === "object" && result.type === "tool-result" && result.isFailure)
      assert.include(JSON.stringify(result), "Outcome unknown")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 OutcomeUnknown"])
    }))
})
