/** When a conversation is compacted, and what becomes of a run when that does not help. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as RunError from "../../src/run/RunError.ts"
import type * as RunInput from "../../src/run/RunInput.ts"
import { CompactionError, ContextManager } from "../../src/services/ContextManager.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Steering from "../support/Steering.ts"
import * as TestAgent from "../support/TestAgent.ts"

const overflow = ScriptedModel.fail(
  new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag: "ContextOverflow", message: "too long" })
)

const history = (n: number): NonNullable<RunInput.RunInput["history"]> =>
  Array.from({ length: n }, (_, i) => ({ role: i % 2 === 0 ? "user" : "assistant", content: `message ${i}` }))

const play = Effect.fnUntraced(function*(
  turns: ReadonlyArray<ScriptedModel.Turn>,
  input: Partial<RunInput.RunInput> = {},
  options: TestAgent.Options = {}
) {
  const made = yield* TestAgent.make(turns, options)
  const run = yield* made.agent.start({ sessionId: "s", input: "go", ...input })
  const exit = yield* Effect.exit(run.result)
  const log = yield* made.store.log("s")
  assert.deepStrictEqual(RunLog.violations(log), [])
  const sizes = Effect.map(
    made.script.requests,
    (requests) => requests.map(({ messages }) => messages.filter((message) => message.role !== "system").length)
  )
  return { ...made, log, exit, sizes, end: RunLog.endOf(log) }
})

describe("a conversation above the threshold", () => {
  const context = ContextWindow.layerWith({ compactThreshold: 6 })

  it.effect("is cut before it is sent, and stays so in the log", () =>
    Effect.gen(function*() {
      const { agent, end, log, sizes } = yield* play([ScriptedModel.text("ok"), ScriptedModel.text("yes")], {
        history: history(6)
      }, { context })
      assert.strictEqual(end, "RunCompleted(stop)")
      const [compacted] = RunLog.only(log, "ContextCompacted")
      assert.deepStrictEqual([compacted?.strategy, compacted?.before], ["window", 7])
      assert.isBelow(compacted!.after, 7)
      yield* agent.run({ sessionId: "s", input: "again?" })
      // and one as the user that says where the conversation began
      for (const size of yield* sizes) assert.isAtMost(size, 6 + 1)
    }))

  it.effect("that grew in tool turns is cut between them, results staying with their calls", () =>
    Effect.gen(function*() {
      const turns = Array.from({ length: 8 }, (_, n) => TestAgent.work(n))
      const { end, log } = yield* play([...turns, ScriptedModel.text("ok")], {}, { context })
      assert.strictEqual(end, "RunCompleted(stop)")
      assert.isAbove(RunLog.only(log, "ContextCompacted").length, 1)
    }))

  it.effect("keeps the latest user message word for word", () =>
    Effect.gen(function*() {
      const turns = Array.from({ length: 8 }, (_, n) => TestAgent.work(n))
      const { script } = yield* play([...turns, ScriptedModel.text("ok")], { input: "find the needle" }, { context })
      for (const { messages } of yield* script.requests) {
        const texts = messages.flatMap((message) => message.role === "user" ? message.content : [])
        assert.isTrue(texts.some((part) => part.type === "text" && part.text === "find the needle"))
      }
    }))

  it.effect("keeps what its run was given word for word beside what the run is told later", () =>
    Effect.gen(function*() {
      const turns = [...Array.from({ length: 9 }, (_, n) => TestAgent.work(n)), ScriptedModel.text("ok")]
      const { gate, run, script, store } = yield* Steering.held([TestAgent.work(9)], turns, { context }, {
        input: "compare all pages",
        history: history(4)
      })
      yield* Steering.say(run, "steer", "please hurry")
      yield* gate.release
      yield* run.result
      assert.isAbove(RunLog.only(yield* store.log("s"), "ContextCompacted").length, 2)
      const requests = yield* script.requests
      for (const request of requests) assert.include(Steering.said(request).join("+"), "compare all pages")
      for (const request of requests.slice(1)) assert.include(Steering.said(request).join("+"), "please hurry")
    }))

  // A cut keeps 70 percent, so that a long history needs several in a row; each of them makes progress.
  it.effect("is cut as often as needed while every cut makes it shorter", () =>
    Effect.gen(function*() {
      const { end } = yield* play([ScriptedModel.text("ok")], { history: history(60) }, { context })
      assert.strictEqual(end, "RunCompleted(stop)")
    }))
})

describe("a provider that says the context is too long", () => {
  it.effect("gets the request again, shorter, in the same turn", () =>
    Effect.gen(function*() {
      const { end, log, sizes } = yield* play([overflow, ScriptedModel.text("ok")], { history: history(10) })
      assert.strictEqual(end, "RunCompleted(stop)")
      const [before, after] = yield* sizes
      assert.isBelow(after!, before!)
      assert.deepStrictEqual(RunLog.only(log, "TurnStarted").map((event) => event.turn), [1, 1])
      assert.deepStrictEqual(RunLog.only(log, "AttemptDiscarded").map((event) => event.attempt), [1])
      assert.deepStrictEqual(RunLog.only(log, "AssistantMessage").map((event) => event.attempt), [2])
    }))

  it.effect("because of a single message fails the run with the provider's own words", () =>
    Effect.gen(function*() {
      const { end, exit } = yield* play([overflow])
      assert.strictEqual(end, "RunFailed(ContextOverflow)")
      const error = yield* Effect.flip(exit)
      assert.strictEqual(error.message, "too long")
    }))

  it.effect("repeatedly ends the run after maxCompactions without an answer between them", () =>
    Effect.gen(function*() {
      const { end, log } = yield* play([overflow, overflow, overflow, ScriptedModel.text("late")], {
        history: history(30),
        limits: { maxCompactions: 2 }
      })
      assert.strictEqual(end, "RunLimited(compactions)")
      assert.strictEqual(RunLog.only(log, "ContextCompacted").length, 2)
    }))

  it.effect("with maxCompactions 0 ends the run at once", () =>
    Effect.gen(function*() {
      const { end } = yield* play([overflow], { history: history(30), limits: { maxCompactions: 0 } })
      assert.strictEqual(end, "RunLimited(compactions)")
    }))

  it.effect("has its compactions counted afresh after an answer", () =>
    Effect.gen(function*() {
      const { end } = yield* play([overflow, TestAgent.work(1), overflow, ScriptedModel.text("ok")], {
        history: history(30),
        limits: { maxCompactions: 1 }
      })
      assert.strictEqual(end, "RunCompleted(stop)")
    }))
})

describe("an answer cut by length", () => {
  it.effect("is continued after a compaction, with a notice about it", () =>
    Effect.gen(function*() {
      const { end, log, script } = yield* play([
        [ScriptedModel.text("half"), ScriptedModel.finish("length")],
        ScriptedModel.text("rest")
      ], { history: history(10) })
      assert.strictEqual(end, "RunCompleted(stop)")
      assert.deepStrictEqual(RunLog.only(log, "NoticeAdded").map((event) => event.kind), ["length"])
      const [, second] = yield* script.requests
      assert.strictEqual(second?.messages.at(-1)?.role, "user")
    }))

  it.effect("is in the log before a strategy starts", () =>
    Effect.gen(function*() {
      const working = yield* Deferred.make<void>()
      const context = Layer.succeed(ContextManager, {
        plan: (request) => request.force === undefined ? { _tag: "Send" } : { _tag: "Compact", request },
        compact: () => Effect.andThen(Deferred.succeed(working, undefined), Effect.never)
      })
      const turns = [[ScriptedModel.text("half"), ScriptedModel.finish("length")]]
      const { agent, store } = yield* TestAgent.make(turns, { context })
      yield* agent.start({ sessionId: "s", input: "go" })
      yield* Deferred.await(working)
      const tags = (yield* store.log("s")).map((event) => event._tag)
      assert.includeMembers(tags, ["AssistantMessage", "TurnFinished"])
    }))

  it.effect("ends the run limited when nothing can be left out", () =>
    Effect.gen(function*() {
      const { end } = yield* play([[ScriptedModel.text("half"), ScriptedModel.finish("length")]])
      assert.strictEqual(end, "RunLimited(length)")
    }))
})

describe("a strategy that fails", () => {
  const failing = Layer.succeed(ContextManager, {
    plan: (view) => ({ _tag: "Compact", request: view }),
    compact: () => Effect.fail(new CompactionError({ message: "out of ideas" }))
  })

  it.effect("fails the run with a typed error", () =>
    Effect.gen(function*() {
      const { end, exit } = yield* play([], {}, { context: failing })
      assert.strictEqual(end, "RunFailed(CompactionFailed)")
      assert.strictEqual((yield* Effect.flip(exit)).message, "out of ideas")
    }))

  const dying = Layer.succeed(ContextManager, {
    plan: (view) => ({ _tag: "Compact", request: view }),
    compact: () => Effect.die("bug")
  })

  it.effect("by a defect also fails the run with a typed error", () =>
    Effect.gen(function*() {
      const { end } = yield* play([], {}, { context: dying })
      assert.strictEqual(end, "RunFailed(CompactionFailed)")
    }))

  const lying = Layer.succeed(ContextManager, {
    plan: (view) => ({ _tag: "Compact", request: view }),
    compact: () =>
      Effect.succeed({ strategy: "none", upTo: 0, replacement: [], usage: { inputTokens: 1, outputTokens: 1 } })
  })

  it.effect("to make anything smaller counts as failed, and what it spent counts", () =>
    Effect.gen(function*() {
      const { end, exit, log } = yield* play([], {}, { context: lying })
      assert.strictEqual(end, "RunFailed(CompactionFailed)")
      assert.match(
        (yield* Effect.flip(exit)).message,
        /the strategy "none" did not make the context smaller: about \d+ tokens/
      )
      assert.deepStrictEqual(RunLog.only(log, "ContextCompacted"), [])
      assert.deepStrictEqual(RunLog.only(log, "CompactionDiscarded").map(({ usage }) => usage), [
        { inputTokens: 1, outputTokens: 1 }
      ])
    }))
})
