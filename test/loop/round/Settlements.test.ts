/** What a custom executor says of a call: the log holds an outcome, whatever that is. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Agent from "../../../src/Agent.ts"
import * as Fiberloop from "../../../src/Fiberloop.ts"
import * as ToolExecutorToolkit from "../../../src/layers/ToolExecutorToolkit.ts"
import type { Hook } from "../../../src/services/Hooks.ts"
import * as SessionStore from "../../../src/services/SessionStore.ts"
import { ToolExecutor } from "../../../src/services/ToolExecutor.ts"
import * as SessionLines from "../../../src/SessionLines.ts"
import * as ScriptedModel from "../../../src/testing/ScriptedModel.ts"
import * as Approvals from "../../support/Approvals.ts"
import * as RunLog from "../../support/RunLog.ts"
import * as TestAgent from "../../support/TestAgent.ts"
import * as TestStore from "../../support/TestStore.ts"
import { unreadable } from "../../support/Unreadable.ts"

const tool = () => Effect.succeed("")

/** An agent with one call of `work`, whose executor has some methods replaced. */
const agentWith = Effect.fnUntraced(function*(
  store: TestStore.TestStore,
  toolkit: typeof TestAgent.kit,
  own: { readonly [Name in keyof ToolExecutor["Service"]]?: (...args: ReadonlyArray<any>) => Effect.Effect<unknown> },
  hooks: ReadonlyArray<Hook> = []
) {
  const context = yield* Layer.build(Layer.mergeAll(
    Fiberloop.layer,
    store.layer,
    ScriptedModel.layer([TestAgent.work(1), ScriptedModel.text("ok")]),
    toolkit.toLayer({ work: tool, look: tool, again: tool } as never),
    Layer.succeed(ToolExecutor, { ...ToolExecutorToolkit.make, ...own } as ToolExecutor["Service"])
  ))
  return yield* Effect.provideContext(Agent.make({ instructions: "", toolkit, hooks }), context)
})

/** The call as the log has it, which can be exported and imported. */
const settledAs = Effect.fnUntraced(function*(settlement: unknown) {
  const store = yield* TestStore.make()
  const agent = yield* agentWith(store, TestAgent.kit, { execute: () => Effect.succeed(settlement) })
  assert.strictEqual((yield* agent.run({ sessionId: "s", input: "go" }))._tag, "Completed")
  const log = yield* store.log("s")
  const lines = yield* Effect.provideService(
    Stream.runCollect(SessionLines.toLines("s")),
    SessionStore.SessionStore,
    store.service
  )
  const { events } = yield* SessionLines.decode(Stream.fromIterable(lines))
  assert.deepStrictEqual(events, log)
  const { _tag, at: _1, callId: _2, duration: _3, runId: _4, seq: _5, tool: _6, turn: _7, version: _8, ...said } =
    RunLog.only(log, "ToolSettled")[0]!
  return said
})

describe("what an executor returns", () => {
  const cyclic: Record<string, unknown> = {}
  cyclic["self"] = cyclic
  const odd: ReadonlyArray<readonly [string, unknown]> = [
    ["nothing", undefined],
    ["a text", "done"],
    ["no result", { _tag: "Succeeded" }],
    ["a result that is no JSON", { _tag: "Succeeded", result: { a: 1n } }],
    ["a result that holds itself", { _tag: "Failed", result: cyclic }],
    ["a tag that nobody knows", { _tag: "Fine", result: 1 }],
    ["half of another outcome", { _tag: "TimedOut", limit: "long" }]
  ]
  it.effect.each(odd)(
    "instead of an outcome settles the call as unknown: %s",
    ([, outcome]) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* settledAs({ outcome }), { outcome: { _tag: "OutcomeUnknown" } })
      })
  )

  it.effect("besides an outcome is left out, and an invalid number counts as zero", () =>
    Effect.gen(function*() {
      const outcome = { _tag: "Succeeded", result: { a: [1, { b: null }] } }
      const usage = { inputTokens: "9", outputTokens: NaN }
      const said = yield* settledAs({ outcome, usage, originalSize: "long", seq: 77, _tag: "RunCompleted" })
      assert.deepStrictEqual<unknown>(said, { outcome, usage: { inputTokens: 0, outputTokens: 0 } })
    }))

  it.effect("stays its own, to change later", () =>
    Effect.gen(function*() {
      const given = { outcome: { _tag: "Succeeded", result: { a: [1] } }, usage: { inputTokens: 1, outputTokens: 2 } }
      yield* settledAs(given)
      given.outcome.result.a.push(2)
      given.usage.inputTokens++
      assert.deepStrictEqual([given.outcome.result, given.usage.inputTokens], [{ a: [1, 2] }, 2])
    }))

  it.effect("for a person's answer is stored as it was, whatever it changes in that later", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const result = Object.freeze({ a: { n: 1 } })
      const agent = yield* agentWith(store, Approvals.kit as never, { answeredWith: () => Effect.succeed({ result }) })
      yield* agent.run({ sessionId: "s", runId: "r", input: "go" })
      yield* agent.decide({ sessionId: "s", approvalId: "r/1.0", approved: true, result: "yes" })
      result.a.n = 2
      yield* Stream.runDrain(agent.resume({ sessionId: "s" }))
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.only(log, "ApprovalResolved")[0]?.result, { a: { n: 1 } })
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded"])
    }))

  it.effect("as progress cannot be written into by a hook", () =>
    Effect.gen(function*() {
      const inner = { n: 1 }
      const outcome = { _tag: "Succeeded", result: 1 }
      const execute = (...[, , observer]: Parameters<ToolExecutor["Service"]["execute"]>) =>
        Effect.as(observer.progress(Object.freeze({ inner })), { outcome })
      const write: Hook = {
        name: "writes",
        afterToolCall: ({ outcome }) =>
          Effect.sync(() => {
            const { result } = outcome as { readonly result: number | { readonly inner: object } }
            if (typeof result === "object") Reflect.set(result.inner, "n", 5)
          })
      }
      const agent = yield* agentWith(yield* TestStore.make(), TestAgent.kit, { execute }, [write])
      const events = yield* Stream.runCollect(agent.stream({ sessionId: "s", input: "go" }))
      const shown = RunLog.only(events, "ToolProgress").map(({ value }) => value)
      assert.deepStrictEqual([inner, shown], [{ n: 1 }, [{ inner: { n: 1 } }]])
    }))

  it.effect("for a call that it left behind is stored, or is unknown if invalid", () =>
    Effect.gen(function*() {
      const result = { a: { n: 1 } }
      const cases: ReadonlyArray<readonly [told: object, outcome: object]> = [
        [{ _tag: "Failed", result }, { _tag: "Failed", result: { a: { n: 1 } } }],
        [{ _tag: "Fine", result }, { _tag: "OutcomeUnknown" }]
      ]
      for (const [told, outcome] of cases) {
        const store = yield* TestStore.make()
        const begun = yield* Deferred.make<void>()
        const execute = (...[, , observer]: Parameters<ToolExecutor["Service"]["execute"]>) =>
          Effect.onInterrupt(
            Effect.andThen(Deferred.succeed(begun, undefined), Effect.never),
            () =>
              Effect.andThen(
                observer.leftBehind(Object.freeze(told) as never),
                Effect.sync(() => result.a.n++)
              )
          )
        const agent = yield* agentWith(store, TestAgent.kit, { execute })
        const run = yield* agent.start({ sessionId: "s", input: "go" })
        yield* Deferred.await(begun)
        yield* run.abort
        const [settled] = RunLog.only(yield* store.log("s"), "ToolSettled")
        assert.deepStrictEqual<unknown>(settled?.outcome, outcome)
      }
    }))

  it.effect("beside a result is left out, even what no log could hold", () =>
    Effect.gen(function*() {
      for (const debug of [1n, new Uint8Array(2)]) {
        const outcome = { _tag: "Succeeded", result: 1, debug }
        assert.deepStrictEqual<unknown>(yield* settledAs({ outcome }), { outcome: { _tag: "Succeeded", result: 1 } })
      }
    }))

  it.effect.each([undefined, null, "done"])("is no settlement at all: %j", (given) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* settledAs(given), { outcome: { _tag: "OutcomeUnknown" } })
    }))

  it.effect.each(Object.keys(unreadable))("is no settlement at all: %s", (name) =>
    Effect.gen(function*() {
      const odd = unreadable[name]!()
      for (const given of [odd, { outcome: odd }]) {
        assert.deepStrictEqual(yield* settledAs(given), { outcome: { _tag: "OutcomeUnknown" } })
      }
    }))

  it.effect("is stored when it is complete", () =>
    Effect.gen(function*() {
      const given = {
        outcome: { _tag: "TimedOut", limit: 5 },
        originalSize: 40_000,
        usage: { inputTokens: 1, outputTokens: 2, cost: 0.5 }
      }
      assert.deepStrictEqual<unknown>(yield* settledAs(given), given)
      const date = yield* settledAs({ outcome: { _tag: "Succeeded", result: { at: new Date(0) } } })
      assert.deepStrictEqual<unknown>(date, {
        outcome: { _tag: "Succeeded", result: { at: "1970-01-01T00:00:00.000Z" } }
      })
    }))
})
