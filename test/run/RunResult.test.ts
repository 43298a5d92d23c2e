/** What a run returns, made from its state and its end. */
import { assert, describe, it } from "@effect/vitest"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as Message from "../../src/run/Message.ts"
import * as RunError from "../../src/run/RunError.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunPolicy from "../../src/run/RunPolicy.ts"
import * as RunResult from "../../src/run/RunResult.ts"
import * as RunState from "../../src/run/RunState.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Draft from "../support/Drafts.ts"

type Ended = Parameters<typeof RunResult.fromState>[2]

const resultOf = (...drafts: ReadonlyArray<Draft.Placed>) => {
  const log = Draft.log(...drafts)
  const state = log.reduce(RunState.evolve, RunState.empty)
  return RunResult.fromState("session-1", state, state.end as Ended, (text) => text.length)
}

describe("a result", () => {
  const answer = [Draft.started("x"), Draft.assistant([Message.text("hello")])]

  it("of a completed run has its text, and its output according to the agent's schema", () => {
    const result = resultOf(...answer, Draft.completed({ turns: 1 }))
    assert.deepInclude(result, { _tag: "Completed", text: "hello", output: 5, turns: 1, sessionId: "session-1" })
  })

  it("of a limited or aborted run names the reason, and does not need an output", () => {
    assert.deepInclude(resultOf(...answer, Draft.limited()), { _tag: "Limited", reason: "turns" })
    assert.deepInclude(resultOf(...answer, Draft.aborted), { _tag: "Aborted", reason: "requested" })
  })

  it("of a suspended run lists the waiting calls, with the arguments they would run with", () => {
    const calls = Draft.assistant([Draft.call("search"), Draft.call("pay", { amount: 3 })])
    const result = resultOf(
      Draft.started("x"),
      calls,
      Draft.settled("1.0", "ok"),
      { ...Draft.approvalRequested("1.1"), params: { amount: 3 } },
      Draft.suspended
    )
    assert.deepInclude(result, {
      _tag: "Suspended",
      approvals: [{
        id: "1.1",
        sessionId: "session-1",
        agent: "assistant",
        callId: "1.1",
        tool: "pay",
        params: { amount: 3 },
        requestedAt: 4
      }]
    })
  })

  it("of a suspended run whose questions have since been answered says that it is to be resumed", () => {
    const result = resultOf(
      Draft.started("x"),
      Draft.assistant([Draft.call("pay")]),
      Draft.approvalRequested("1.0"),
      Draft.suspended,
      Draft.approvalResolved("1.0")
    )
    assert.deepInclude(result, { _tag: "Suspended", approvals: [] })
    assert.match(result.explain, /^No question of the run is open any more, .*; resume the run\.$/)
  })

  it("of a suspended run whose questions are over says that a new message goes on", () => {
    const result = resultOf(
      Draft.started("x"),
      Draft.assistant([Draft.call("pay")]),
      Draft.approvalRequested("1.0"),
      Draft.suspended,
      Draft.settled("1.0", { _tag: "Denied", reason: "superseded" })
    )
    assert.deepInclude(result, { _tag: "Suspended", approvals: [] })
    assert.match(result.explain, /^The run waited .* until another one followed .*; give the session a new message /)
  })

  it.effect("is returned even if a content filter leaves text that does not fit the output schema", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const services = Layer.mergeAll(
        Fiberloop.layer,
        SessionStoreMemory.layer,
        ScriptedModel.layer([[ScriptedModel.text("{"), ScriptedModel.finish("content-filter")]])
      )
      const context = yield* Layer.buildWithScope(services, scope)
      const made = Agent.make({ instructions: "x", output: Schema.Struct({ a: Schema.Finite }) })
      const agent = yield* Effect.provide(made, context as Context.Context<any>)
      const run = yield* agent.start({ input: "hello" })
      // left behind if it hangs, which would hold up the test too
      const result = yield* Effect.forkDetach(Effect.exit(run.result))
      yield* Stream.runDrain(Stream.takeUntil(run.events, RunEvent.isEnd))
      for (let i = 0; i < 100 && result.pollUnsafe() === undefined; i++) yield* Effect.yieldNow
      assert.isDefined(result.pollUnsafe(), "the run has ended, and gives neither a result nor an error")
      yield* Scope.close(scope, Exit.void)
    }))
})

describe("an explanation", () => {
  const far = { ...Draft.totals, turns: 1, toolCalls: 2 }
  const reasonsOf = (error: typeof RunError.Stored) =>
    error.members.flatMap((member) =>
      member.fields.reason.members.map(({ fields }) => ({
        _tag: member.fields._tag.schema.literal,
        reason: { _tag: fields._tag.schema.literal, message: "the disk is on fire" }
      } as RunError.Stored))
    )
  const ends: ReadonlyArray<readonly [name: string, end: RunEvent.Draft]> = [
    ...RunEvent.CompletedReason.literals.map((reason) => ({ _tag: "RunCompleted", reason, totals: far } as const)),
    ...RunEvent.LimitedReason.literals.map((reason) => ({ _tag: "RunLimited", reason, totals: far } as const)),
    ...RunEvent.SuspendedReason.literals.map((reason) => ({ _tag: "RunSuspended", reason, totals: far } as const)),
    ...RunEvent.AbortedReason.literals.map((reason) => ({ _tag: "RunAborted", reason, totals: far } as const)),
    ...reasonsOf(RunError.Stored).map((error) => ({ _tag: "RunFailed", error, totals: far } as const))
  ].map((end) => [`${end._tag} by ${end._tag === "RunFailed" ? end.error.reason._tag : end.reason}`, end] as const)

  const endOf = (draft: RunEvent.Draft) => Draft.log(draft)[0] as RunEvent.End

  it.each(ends)("of %s is one sentence that says why, and how far the run got", (_, draft) => {
    const text = RunResult.explain(endOf(draft))
    assert.match(text, /^[A-Z][^.\n]*\.$/)
    assert.include(text, "1 turn and 2 tool calls")
    assert.notInclude(text, "undefined")
    // "it" may be the run, its session or its process
    assert.notMatch(text, /resum\w+ it\b|\bit can be\b|start it\b/)
    if (draft._tag === "RunFailed") assert.match(text, /because [^:]+: the disk is on fire; \w+/)
  })

  it("differs for each reason", () => {
    const texts = ends.map(([, draft]) => RunResult.explain(endOf(draft)))
    assert.strictEqual(new Set(texts).size, texts.length)
  })

  it.each(RunEvent.LimitedReason.literals)("of the limit %s says what to do about it", (reason) => {
    const text = RunResult.explain(endOf({ ...Draft.limited(), reason }))
    const limit = `max${reason[0]!.toUpperCase()}${reason.slice(1)}`
    if (limit in RunPolicy.limitRules) assert.include(text, `; resume the run with a higher ${limit}`)
    else assert.match(text, /; (give the session a new message|find out) .+\.$/)
  })

  it("of a run whose caller left is true of run too, which has no reader", () => {
    const text = RunResult.explain(endOf({ ...Draft.aborted, reason: "consumer" }))
    assert.match(text, /^The run was aborted because its caller was interrupted, or stopped reading its events, after /)
  })

  it("of a shutdown says how many messages wait for the run to go on", () => {
    const shutDown = (kept: ReadonlyArray<number>) =>
      RunResult.explain(endOf({ ...Draft.aborted, reason: "shutdown", kept }))
    assert.match(shutDown([3]), /; the run can be resumed, and is then given 1 message that /)
    assert.match(shutDown([3, 4]), / is then given 2 messages that /)
    assert.match(shutDown([]), /; the run can be resumed\.$/)
  })

  it("of a suspension says so of what an earlier process left", () => {
    const suspended = (kept: ReadonlyArray<number>) => RunResult.explain(endOf({ ...Draft.suspended, kept }))
    assert.match(suspended([3]), /; then resume the run, and is then given 1 message/)
    assert.match(suspended([]), /; then resume the run\.$/)
  })

  it("of a store that did not answer says so too", () => {
    const away = (kept: ReadonlyArray<number>) =>
      RunResult.explain(endOf({ ...Draft.failed("StoreUnavailable"), kept, totals: far }))
    assert.match(away([3]), /; the run can be resumed when the store is back, and is then given 1 message that /)
    assert.match(away([]), /; the run can be resumed when the store is back\.$/)
  })

  it("of a store that refuses says what is wrong with it, and to do what its message says", () => {
    const message = "This server has no database \"shop\". Create it, or correct the url."
    assert.strictEqual(
      RunResult.explain(new RunError.NonRetryableError({ _tag: "StoreRefused", message })),
      "The run failed because the store cannot be used as it is: This server has no database \"shop\". Create it, or correct the " +
        "url; put the store right as that says, then resume the run."
    )
  })

  it("of a result is that of its end", () => {
    const result = resultOf(Draft.started("x"), Draft.limited({ turns: 3 }))
    assert.strictEqual(RunResult.explain(result), RunResult.explain(endOf(Draft.limited({ turns: 3 }))))
  })

  it("is on one line, even for a message with several", () => {
    const error = RunError.invalidOutput("Expected string\n  at [\"answer\"]\r\n\tbut got 1.\n")
    const said = "fit the agent's output schema: Expected string at [\"answer\"] but got 1; resume the run"
    assert.include(RunResult.explain(error), said)
    const failed = endOf({ _tag: "RunFailed", error: RunError.toStored(error), totals: far })
    for (const text of [RunResult.explain(failed), RunResult.outcome(failed)]) assert.notMatch(text, /[\n\r\t]/)
  })

  it("of a failed run's error says why, and what to do", () => {
    assert.strictEqual(
      RunResult.explain(RunError.invalidOutput("no JSON.")),
      "The run failed because the model did not keep to the output schema: the model's final answer does not fit " +
        "the agent's output schema: no JSON; resume the run for another try, or loosen the schema."
    )
  })
})
