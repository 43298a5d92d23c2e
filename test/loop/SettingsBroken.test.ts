/** Settings of the application that break, or are none: what a caller gets is typed, and nothing is stored. */
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { ResultLimit } from "../../src/layers/ToolExecutorToolkit.ts"
import type * as RunError from "../../src/run/RunError.ts"
import { Approver } from "../../src/services/Approver.ts"
import { Grace } from "../../src/services/Grace.ts"
import { Hooks } from "../../src/services/Hooks.ts"
import { Ids } from "../../src/services/Ids.ts"
import { Observers } from "../../src/services/Observers.ts"
import { Prices } from "../../src/services/Prices.ts"
import { Reconciler } from "../../src/services/Reconciler.ts"
import { RecordContent } from "../../src/services/RecordContent.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import { Tokenizer } from "../../src/services/Tokenizer.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as TestAgent from "../support/TestAgent.ts"

const observe = () => Effect.void
const noIds =
  "Ids must be an object whose next is an Effect of a new id, such as { next: Effect.sync(() => crypto.randomUUID()) }"
const noGrace = "Grace must be a Duration of at least 0, such as Duration.seconds(5)"
const noPrices = "Prices must be a function from a model to its price, as Prices.table returns it"
const noTokenizer = "Tokenizer must be an object whose count is a function from a text to its number of tokens"
const noApprover = "Approver must be an object whose ask is a function from a question to an Effect of the answer"
const noReconciler =
  "Reconciler must be an object whose reconcile is a function from a question to an Effect of the answer"

type Run = Effect.Effect<unknown, RunError.RunError>

const scenarios: Record<string, readonly [broken: (run: Run) => Run, says: string]> = {
  "ids that die": [Effect.provideService(Ids, { next: Effect.die(new Error("SECRET")) }), "Unknown"],
  "ids that interrupt themselves": [Effect.provideService(Ids, { next: Effect.interrupt }), "Unknown"],
  "hooks of which one is none": [Effect.provideService(Hooks, [undefined as never]), "hooks must be a list of hooks"],
  "a hook that would never run": [
    Effect.provideService(Hooks, [{ name: "h", beforeTool: () => Effect.fail("no") } as never]),
    "the hook \"h\" has no \"beforeTool\"; it has beforeModelCall, afterModelCall, beforeToolCall, afterToolCall"
  ],
  "a hook whose time limit is not a duration": [
    Effect.provideService(Hooks, [{ name: "h", timeout: "soon" as never, beforeModelCall: () => Effect.void }]),
    "the timeout of the hook \"h\" must be a duration of at least 1 millisecond; it is \"soon\""
  ],
  "hooks that are no list": [Effect.provideService(Hooks, {} as never), "hooks must be a list of hooks"],
  "observers of which one is none": [
    Effect.provideService(Observers, [null as never]),
    "observers must be a list of observers"
  ],
  "an observer that nobody can name": [
    Effect.provideService(Observers, [{ name: "own", observe }, { observe } as never]),
    "observers[1].name must be a text, which names it in the log"
  ],
  "an observer of a blank name": [
    Effect.provideService(Observers, [{ name: " ", observe }]),
    "observers[0].name must be a text, which names it in the log"
  ],
  "an observer that does not observe": [
    Effect.provideService(Observers, [{ name: "o", onEvent: observe } as never]),
    "observe of the observer \"o\" must be a function from a batch of events to an Effect"
  ],
  "an observer that is an effect instead of a function": [
    Effect.provideService(Observers, [{ name: "o", observe: Effect.void as never }]),
    "observe of the observer \"o\" must be a function from a batch of events to an Effect"
  ],
  "ids that are nothing": [Effect.provideService(Ids, undefined as never), noIds],
  "a function for ids": [Effect.provideService(Ids, { next: (() => "id") as never }), noIds],
  "a promise of an id": [Effect.provideService(Ids, { next: Promise.resolve("id") as never }), noIds],
  "a text for the grace period": [Effect.provideService(Grace, "5 seconds" as never), noGrace],
  "a number for the grace period": [Effect.provideService(Grace, 5000 as never), noGrace],
  "a grace period below nothing": [Effect.provideService(Grace, Duration.millis(-1)), noGrace],
  "a table of prices instead of a function": [
    Effect.provideService(Prices, { m: { input: 1, output: 1 } } as never),
    noPrices
  ],
  "a function for a tokenizer": [
    Effect.provideService(Tokenizer, ((text: string) => text.length) as never),
    noTokenizer
  ],
  "a tokenizer that is nothing": [Effect.provideService(Tokenizer, null as never), noTokenizer],
  "a function for an approver": [Effect.provideService(Approver, (() => Effect.undefined) as never), noApprover],
  "an approver that is a promise": [Effect.provideService(Approver, Promise.resolve() as never), noApprover],
  "a reconciler that knows nothing": [Effect.provideService(Reconciler, { reconcile: true as never }), noReconciler],
  "a text that says not to record content": [
    Effect.provideService(RecordContent, "false" as never),
    "RecordContent must be true or false"
  ],
  "the options of a policy instead of one": [
    Effect.provideService(RetryPolicy.RetryPolicy, { maxRetries: 0 } as never),
    "retry must be a policy, as RetryPolicy.make returns it"
  ],
  "the options of a policy for a provider": [
    Effect.provideService(
      RetryPolicy.RetryPolicy,
      Object.assign(RetryPolicy.make(), { providers: { test: { maxRetries: 0 } as never } })
    ),
    "retry.providers.test must be a policy, as RetryPolicy.make returns it"
  ],
  "observers that are nothing": [
    Effect.provideService(Observers, undefined as never),
    "observers must be a list of observers"
  ],
  "a limit of results below nothing": [
    Effect.provideService(ResultLimit, -5),
    "ResultLimit must be a whole number of at least 0, or Infinity; it is -5"
  ],
  "a limit of results that is no number": [
    Effect.provideService(ResultLimit, NaN),
    "ResultLimit must be a whole number of at least 0, or Infinity; it is NaN"
  ],
  "a limit of results in a text": [
    Effect.provideService(ResultLimit, "30000" as never),
    "ResultLimit must be a whole number of at least 0, or Infinity; it is \"30000\""
  ]
}

describe("a run", () => {
  for (const [name, [broken, says]] of Object.entries(scenarios)) {
    it.effect(`with ${name} fails with a typed error, and the next one runs`, () =>
      Effect.gen(function*() {
        const { agent, store } = yield* TestAgent.make([ScriptedModel.text("done")], {
          agent: { hooks: [{ name: "own", beforeModelCall: () => Effect.void }] }
        })
        const { message, reason } = yield* Effect.flip(broken(agent.run({ input: "go" })))
        assert.strictEqual(reason._tag === "InvalidInput" ? reason.message : reason._tag, says)
        assert.notInclude(message, "SECRET")
        assert.strictEqual(store.appends.length, 0)
        assert.strictEqual((yield* agent.run({ input: "go" }))._tag, "Completed")
      }))
  }
})

describe("what is said to a run that lives elsewhere", () => {
  it.effect.each(
    [
      ["die", Effect.die(new Error("SECRET")), { _tag: "Unknown" }],
      ["interrupt themselves", Effect.interrupt, { _tag: "Unknown" }],
      ["are empty", Effect.succeed(""), { _tag: "InvalidInput", field: "id" }],
      ["are no text", Effect.succeed(7 as never), { _tag: "InvalidInput", field: "id" }]
    ] as const
  )(
    "fails with a typed error, and nothing of it is stored, where the ids that it is to be sent under %s",
    ([, next, reason]) =>
      Effect.gen(function*() {
        const approver = Approvals.desk()
        const there = yield* Approvals.make([TestAgent.work(1)], { approver })
        const run = yield* there.agent.start({ sessionId: "s", runId: "r", input: "go" })
        yield* approver.asked("1.0")
        const { agent } = yield* Approvals.make([], { store: there.store })
        const before = yield* there.store.log("s")
        const said: ReadonlyArray<Run> = [
          agent.decide({ sessionId: "s", approvalId: "r/1.0", approved: true }),
          agent.steer("s", "shorter")
        ]
        for (const each of said) {
          const error = yield* Effect.flip(Effect.provideService(each, Ids, { next }))
          assert.deepInclude(error.reason, reason)
          assert.notInclude(error.message, "SECRET")
        }
        assert.deepStrictEqual(yield* there.store.log("s"), before)
        yield* run.abort
      })
  )
})

describe("a run of an agent made where", () => {
  const made = TestAgent.make([ScriptedModel.text("done")], {
    agent: { hooks: [{ name: "own", beforeModelCall: () => Effect.void }] }
  })
  const around = {
    hooks: Effect.provideService(made, Hooks, { name: "h", beforeModelCall: () => Effect.void } as never),
    observers: Effect.provideService(made, Observers, undefined as never)
  }
  it.effect.each(["hooks", "observers"] as const)(
    "the setting for %s is no list fails with a typed error",
    (name) =>
      Effect.gen(function*() {
        const { agent, store } = yield* around[name]
        const run = agent.run({ input: "go" })
        const callers = run.pipe(Effect.provideService(Hooks, []), Effect.provideService(Observers, []))
        for (const each of [run, callers]) {
          const { reason } = yield* Effect.flip(each)
          assert.deepInclude(reason, { _tag: "InvalidInput", message: `${name} must be a list of ${name}` })
        }
        assert.strictEqual(store.appends.length, 0)
      })
  )
})
