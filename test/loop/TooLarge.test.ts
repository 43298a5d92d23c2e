/** What is more than a store holds: it is left out, typed, and the run still has its end. */
import { assert, describe, it } from "@effect/vitest"
import type * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as ToolExecutorToolkit from "../../src/layers/ToolExecutorToolkit.ts"
import type { Run } from "../../src/Run.ts"
import * as Bounds from "../../src/run/log/Bounds.ts"
import * as Message from "../../src/run/Message.ts"
import * as RunError from "../../src/run/RunError.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as Usage from "../../src/run/Usage.ts"
import * as ContextManager from "../../src/services/ContextManager.ts"
import * as Model from "../../src/services/Model.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Family from "../support/Family.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Suspended from "../support/Suspended.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"
import * as Watch from "../support/Watch.ts"

const tooMuch = "x".repeat(SessionStore.maxEventBytes + 1)
const image = (data: string) => ScriptedModel.parts({ type: "file", mediaType: "image/png", data })

const untruncated = Effect.provideService(ToolExecutorToolkit.ResultLimit, Infinity)

/** The log is closed and legal, and the session answers. */
const goesOn = Effect.fnUntraced(function*({ agent, store }: TestAgent.TestAgent, end: string) {
  const log = yield* store.log("s")
  assert.deepStrictEqual(RunLog.violations(log), [])
  assert.strictEqual(RunLog.endOf(log), end)
  const result = yield* agent.run({ sessionId: "s", input: "hello?" })
  assert.strictEqual(result._tag, "Completed")
  assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
  return log
})

describe("what is more than an event holds", () => {
  it.effect("as an answer fails the attempt, whose cost counts", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([image(tooMuch), ScriptedModel.text("hello")])
      const error = yield* Effect.flip(made.agent.run({ sessionId: "s", input: "go" }))
      assert.strictEqual(error.reason._tag, "EventTooLarge")
      const log = yield* goesOn(made, "RunFailed(EventTooLarge)")
      const [discarded] = RunLog.only(log, "AttemptDiscarded")
      assert.deepStrictEqual([discarded?.error._tag, discarded?.usage], ["EventTooLarge", ScriptedModel.usage])
    }))

  it.effect("as an answer with its sources fails the attempt", () =>
    Effect.gen(function*() {
      const room = SessionStore.maxContentBytes - 1000
      const page = { type: "url", url: `https://example.com/${"x".repeat(1000)}` } as const
      const sourced = [image("x".repeat(room)), ScriptedModel.sources(page)]
      const made = yield* TestAgent.make([sourced, ScriptedModel.text("hello")])
      const error = yield* Effect.flip(made.agent.run({ sessionId: "s", input: "go" }))
      assert.strictEqual(error.reason._tag, "EventTooLarge")
      yield* goesOn(made, "RunFailed(EventTooLarge)")
    }))

  it.effect.each<readonly [string, Model.ModelPart]>([
    ["text", { type: "text-delta", block: "0", delta: "x".repeat(4096) }],
    ["reasoning", { type: "reasoning-delta", block: "0", delta: "x".repeat(4096) }],
    ["arguments", { type: "tool-params-delta", block: "0", tool: "work", delta: "1".repeat(4096) }],
    ["files", { type: "file", mediaType: "image/png", data: "x".repeat(4096) }],
    ["sources", { type: "source", source: { type: "url", url: "https://example.com/" } }],
    ["calls", { type: "tool-call", id: "a", name: "work", params: { n: 1 } }]
  ])("as an answer of endless %s is read no further, and its source is closed", ([, part]) =>
    Effect.gen(function*() {
      let isClosed = false
      const info = { provider: "test", name: "endless" }
      const parts = Array.from({ length: 64 }, () => part) as unknown as Arr.NonEmptyReadonlyArray<Model.ModelPart>
      const endless = Stream.onExit(Stream.forever(Stream.fromArray(parts)), () => Effect.sync(() => isClosed = true))
      const model = Layer.succeed(Model.Model, { info, stream: () => endless })
      const made = yield* TestAgent.make([], { model })
      const error = yield* Effect.flip(made.agent.run({ sessionId: "s", input: "go" }))
      assert.strictEqual(error.reason._tag, "EventTooLarge")
      assert.include(error.message, "the model's answer so far has ")
      assert.isTrue(isClosed)
      const log = yield* made.store.log("s")
      assert.deepStrictEqual(RunLog.violations(log), [])
      assert.deepStrictEqual(RunLog.tags(log), ["RunStarted", "TurnStarted", "AttemptDiscarded", "RunFailed"])
    }))

  it.effect("as a tool's result is NotEncodable, and the run continues", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok"), ScriptedModel.text("hello")], {
        tool: () => Effect.succeed(tooMuch)
      })
      yield* untruncated(made.agent.run({ sessionId: "s", input: "go" }))
      const log = yield* goesOn(made, "RunCompleted(stop)")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 NotEncodable"])
    }))

  it.effect("as a tool's result beside arguments that a person edited is NotEncodable, and the run continues", () =>
    Effect.gen(function*() {
      const half = "x".repeat(SessionStore.maxContentBytes * 0.6)
      const { agent, root, store } = yield* Family.make({ handler: () => Effect.succeed(half) })
      yield* root({ turns: [[{ by: "buy" }]] })
      const params = { plan: JSON.stringify({ first: half }) }
      yield* agent.decide({ sessionId: "root", approvalId: "root/1.0", approved: true, params })
      const result = yield* untruncated(agent.resumeRun({ sessionId: "root" }))
      assert.strictEqual(result._tag, "Completed")
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("root")), ["1.0 NotEncodable"])
    }))

  it.effect("is not a person's reason that alone is just not too large", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make(TestAgent.work(1, "a"))
      const reason = "x".repeat(SessionStore.maxContentBytes - 20)
      yield* made.decide("1.0", { approved: false, reason })
      const other = yield* Suspended.elsewhere(made)
      yield* other.resume()
      const [settled] = RunLog.only(yield* other.log, "ToolSettled")
      assert.isTrue(settled?.outcome._tag === "Denied" && settled.outcome.reason === reason)
    }))

  it.effect("as a tool's failure is left out, which its outcome says", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok"), ScriptedModel.text("hello")], {
        tool: () => Effect.fail(tooMuch)
      })
      yield* untruncated(made.agent.run({ sessionId: "s", input: "go" }))
      const log = yield* goesOn(made, "RunCompleted(stop)")
      const [settled] = RunLog.only(log, "ToolSettled")
      assert(settled?.outcome._tag === "Failed" && typeof settled.outcome.result === "string")
      assert.match(settled.outcome.result, /^The tool failed, and what it said is left out: it has \d+ bytes of JSON/)
    }))

  it.effect("as an input is refused, and leaves no session", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([])
      const error = yield* Effect.flip(agent.run({ sessionId: "s", input: tooMuch }))
      assert.strictEqual(error.reason._tag, "EventTooLarge")
      assert.isUndefined(yield* store.service.info("s"))
    }))

  it.effect("as a provider's error message is cut", () =>
    Effect.gen(function*() {
      const refusal = new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag: "Unknown", message: tooMuch })
      const made = yield* TestAgent.make([ScriptedModel.fail(refusal), ScriptedModel.text("hello")])
      yield* Effect.flip(made.agent.run({ sessionId: "s", input: "go" }))
      const log = yield* goesOn(made, "RunFailed(Unknown)")
      const [failed] = RunLog.only(log, "RunFailed")
      assert.strictEqual(failed?.error.reason.message, `${tooMuch.slice(0, 9_999)}…`)
    }))

  it.effect("as a defect's message is left out", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([ScriptedModel.die(new Error(tooMuch)), ScriptedModel.text("hello")])
      yield* Effect.flip(made.agent.run({ sessionId: "s", input: "go" }))
      const log = yield* goesOn(made, "RunFailed(Unknown)")
      const [failed] = RunLog.only(log, "RunFailed")
      assert.strictEqual(failed?.error.reason.message, "a defect ended the run: Error, see the error's cause")
    }))
})

describe("what derives from something too large", () => {
  it.effect("as a compacted context fails the compaction", () =>
    Effect.gen(function*() {
      const context = Layer.succeed(ContextManager.ContextManager, {
        plan: (request) => isFirst ? { _tag: "Compact", request } : { _tag: "Send" },
        compact: () => {
          isFirst = false
          return Effect.succeed({ strategy: "test", upTo: 1, replacement: [Message.user(tooMuch)], usage: Usage.zero })
        }
      })
      let isFirst = true
      const made = yield* TestAgent.make([ScriptedModel.text("hello")], { context })
      const error = yield* Effect.flip(made.agent.run({ sessionId: "s", input: "go" }))
      assert.strictEqual(error.reason._tag, "CompactionFailed")
      yield* goesOn(made, "RunFailed(CompactionFailed)")
    }))

  it.effect("beside a compacted context leaves out the snapshot", () =>
    Effect.gen(function*() {
      let isAsked = false
      const half = SessionStore.maxContentBytes / 2
      const replacement = [Message.user("x".repeat(half - 100))]
      const context = Layer.succeed(ContextManager.ContextManager, {
        plan: (request) => isAsked ? { _tag: "Compact", request } : { _tag: "Send" },
        compact: () => {
          isAsked = false
          return Effect.succeed({ strategy: "test", upTo: 1, replacement, usage: Usage.zero })
        }
      })
      const { agent, store } = yield* TestAgent.make([ScriptedModel.text("hi"), ScriptedModel.text("hello")], {
        context
      })
      yield* agent.run({ sessionId: "s", input: "x".repeat(half) })
      isAsked = true
      yield* agent.run({ sessionId: "s", input: "go", data: "y".repeat(half) })
      const log = yield* store.log("s")
      assert.strictEqual(RunLog.endOf(log), "RunCompleted(stop)")
      assert.isUndefined(RunLog.only(log, "ContextCompacted")[0]!.snapshot)
    }))

  it.effect("as the report of what is wrong with an answer is cut", () =>
    Effect.gen(function*() {
      const output = Schema.Struct({ [`a${"\"".repeat(20_000)}`]: Schema.String })
      const { agent, store } = yield* TestAgent.make([ScriptedModel.text("{}"), ScriptedModel.text("{}")], {
        agent: { output: output as never }
      })
      yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
      const [notice] = RunLog.only(yield* store.log("s"), "NoticeAdded")
      assert.isBelow(notice!.text.length, 11_000)
    }))
})

/** A store that holds less than this library's own do. */
const narrow = (limit: number): TestStore.OnAppend => ({ events, store }) => {
  const event = events.find((event) => Bounds.above(event, limit) !== undefined)
  return event === undefined ? store : Effect.fail(RunError.tooLarge(event._tag, limit + 1, limit))
}

describe("what a store says is too large", () => {
  const long = "x".repeat(5000)
  const run = Effect.fnUntraced(function*(turns: ReadonlyArray<ScriptedModel.Turn>, options?: TestAgent.Options) {
    const store = yield* TestStore.make(narrow(4000))
    const made = yield* TestAgent.make(turns, { store, ...options })
    const error = yield* Effect.flip(made.agent.run({ sessionId: "s", input: "go" }))
    assert.strictEqual(error.reason._tag, "EventTooLarge")
    return yield* goesOn(made, "RunFailed(EventTooLarge)")
  })

  it.effect("is left out with what follows from it: the last answer and its completion", () =>
    Effect.gen(function*() {
      const log = yield* run([ScriptedModel.text(long), ScriptedModel.text("hello")])
      assert.deepStrictEqual(RunLog.tags(log), ["RunStarted", "TurnStarted", "RunFailed"])
    }))

  it.effect("is left out with what follows from it: an answer with calls, which do not run", () =>
    Effect.gen(function*() {
      let ran = 0
      const log = yield* run([[ScriptedModel.text(long), TestAgent.work(1)], ScriptedModel.text("hello")], {
        tool: () => Effect.sync(() => `${ran++}`)
      })
      assert.deepStrictEqual(RunLog.tags(log), ["RunStarted", "TurnStarted", "RunFailed"])
      assert.strictEqual(ran, 0)
    }))

  it.effect("is left out when it is one of several outcomes; the others stand", () =>
    Effect.gen(function*() {
      const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "ToolSettled"))
      const together: Array<number> = []
      const store = yield* TestStore.make(({ events, n, store }) => {
        together.push(RunLog.only(events, "ToolSettled").length)
        return narrow(4000)({ events, n, store: held.onAppend({ events, n, store }) })
      })
      const made = yield* TestAgent.make([
        [TestAgent.work(1, "a"), TestAgent.work(2, "b"), TestAgent.work(3, "c")],
        ScriptedModel.text("hello")
      ], {
        store,
        agent: { toolPolicy: { maxParallel: 3 } },
        // the second and the third are stored together, after the first
        tool: ({ n }) => n === 1 ? Effect.succeed("short") : Effect.as(held.reached, n === 2 ? long : "short")
      })
      const fiber = yield* Effect.forkChild(Effect.flip(made.agent.run({ sessionId: "s", input: "go" })))
      yield* held.reached
      // the store takes its time, and the others end meanwhile
      yield* TestClock.adjust("1 second")
      yield* held.release
      assert.strictEqual((yield* Fiber.join(fiber)).reason._tag, "EventTooLarge")
      assert.include(together, 2)
      const log = yield* goesOn(made, "RunFailed(EventTooLarge)")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded", "1.2 Succeeded", "1.1 Interrupted"])
    }))

  it.effect.each<
    readonly [string, (made: TestAgent.TestAgent, run: Run<string>) => Effect.Effect<void>, ReadonlyArray<string>]
  >([
    ["aborted", (_, run) => run.abort, ["AbortRequested"]],
    ["shut down", ({ close }) => close, []]
  ])(
    "is left out although the run is %s meanwhile: there is an end, and everybody is told of it",
    ([, end, said]) =>
      Effect.gen(function*() {
        const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "AssistantMessage"))
        const store = yield* TestStore.make(({ events, n, store }) =>
          held.onAppend({ events, n, store: narrow(4000)({ events, n, store }) })
        )
        const made = yield* TestAgent.make(
          [[ScriptedModel.text(long), TestAgent.work(1)], ScriptedModel.text("hello")],
          {
            store
          }
        )
        const run = yield* made.agent.start({ sessionId: "s", input: "go" })
        yield* held.reached
        const aborting = yield* Effect.forkChild(end(made, run))
        yield* TestClock.adjust("10 seconds")
        yield* held.release
        yield* Fiber.join(aborting)
        assert.strictEqual((yield* Effect.flip(run.result)).reason._tag, "EventTooLarge")
        const log = yield* store.log("s")
        assert.strictEqual(RunLog.endOf(log), "RunFailed(EventTooLarge)")
        assert.deepStrictEqual(RunLog.tags(log), ["RunStarted", "TurnStarted", ...said, "RunFailed"])
      })
  )

  it.effect("leaves the session free, even if the store does not take another end in place of the first", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([ScriptedModel.text("hello")])
      const errors = [TestStore.tooLarge, TestStore.unavailable]
      store.onAppend = ({ events, store }) => {
        const error = events.some(RunEvent.isEnd) ? errors.shift() : undefined
        return error === undefined ? store : Effect.fail(error)
      }
      yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
      assert.deepStrictEqual(errors, [])
      yield* Effect.scoped(store.service.open("s", { runId: "other", create: false }))
    }))

  it.effect("leaves its deltas under keys that no later attempt has", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make(narrow(4000))
      const { agent } = yield* TestAgent.make([ScriptedModel.text(long), ScriptedModel.text("ok")], { store })
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      const before = yield* Watch.make(run.events)
      yield* before.over
      const after = yield* Stream.runCollect(agent.resume({ sessionId: "s" }))
      const keys = (events: ReadonlyArray<RunEvent.RunEvent>) =>
        RunLog.only(events, "TextDelta").map(({ attempt, index, turn }) => [turn, attempt, index].join())
      assert.deepStrictEqual([keys(before.seen), keys(after)], [["1,1,0"], ["1,2,0"]])
    }))
})
