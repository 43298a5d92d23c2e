/** A yes with a result: the call is settled with it, once, and the tool's handler does not run. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import { ResultLimit } from "../../src/layers/ToolExecutorToolkit.ts"
import type { Hook } from "../../src/services/Hooks.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as Drafts from "../support/Drafts.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Suspended from "../support/Suspended.ts"
import * as TestAgent from "../support/TestAgent.ts"

const result = "by hand"
/** not JSON */
const notJson = { at: new Date(0) }
const invalid = { _tag: "InvalidInput", field: "result" } as const

/** What became of the calls, without intents and times. */
const steps = (made: Suspended.Suspended) => Effect.map(made.log, Approvals.steps)
const settledWith = (made: Suspended.Suspended) =>
  Effect.map(made.log, (log) => RunLog.only(log, "ToolSettled").map(({ outcome }) => outcome))
const succeeded = (result: Schema.Json) => ({ _tag: "Succeeded", result })

const masks: Hook = {
  name: "masks",
  afterToolCall: ({ outcome }) =>
    Effect.succeed(outcome._tag === "Succeeded" ? { outcome: { ...outcome, result: "****" } } : undefined)
}

const answeredLog: ReadonlyArray<string> = [
  "ApprovalRequested 1.0",
  "RunSuspended",
  "ApprovalResolved 1.0 yes",
  "RunResumed",
  "ToolSettled 1.0 Succeeded",
  "RunCompleted"
]

/** No handler ran, the model read the given result, once, and the log is as it must be. */
const isByHand = Effect.fnUntraced(function*({ log, ran, read }: Suspended.Suspended) {
  assert.deepStrictEqual(ran, [])
  assert.deepStrictEqual(yield* read, [result])
  assert.deepStrictEqual(RunLog.violations(yield* log), [])
})

/** A live run whose first call was answered while it asks about the second one. */
const answeredBeside = Effect.fnUntraced(function*(hooks: ReadonlyArray<Hook>) {
  const approver = Approvals.desk()
  const calls = [TestAgent.work(1, "a"), TestAgent.work(2, "b")]
  const made = yield* Suspended.before([calls, ScriptedModel.text("ok")], { approver, agent: { hooks } })
  const run = yield* made.agent.start(Suspended.go)
  yield* approver.answer("1.0", undefined)
  yield* approver.asked("1.1")
  yield* made.decide("1.0", { result })
  return { approver, made, run }
})

describe("a result", () => {
  it.effect("is the call's outcome, and its handler does not run", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      yield* made.decide("1.0", { result, by: "ann" })
      yield* made.resume()
      assert.deepStrictEqual(made.ran, [])
      assert.deepStrictEqual(yield* steps(made), answeredLog)
      assert.deepStrictEqual<unknown>(yield* settledWith(made), [succeeded(result)])
      assert.deepStrictEqual(yield* made.read, [result])
      assert.deepInclude(RunLog.only(yield* made.log, "ApprovalResolved")[0], { approved: true, by: "ann", result })
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))

  it.effect("of a type that plain JSON has not is given, stored and read in the JSON of the tool's schema", () =>
    Effect.gen(function*() {
      const success = Schema.Struct({ cents: Schema.BigInt, until: Schema.Option(Schema.Date) })
      const work = TestAgent.kit.tools.work.setSuccess(success).setNeedsApproval(true)
      const made = yield* Suspended.make(TestAgent.work(1), { agent: { toolkit: Approvals.withWork(work as never) } })
      const json = { cents: "250", until: { _tag: "Some", value: "1970-01-01T00:00:00.000Z" } }
      const error = yield* Effect.flip(made.decide("1.0", { result: { ...json, cents: 250 } }))
      assert.deepInclude(error.reason, invalid)
      yield* made.decide("1.0", { result: json })
      yield* made.resume()
      assert.deepStrictEqual<unknown>(yield* settledWith(made), [succeeded(json)])
      assert.deepStrictEqual<unknown>((yield* made.read).map((read) => JSON.stringify(read)), [JSON.stringify(json)])
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))

  it.effect("given to a live run settles the call at once", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Suspended.before([TestAgent.work(1), ScriptedModel.text("ok")], { approver })
      const run = yield* made.agent.start(Suspended.go)
      yield* approver.asked("1.0")
      yield* made.decide("1.0", { result })
      assert.strictEqual((yield* run.result)._tag, "Completed")
      yield* isByHand(made)
    }))

  it.effect("counts as a tool call and as a round", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      yield* made.decide("1.0", { result })
      yield* made.resume()
      const [end] = RunLog.only(yield* made.log, "RunCompleted")
      assert.deepInclude(end?.totals, { toolCalls: 1, toolRounds: 1 })
    }))

  it.effect("counts as a call of its tool", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.before(
        [TestAgent.work(1), TestAgent.work(2), ScriptedModel.text("ok")],
        { approver: Approvals.answering(() => ({ approved: true, result })) }
      )
      yield* made.agent.run({ ...Suspended.go, toolPolicy: { maxCallsPerRun: { work: 1 } } })
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.0 Succeeded", "2.0 NotExecuted(limit)"])
    }))

  it.effect.each(["maxToolCalls", "maxToolRounds"])(
    "counts towards %s, though nothing has run",
    (limit) =>
      Effect.gen(function*() {
        const made = yield* Suspended.before(
          [TestAgent.work(1), TestAgent.work(2)],
          { approver: Approvals.answering(() => ({ approved: true, result })) }
        )
        const ended = yield* made.agent.run({ ...Suspended.go, limits: { [limit]: 1 } })
        assert.deepInclude(ended, { _tag: "Limited", reason: limit === "maxToolCalls" ? "toolCalls" : "toolRounds" })
        assert.deepStrictEqual(made.ran, [])
        assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.0 Succeeded", "2.0 NotExecuted(limit)"])
      })
  )

  it.effect("is settled even if a limit leaves no other call", () =>
    Effect.gen(function*() {
      const calls = [TestAgent.work(1, "a"), TestAgent.work(2, "b")]
      const made = yield* Suspended.make(calls, {}, { toolPolicy: { maxCallsPerRun: 2 }, limits: { maxToolCalls: 2 } })
      yield* made.decide("1.0")
      yield* made.decide("1.1", { result })
      const agent = { toolPolicy: { maxCallsPerRun: 0 } }
      const other = yield* Suspended.elsewhere(made, { agent })
      yield* other.resume()
      assert.deepStrictEqual(other.ran, [])
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.1 Succeeded", "1.0 NotExecuted(limit)"])
    }))

  it.effect("stays the outcome when a new message comes before the run is resumed", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make([TestAgent.work(1, "a"), TestAgent.work(2, "b")])
      yield* made.decide("1.0", { result })
      yield* made.agent.run({ sessionId: "s", input: "and?" })
      assert.deepStrictEqual(made.ran, [])
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.0 Succeeded", "1.1 Denied"])
    }))

  it.effect("is settled by the next process when the one that received it died", () =>
    Effect.gen(function*() {
      const store = yield* DeadRun.of([
        Drafts.started("go"),
        Drafts.turnStarted(1),
        Drafts.assistant([Drafts.call("work", { n: 1 })]),
        { ...Drafts.approvalRequested("1.0"), tool: "work", params: { n: 1 } },
        { ...Drafts.approvalResolved("1.0"), result: null }
      ])
      const made = yield* Suspended.before([ScriptedModel.text("ok")], { store })
      yield* made.resume()
      assert.deepStrictEqual(made.ran, [])
      assert.deepStrictEqual<unknown>(yield* settledWith(made), [succeeded(null)])
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))

  it.effect("is truncated like any other", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      yield* made.decide("1.0", { result: "x".repeat(40_000) })
      yield* made.resume()
      const [settled] = RunLog.only(yield* made.log, "ToolSettled")
      assert(settled?.outcome._tag === "Succeeded")
      assert.strictEqual(settled.originalSize, 40_000)
      assert.isBelow(JSON.stringify(settled.outcome.result).length, 31_000)
    }))

  it.effect("does not go through beforeToolCall again, and afterToolCall decides what of it is stored as the outcome", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const hook: Hook = { ...masks, beforeToolCall: ({ callId }) => Effect.sync(() => void asked.push(callId)) }
      const made = yield* Suspended.make(TestAgent.work(1), { agent: { hooks: [hook] } })
      yield* made.decide("1.0", { result })
      yield* made.resume()
      assert.deepStrictEqual(asked, ["1.0"])
      assert.deepStrictEqual(yield* made.read, ["****"])
    }))

  it.effect("that comes while the round asks about another call is settled in that round, and no hook is asked again", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const hook: Hook = { name: "sees", beforeToolCall: ({ callId }) => Effect.sync(() => void asked.push(callId)) }
      const { approver, made, run } = yield* answeredBeside([hook])
      yield* approver.answer("1.1", Approvals.yes)
      yield* run.result
      assert.deepStrictEqual(asked, ["1.0", "1.1"])
      assert.deepStrictEqual(made.ran, [2])
      assert.deepStrictEqual(yield* made.read, [result, "done 2"])
    }))

  it.effect("is the call's outcome when the run is aborted before it is settled", () =>
    Effect.gen(function*() {
      const { made, run } = yield* answeredBeside([])
      yield* run.abort
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.0 Succeeded", "1.1 NotExecuted(aborted)"])
    }))

  it.effect("goes through hooks even if another call's failure ends the round", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const calls = [TestAgent.work(1, "a"), TestAgent.work(2, "b")]
      const agent = { hooks: [masks], toolPolicy: { continueOnError: false } }
      const tool = () => Effect.fail("broken")
      const made = yield* Suspended.before([calls, ScriptedModel.text("ok")], { approver, agent, tool })
      const run = yield* made.agent.start(Suspended.go)
      yield* approver.answer("1.0", undefined)
      yield* approver.asked("1.1")
      yield* made.decide("1.0", { result })
      yield* approver.answer("1.1", Approvals.yes)
      yield* Effect.exit(run.result)
      const outcomes = [{ _tag: "Failed", result: "broken" }, succeeded("****")]
      assert.deepStrictEqual<unknown>(yield* settledWith(made), outcomes)
    }))

  it.effect("goes through hooks if it is given while they look at another one and the round ends", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const gate = yield* ScriptedModel.makeGate
      const slow: Hook = {
        name: "slow",
        afterToolCall: ({ callId }) => callId === "1.0" ? gate.wait : Effect.void
      }
      const calls = [TestAgent.work(1, "a"), TestAgent.work(2, "b"), TestAgent.work(3, "c")]
      const agent = { hooks: [slow, masks], toolPolicy: { continueOnError: false } }
      const tool = () => Effect.fail("broken")
      const made = yield* Suspended.before([calls, ScriptedModel.text("ok")], { approver, agent, tool })
      const run = yield* made.agent.start(Suspended.go)
      yield* approver.answer("1.0", undefined)
      yield* approver.answer("1.1", undefined)
      yield* approver.asked("1.2")
      yield* made.decide("1.0", { result })
      yield* approver.answer("1.2", Approvals.yes)
      yield* gate.started
      yield* made.decide("1.1", { result })
      yield* gate.release
      yield* Effect.exit(run.result)
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log).toSorted(), [
        "1.0 Succeeded",
        "1.1 Succeeded",
        "1.2 Failed"
      ])
    }))

  it.effect("that a guard withholds is a failure, after which nothing runs if the policy says so", () =>
    Effect.gen(function*() {
      const approver = Approvals.answering(({ callId }) => ({
        approved: true,
        ...(callId === "1.0" ? { result } : {})
      }))
      const agent = {
        hooks: [{ name: "guard", afterToolCall: () => Effect.fail("no") } satisfies Hook],
        toolPolicy: { continueOnError: false }
      }
      const calls = [TestAgent.work(1, "a"), TestAgent.work(2, "b")]
      const made = yield* Suspended.before([calls, ScriptedModel.text("ok")], { approver, agent })
      const error = yield* Effect.flip(made.agent.run(Suspended.go))
      assert.strictEqual(error.reason._tag, "ToolFailed")
      assert.deepStrictEqual(made.ran, [])
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.0 Failed", "1.1 NotExecuted(failed)"])
    }))

  it.effect("that was truncated leaves no size in the outcome of a guard that withholds it", () =>
    Effect.gen(function*() {
      const hook: Hook = { name: "guard", afterToolCall: () => Effect.fail("no") }
      const made = yield* Suspended.make(TestAgent.work(1), { agent: { hooks: [hook] } })
      yield* made.decide("1.0", { result: "x".repeat(40_000) })
      yield* made.resume()
      const [settled] = RunLog.only(yield* made.log, "ToolSettled")
      assert.strictEqual(settled?.outcome._tag, "Failed")
      assert.notProperty(settled, "originalSize")
    }))

  it.effect("is not stored as an outcome when the run is aborted before a guard has seen it", () =>
    Effect.gen(function*() {
      const { made, run } = yield* answeredBeside([{ name: "masks", afterToolCall: () => Effect.void }])
      yield* run.abort
      const outcomes = ["1.0 NotExecuted(aborted)", "1.1 NotExecuted(aborted)"]
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), outcomes)
    }))

  it.effect("is the call's outcome when the run is aborted before observers have seen it, which withhold nothing", () =>
    Effect.gen(function*() {
      const hook: Hook = { name: "audits", kind: "observer", afterToolCall: () => Effect.void }
      const { made, run } = yield* answeredBeside([hook])
      yield* run.abort
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.0 Succeeded", "1.1 NotExecuted(aborted)"])
    }))

  it.effect("is withheld when a guard breaks on it, even before a new message", () =>
    Effect.gen(function*() {
      const hook: Hook = { name: "guard", afterToolCall: () => Effect.fail("no") }
      const made = yield* Suspended.make(
        [TestAgent.work(1, "a"), TestAgent.work(2, "b")],
        { agent: { hooks: [hook] } }
      )
      yield* made.decide("1.0", { result })
      yield* made.agent.run({ sessionId: "s", input: "and?" })
      const [first] = yield* settledWith(made)
      assert(first?._tag === "Failed")
      assert.match(
        JSON.stringify(first.result),
        /^"The call did not run, and what answers it is withheld: the hook \\"guard/
      )
    }))
})

describe("a run that died repeatedly with a result in its log", () => {
  it.effect.each<readonly [hooks: ReadonlyArray<Hook>, outcome: string]>([
    [[], "Succeeded"],
    [[{ name: "deadly", afterToolCall: () => Effect.die("asked") }], "NotExecuted(limit)"]
  ])("is ended without asking a hook that it may have died of: %j", ([hooks, outcome]) =>
    Effect.gen(function*() {
      const store = yield* DeadRun.of([
        { ...Drafts.started("go"), agent: "test/Tested" },
        Drafts.turnStarted(1),
        Drafts.assistant([Drafts.call("work", { n: 1 })]),
        { ...Drafts.approvalRequested("1.0"), tool: "work", params: { n: 1 } },
        { ...Drafts.approvalResolved("1.0"), result },
        ...Array.from({ length: 4 }, (_, i) => [
          { ...Drafts.aborted, reason: "crashed" as const },
          Drafts.resumed(i + 2)
        ]).flat()
      ])
      const made = yield* Suspended.before([ScriptedModel.text("ok")], { store, agent: { hooks } })
      yield* Effect.exit(made.resume())
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), [`1.0 ${outcome}`])
    }))
})

describe("an invalid result", () => {
  it.effect.each<readonly [decision: object, message: RegExp]>([
    [{ result: 7 }, /^result does not fit the tool "work": .*string/i],
    [{ result: {} }, /^result does not fit the tool "work"/],
    [{ result: notJson }, /^result/],
    [{ result: null }, /^result does not fit the tool "work"/],
    [{ result, params: { n: 2 } }, /^result cannot be combined with params.*; leave one of them out$/],
    [{ result, approved: false }, /^result .* needs approved: true; leave it out to say no$/]
  ])("is refused, and the question stays open: %j", ([decision, message]) =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      const head = made.store.head("s")
      const error = yield* Effect.flip(made.decide("1.0", decision))
      assert.deepInclude(error.reason, invalid)
      assert.match(error.message, message)
      assert.strictEqual(made.store.head("s"), head)
      assert.deepStrictEqual(yield* made.waiting, ["1.0"])
    }))

  it.effect("is refused when an event cannot hold it", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      const error = yield* Effect.flip(made.decide("1.0", { result: "x".repeat(SessionStore.maxContentBytes) }))
      assert.strictEqual(error.reason._tag, "EventTooLarge")
      assert.deepStrictEqual(yield* made.waiting, ["1.0"])
    }))

  it.effect.each([{ result }, { approved: false }])(
    "is refused when it is meant for another tool's call: %j",
    (decision) =>
      Effect.gen(function*() {
        const made = yield* Suspended.make()
        const error = yield* Effect.flip(made.decide("1.0", { ...decision, tool: "ask" }))
        assert.deepInclude(error.reason, { _tag: "InvalidInput", field: "tool" })
        assert.strictEqual(
          error.message,
          `question "r/1.0" is about a call of "work", not of "ask"; give the id of the right question, or leave tool out`
        )
        assert.deepStrictEqual(yield* made.waiting, ["1.0"])
        yield* made.decide("1.0", { ...decision, tool: "work" })
      })
  )

  /** Refused by a live run, which continues. */
  const tooLarge = Effect.fnUntraced(function*(decision: object, work = Approvals.kit.tools.work) {
    const approver = Approvals.desk()
    const agent = { toolkit: Approvals.withWork(work) }
    const made = yield* Suspended.before([TestAgent.work(1), ScriptedModel.text("ok")], { approver, agent })
    const run = yield* made.agent.start(Suspended.go)
    yield* approver.asked("1.0")
    const error = yield* Effect.flip(made.decide("1.0", decision))
    assert.strictEqual(error.reason._tag, "EventTooLarge")
    yield* approver.answer("1.0", Approvals.no("too long"))
    assert.strictEqual((yield* run.result)._tag, "Completed")
  })

  it.effect("is refused when an event cannot hold it beside the reason", () =>
    tooLarge({ reason: "x".repeat(SessionStore.maxContentBytes - 100), result: "語".repeat(30_000) }))

  it.effect("is refused when the tool's schema turns it into more than an event holds", () => {
    const success = Schema.String.pipe(Schema.decodeTo(Schema.String, {
      decode: SchemaGetter.transform((text: string) => text.repeat(SessionStore.maxContentBytes)),
      encode: SchemaGetter.passthrough()
    }))
    const work = TestAgent.kit.tools.work.setSuccess(success).setNeedsApproval(true)
    return Effect.provideService(tooLarge({ result }, work as never), ResultLimit, Infinity)
  })

  it.effect("is refused for a tool that is gone", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      const other = yield* Suspended.elsewhere(made, { agent: { toolkit: undefined } as never })
      assert.deepInclude((yield* Effect.flip(other.decide("1.0", { result }))).reason, invalid)
    }))
})

describe("a call that is asked about again and again", () => {
  it.effect("is a loop when the answers are the same", () =>
    Effect.gen(function*() {
      const approver = Approvals.answering(() => ({ approved: true, result }))
      const made = yield* Suspended.before(
        [TestAgent.work(1), TestAgent.work(1), TestAgent.work(1), ScriptedModel.text("ok")],
        { approver }
      )
      yield* made.agent.run(Suspended.go)
      const notices = RunLog.only(yield* made.log, "NoticeAdded").map(({ kind }) => kind)
      assert.deepStrictEqual(notices, ["doomLoop"])
    }))
})
