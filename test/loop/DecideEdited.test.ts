/** A yes with edited arguments: checked against the tool, both versions kept, and the model told what ran. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { Json } from "effect/Schema"
import type * as Approver from "../../src/services/Approver.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Suspended from "../support/Suspended.ts"
import * as TestAgent from "../support/TestAgent.ts"

const edited = { params: { n: 9 } }
const told = (result: Json) => [{ note: "Ran with edited arguments.", arguments: { n: 9 }, result }]

/** The arguments in the log, from the model's call to the outcome. */
const versions = Effect.fnUntraced(function*({ log, script }: Suspended.Suspended) {
  const events = yield* log
  const calls = (yield* script.requests).at(-1)!.messages.flatMap(({ content, role }) =>
    role === "assistant" ? content : []
  )
  return {
    asked: RunLog.only(events, "ApprovalRequested").map(({ params }) => params),
    decided: RunLog.only(events, "ApprovalResolved").map(({ params }) => params),
    started: RunLog.only(events, "ToolStarted").map(({ params }) => params),
    settled: RunLog.only(events, "ToolSettled").map(({ edited }) => edited),
    shown: calls.flatMap((part) => part.type === "tool-call" ? [part.params] : [])
  }
})

describe("edited arguments", () => {
  it.effect("are what the call runs with; the model's own stay in the log and in what it is shown", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      yield* made.decide("1.0", edited)
      yield* made.resume()
      assert.deepStrictEqual(made.ran, [9])
      assert.deepStrictEqual(yield* versions(made), {
        asked: [{ n: 1 }],
        decided: [{ n: 9 }],
        started: [{ n: 9 }],
        settled: [{ n: 9 }],
        shown: [{ n: 1 }]
      })
      assert.deepStrictEqual(yield* made.read, told("done 9"))
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))

  it.effect("are shown to the model with a failure, too", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make(TestAgent.work(1), { tool: () => Effect.fail("no money") })
      yield* made.decide("1.0", edited)
      yield* made.resume()
      assert.deepStrictEqual(yield* made.read, told("no money"))
    }))

  it.effect("are shown to the model when the call was cut off", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const approver = Approvals.desk()
      const made = yield* Suspended.before([TestAgent.work(1)], {
        approver,
        tool: () => Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
      })
      const run = yield* made.agent.start(Suspended.go)
      yield* approver.asked("1.0")
      yield* made.decide("1.0", edited)
      yield* Deferred.await(started)
      yield* run.abort
      const [settled] = RunLog.only(yield* made.log, "ToolSettled")
      assert.deepInclude(settled, { outcome: { _tag: "Interrupted" }, edited: { n: 9 } })
    }))

  it.effect("that the tool does not accept are refused, and the question stays open", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      const head = made.store.head("s")
      const odd = [{}, { n: "9" }, null, [], "x", { n: 1n }] as ReadonlyArray<unknown>
      for (const params of odd) {
        const { reason } = yield* Effect.flip(made.decide("1.0", { params: params as Json }))
        assert.deepInclude(reason, { _tag: "InvalidInput", field: "params" })
      }
      assert.strictEqual(made.store.head("s"), head)
      assert.deepStrictEqual(yield* made.waiting, ["1.0"])
    }))

  it.effect("name what is wrong with them", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      const { message } = yield* Effect.flip(made.decide("1.0", { params: { n: "9" } }))
      assert.match(message, /tool "work".*\n?.*\["n"\]/s)
    }))

  it.effect("are refused together with a no", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      const { reason } = yield* Effect.flip(made.decide("1.0", { ...edited, approved: false }))
      assert.deepInclude(reason, { _tag: "InvalidInput", field: "params" })
      assert.include(reason.message, "need approved: true; leave them out to say no")
      assert.deepStrictEqual(yield* made.waiting, ["1.0"])
    }))

  it.effect("are refused for a tool that is gone", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make(ScriptedModel.call("work", { n: 1 }))
      const toolkit = { toolkit: undefined } as never
      const other = yield* Suspended.elsewhere(made, { agent: toolkit })
      const { reason } = yield* Effect.flip(other.decide("1.0", edited))
      assert.deepInclude(reason, { _tag: "InvalidInput", field: "params" })
    }))

  it.effect("given to a live run take effect at once", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Suspended.before([TestAgent.work(1), ScriptedModel.text("ok")], { approver })
      const run = yield* made.agent.start(Suspended.go)
      yield* approver.asked("1.0")
      const { reason } = yield* Effect.flip(made.decide("1.0", { params: { n: "9" } }))
      assert.strictEqual(reason._tag, "InvalidInput")
      yield* made.decide("1.0", edited)
      yield* run.result
      assert.deepStrictEqual(made.ran, [9])
      assert.deepStrictEqual(yield* made.read, told("done 9"))
    }))
})

describe("the approver here", () => {
  it.effect("may edit them", () =>
    Effect.gen(function*() {
      const approver = Approvals.answering(() => ({ approved: true, by: "ann", ...edited }))
      const made = yield* Suspended.make(TestAgent.work(1), { approver })
      assert.deepStrictEqual(made.ran, [9])
      assert.deepStrictEqual(yield* made.read, told("done 9"))
    }))

  it.effect("denies the call with arguments that the tool does not accept, and the model reads why", () =>
    Effect.gen(function*() {
      const approver = Approvals.answering(() => ({ approved: true, params: { n: "9" } }))
      const made = yield* Suspended.make(TestAgent.work(1), { approver })
      assert.deepStrictEqual(made.ran, [])
      const [result] = yield* made.read
      assert.match(String(result), /^Denied: the call was to run with other arguments, but .*\["n"\]/s)
      assert.deepStrictEqual(RunLog.only(yield* made.log, "ApprovalResolved").map(({ approved }) => approved), [false])
    }))

  it.effect("are ignored unless they come with a yes", () =>
    Effect.gen(function*() {
      const answer = { approved: false, ...edited } as unknown as Approver.Answer
      const made = yield* Suspended.make(TestAgent.work(1), { approver: Approvals.answering(() => answer) })
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.0 Denied"])
      assert.deepStrictEqual(RunLog.only(yield* made.log, "ApprovalResolved").map(({ params }) => params), [undefined])
    }))
})
