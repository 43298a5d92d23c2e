/** What a run gives back, made of its state and its end. */
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

  it("of a completed run has its text, and its output by the agent's schema", () => {
    const result = resultOf(...answer, Draft.completed({ turns: 1 }))
    assert.deepInclude(result, { _tag: "Completed", text: "hello", output: 5, turns: 1, sessionId: "session-1" })
  })

  it("of a limited or an aborted run names the reason, and is not asked for its output", () => {
    assert.deepInclude(resultOf(...answer, Draft.limited()), { _tag: "Limited", reason: "turns" })
    assert.deepInclude(resultOf(...answer, Draft.aborted), { _tag: "Aborted", reason: "requested" })
  })

  it("of a suspended run lists the calls that wait, with the arguments they would run with", () => {
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
      approvals: [{ id: "1.1", callId: "1.1", tool: "pay", params: { amount: 3 }, requestedAt: 4 }]
    })
  })

  it.effect("comes also when a content filter leaves text that does not fit the output schema", () =>
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
      // left behind where it hangs, which would hold the test up too
      const result = yield* Effect.forkDetach(Effect.exit(run.result))
      yield* Stream.runDrain(Stream.takeUntil(run.events, RunEvent.isEnd))
      for (let i = 0; i < 100 && result.pollUnsafe() === undefined; i++) yield* Effect.yieldNow
      assert.isDefined(result.pollUnsafe(), "the run has ended, and gives neither a result nor an error")
      yield* Scope.close(scope, Exit.void)
    }))
})

describe("an explanation", () => {
  const ends: ReadonlyArray<RunEvent.Draft> = [
    ...(["stop", "stopWhen", "stopBefore", "contentFilter", "emptyAfterTools", "other"] as const).map((reason) => ({
      ...Draft.completed({ turns: 1, toolCalls: 2 }),
      reason
    })),
    Draft.limited({ turns: 1, toolCalls: 2 }),
    { ...Draft.suspended, totals: { ...Draft.totals, turns: 1, toolCalls: 2 } },
    { ...Draft.aborted, totals: { ...Draft.totals, turns: 1, toolCalls: 2 } }
  ]

  it.each(ends)("of $_tag by $reason is a sentence that says how far it came", (end) => {
    const [event] = Draft.log(end)
    const text = RunResult.explain(event as RunEvent.End)
    assert.match(text, /^[A-Z].*\.$/s)
    assert.include(text, "1 turn and 2 tool calls")
  })

  it.each(RunEvent.LimitedReason.literals)("of the limit %s says what to do about it", (reason) => {
    const [event] = Draft.log({ ...Draft.limited(), reason } as RunEvent.Draft)
    const text = RunResult.explain(event as RunEvent.End)
    const limit = `max${reason[0]!.toUpperCase()}${reason.slice(1)}`
    if (limit in RunPolicy.limitRules) assert.include(text, `Resume it with a higher ${limit}`)
    else assert.match(text, /\. (Give the session a new message|Find out) .+\.$/)
  })

  it("of a failed run has the error's message", () => {
    const [event] = Draft.log({
      _tag: "RunFailed",
      error: { _tag: "NonRetryableError", reason: { _tag: "Unknown", message: "the disk is on fire" } },
      totals: Draft.totals
    })
    assert.include(RunResult.explain(event as RunEvent.End), "the disk is on fire")
  })
})
