/** Masking precedes storage: what a guard removes from an outcome is nowhere, not in the log, the events, or a request. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import type * as ToolOutcome from "../../src/run/ToolOutcome.ts"
import type { Hook } from "../../src/services/Hooks.ts"
import * as Reconciler from "../../src/services/Reconciler.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as BrokenHooks from "../support/BrokenHooks.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as Traces from "../support/Traces.ts"

const secret = "4111-1111"
const go = { sessionId: "s", runId: "r", input: "go" }

const masker: Hook = {
  name: "masker",
  afterToolCall: ({ outcome }) =>
    Effect.sync(() => ({ outcome: JSON.parse(JSON.stringify(outcome).replaceAll(secret, "****")) }))
}

/** Everything that anyone can see of a run, as text, except what its hooks were shown. */
const play = Effect.fnUntraced(function*(hooks: ReadonlyArray<Hook>, tool: TestAgent.Handler) {
  const logs: Array<string> = []
  const { spans, tracer } = Traces.make()
  const made = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok")], { agent: { hooks }, tool })
  const events: Array<RunEvent.RunEvent> = []
  yield* made.agent.stream(go).pipe(
    Stream.runForEach((event) => Effect.sync(() => events.push(event))),
    Effect.exit,
    Effect.withSpan("app"),
    Effect.withTracer(tracer),
    Effect.provide(Logger.layer([Logger.make((options) => void logs.push(Logger.formatJson.log(options)))])),
    Effect.provideService(References.MinimumLogLevel, "Trace")
  )
  const described = spans.map(({ attributes, events, name, status }) => [
    name,
    [...attributes],
    events.map(([name, , more]) => [name, more]),
    status._tag === "Ended" && status.exit._tag === "Failure" ? String(status.exit.cause) : ""
  ])
  const log = yield* made.store.log("s")
  const all = [events, log, yield* made.script.requests, logs, described]
  return {
    text: JSON.stringify(all, (_, value: unknown) => typeof value === "bigint" ? `${value}` : value),
    outcome: RunLog.only(log, "ToolSettled")[0]?.outcome,
    progress: RunLog.only(events, "ToolProgress").map((event) => event.value),
    spans: spans.length
  }
})

/** Reports its progress before it is done. */
const telling = (...told: ReadonlyArray<string>): TestAgent.Handler =>
  ((_: unknown, { preliminary }: { preliminary: (text: string) => Effect.Effect<void> }) =>
    Effect.as(Effect.forEach(told, preliminary, { discard: true }), `card ${secret}`)) as never

describe("what a masker removes", () => {
  const results: Readonly<Record<string, readonly [TestAgent.Handler, ToolOutcome.ToolOutcome]>> = {
    "of a result": [() => Effect.succeed(`card ${secret}`), { _tag: "Succeeded", result: "card ****" }],
    "of a failure": [() => Effect.fail(`card ${secret}`), { _tag: "Failed", result: "card ****" }],
    "of a defect": [
      () => Effect.die(new Error(secret)),
      { _tag: "Failed", result: "The tool failed unexpectedly: ****" }
    ]
  }
  for (const [name, [tool, outcome]] of Object.entries(results)) {
    it.effect(`${name} is nowhere`, () =>
      Effect.gen(function*() {
        const seen = yield* play([masker], tool)
        assert.deepStrictEqual(seen.outcome, outcome)
        assert.notInclude(seen.text, secret)
        assert.isAbove(seen.spans, 0)
      }))
  }

  it.effect("of progress is nowhere", () =>
    Effect.gen(function*() {
      const { progress, text } = yield* play([masker], telling("a", `at ${secret}`))
      assert.deepStrictEqual(progress, ["a", "at ****"])
      assert.notInclude(text, secret)
    }))

  it.effect("of what a reconciler knows of a call is nowhere, in a resumed run and before a new one", () =>
    Effect.gen(function*() {
      const known = Effect.provideService(Reconciler.Reconciler, {
        reconcile: () => Effect.succeed({ _tag: "Done", result: secret })
      })
      const goOn = {
        resumed: (agent: TestAgent.TestAgent["agent"]) => Stream.runDrain(agent.resume({ sessionId: "s" })),
        anew: (agent: TestAgent.TestAgent["agent"]) => agent.run({ sessionId: "s", input: "hello" })
      }
      for (const go of Object.values(goOn)) {
        const store = yield* DeadRun.left({ wasAborted: false })
        const { agent, script } = yield* TestAgent.make([ScriptedModel.text("ok")], {
          store,
          agent: { hooks: [masker] }
        })
        yield* known(Effect.asVoid<unknown, unknown, Scope.Scope>(go(agent)))
        const log = yield* store.log("s")
        assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded", "1.1 Succeeded"])
        assert.notInclude(JSON.stringify([log, yield* script.requests]), secret)
      }
    }))
})

describe("when a masker gives no usable answer", () => {
  for (const [way, break_] of Object.entries(BrokenHooks.ways)) {
    it.effect(`the result is withheld: it ${way}`, () =>
      Effect.gen(function*() {
        const { outcome, text } = yield* play([BrokenHooks.at("afterToolCall", break_)], () => Effect.succeed(secret))
        const why = way === "is late" ? "took more than 10000 ms, its timeout" : "failed"
        assert.deepStrictEqual(outcome, {
          _tag: "Failed",
          result: `The call ran, and its result is withheld: the hook "broken" ${why}.`
        })
        assert.notInclude(text, secret)
        assert.notInclude(text, BrokenHooks.canary)
      }))
  }

  it.effect("progress is left out, and the call continues", () =>
    Effect.gen(function*() {
      const hook: Hook = {
        name: "m",
        afterToolCall: ({ isPreliminary, outcome }) =>
          isPreliminary && JSON.stringify(outcome).includes(secret) ? Effect.fail("no") : Effect.void
      }
      const { outcome, progress } = yield* play([hook], telling("a", `at ${secret}`, "c"))
      assert.deepStrictEqual(progress, ["a", "c"])
      assert.deepStrictEqual(outcome, { _tag: "Succeeded", result: `card ${secret}` })
    }))

  it.effect("invalid arguments stay so, without a word of what was wrong with them", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make(
        [ScriptedModel.call("work", { n: secret }), ScriptedModel.text("ok")],
        { agent: { hooks: [BrokenHooks.at("afterToolCall", () => Effect.fail("no"))] } }
      )
      yield* agent.run(go)
      assert.deepStrictEqual(RunLog.only(yield* store.log("s"), "ToolSettled")[0]!.outcome, {
        _tag: "InvalidArguments",
        message: `what is wrong with them is withheld: the hook "broken" failed.`
      })
    }))

  it.effect("another hook's answer is withheld too, and the call counts as not run", () =>
    Effect.gen(function*() {
      const answering: Hook = {
        name: "cache",
        beforeToolCall: () => Effect.succeed({ _tag: "Answer", result: secret })
      }
      const { outcome, text } = yield* play(
        [answering, BrokenHooks.at("afterToolCall", () => Effect.fail("no"))],
        () => Effect.succeed("")
      )
      assert.deepStrictEqual(outcome, {
        _tag: "Failed",
        result: `The call did not run, and what answers it is withheld: the hook "broken" failed.`
      })
      assert.notInclude(text, secret)
    }))

  it.effect("the withheld result counts as an error, and ends a run that does not continue on errors", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([TestAgent.work(1)], {
        agent: {
          hooks: [BrokenHooks.at("afterToolCall", () => Effect.fail("no"))],
          toolPolicy: { continueOnError: false }
        }
      })
      const error = yield* Effect.flip(agent.run(go))
      assert.strictEqual(error.reason._tag, "ToolFailed")
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunFailed(ToolFailed)")
    }))
})

it.effect("an observer sees outcomes, but no preliminary ones", () =>
  Effect.gen(function*() {
    const seen: Array<boolean> = []
    const observer: Hook = {
      name: "o",
      kind: "observer",
      afterToolCall: ({ isPreliminary }) => Effect.sync(() => void seen.push(isPreliminary))
    }
    const { progress } = yield* play([observer], telling("a"))
    assert.deepStrictEqual(seen, [false])
    assert.deepStrictEqual(progress, ["a"])
  }))
