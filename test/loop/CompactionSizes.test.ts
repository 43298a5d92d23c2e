/** How large a context is before it is sent: what is counted, for which model, and what providers said of it before. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as ContextSummary from "../../src/layers/ContextSummary.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as ModelFallback from "../../src/layers/ModelFallback.ts"
import * as Message from "../../src/run/Message.ts"
import * as ContextManager from "../../src/services/ContextManager.ts"
import type { Hook } from "../../src/services/Hooks.ts"
import * as Model from "../../src/services/Model.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Condensing from "../support/Condensing.ts"
import * as Overflows from "../support/Overflows.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const { history, overflow } = Overflows
const ok = ScriptedModel.text("ok")
const info = (contextWindow: number, name = "m") => ({ provider: "test", name, contextWindow, maxOutput: 0 })
const answer = (inputTokens: number) => [ok, ScriptedModel.finish("stop", { inputTokens, outputTokens: 1 })]
const sizes = (log: ReadonlyArray<Parameters<typeof RunLog.tags>[0][number]>) =>
  RunLog.only(log, "TurnStarted").map(({ size }) => size!)

describe("a context that is estimated above the model's window", () => {
  it.effect("is compacted before anything is sent", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([ok], { info: info(1_000) })
      const { compacted, log, requests } = yield* Overflows.run(made, { history: history(40, 300) })
      assert.isAtLeast(compacted.length, 1)
      assert.deepStrictEqual(compacted.map(({ cause }) => cause), compacted.map(() => "window" as const))
      assert.strictEqual(requests.length, 1)
      for (const size of sizes(log)) assert.isAtMost(size, 1_000)
    }))

  it.effect("below it is sent as it is", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([ok], { info: info(1_000_000) })
      const { compacted, requests } = yield* Overflows.run(made, { history: history(40, 300) })
      assert.deepStrictEqual([compacted.length, requests.length], [0, 1])
    }))

  for (const [maxOutput, limit] of [[undefined, 8_000], [1_000, 9_000], [5_000, 8_000]] as const) {
    it.effect(`leaves ${10_000 - limit} of 10,000 tokens to an answer of at most ${maxOutput ?? "nobody knows how many"}`, () =>
      Effect.gen(function*() {
        const limits: Array<number | undefined> = []
        const context = Layer.succeed(ContextManager.ContextManager, {
          plan: ({ size }) => {
            limits.push(size.limit)
            return ContextManager.send
          },
          compact: () => Effect.die("nothing is to be compacted")
        })
        const known = { provider: "test", name: "m", contextWindow: 10_000 }
        const made = yield* TestAgent.make([ok], {
          context,
          info: maxOutput === undefined ? known : { ...known, maxOutput }
        })
        yield* made.agent.run({ input: "go" })
        assert.deepStrictEqual([...new Set(limits)], [limit])
      }))
  }

  for (const [maxOutput, times] of [[0, 0], [400, 1]] as const) {
    it.effect(`leaves room for an answer of ${maxOutput} tokens`, () =>
      Effect.gen(function*() {
        const made = yield* TestAgent.make([ok], { info: { ...info(2_000), maxOutput } })
        const { compacted, log } = yield* Overflows.run(made, { history: history(17, 300) })
        assert.strictEqual(compacted.length, times)
        for (const size of sizes(log)) assert.isAtMost(size, 2_000 - maxOutput)
      }))
  }

  it.effect("counts queued inputs too", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const made = yield* TestAgent.make([[ScriptedModel.gate(gate), ...answer(0)], ok], { info: info(1_500) })
      const run = yield* made.agent.start({ sessionId: "s", input: "go", history: history(14, 240) })
      yield* gate.started
      yield* Effect.forkScoped(run.steer("steer ".repeat(900)))
      yield* Stream.runHead(Stream.filter(run.events, ({ _tag }) => _tag === "InputQueued"))
      yield* gate.release
      yield* run.result
      const log = yield* made.store.log("s")
      assert.isBelow(sizes(log)[0]!, 1_500)
      const tags = RunLog.tags(log).filter((tag) => ["TurnStarted", "InputReceived", "ContextCompacted"].includes(tag))
      assert.deepStrictEqual(tags, ["TurnStarted", "ContextCompacted", "InputReceived", "TurnStarted"])
      for (const size of sizes(log)) assert.isAtMost(size, 1_500)
    }))
})

describe("an estimate", () => {
  it.effect("that was too low is corrected by what the provider counted", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make(() => answer(8_000), { info: info(10_000) })
      const first = yield* Overflows.run(made, { history: history(40, 300) })
      const [size] = sizes(first.log)
      assert.isBelow(size! * 2, 10_000)
      const { compacted, requests } = yield* Overflows.run(made, { input: "more ".repeat(1_000) })
      assert.isAtLeast(compacted.length, 1)
      assert.strictEqual(requests.length, 2)
    }))

  it.effect("is not corrected by the count of an answer for which the provider searched by itself", () =>
    Effect.gen(function*() {
      const searched = ScriptedModel.parts(
        { type: "tool-call", id: "srv_1", name: "web_search", params: {}, providerExecuted: true },
        { type: "tool-result", id: "srv_1", name: "web_search", result: "found", isFailure: false }
      )
      const made = yield* TestAgent.make(() => [searched, ...answer(8_000)], { info: info(10_000) })
      yield* Overflows.run(made, { history: history(40, 300) })
      const { compacted, requests } = yield* Overflows.run(made, { input: "more ".repeat(1_000) })
      assert.deepStrictEqual([compacted.length, requests.length], [0, 2])
    }))

  it.effect("that was too high is corrected, too", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make(() => answer(1_000), { info: info(5_000) })
      const first = yield* Overflows.run(made, { history: history(40, 300) })
      assert.isAbove(sizes(first.log)[0]!, 3_000)
      const { compacted, log } = yield* Overflows.run(made, { input: "more ".repeat(2_500) })
      assert.isAbove(sizes(log)[1]!, 5_000)
      assert.strictEqual(compacted.length, 0)
    }))

  it.effect("that a provider refused is remembered by the next run, which compacts before it asks", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([overflow, ok], { info: info(100_000) })
      const limits = { limits: { maxCompactions: 0 } }
      const { end } = yield* Overflows.run(made, { history: history(40, 300), ...limits })
      assert.strictEqual(end, "RunLimited(compactions)")
      const { compacted, requests } = yield* Overflows.run(made, { input: "and now?" })
      assert.deepStrictEqual(compacted.map(({ cause }) => cause), ["window"])
      assert.isBelow(Overflows.lengthOf(requests[1]!), Overflows.lengthOf(requests[0]!))
    }))

  it.effect("corrected for one model does not apply to another", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const first = yield* TestAgent.make([answer(9_000)], { info: info(10_000, "a"), store })
      yield* Overflows.run(first, { history: history(20, 300) })
      const second = yield* TestAgent.make([ok], { info: info(10_000, "b"), store })
      const { compacted } = yield* Overflows.run(second, { input: "more ".repeat(1_000) })
      assert.strictEqual(compacted.length, 0)
    }))
})

describe("a model with a smaller window", () => {
  /** A first model that is down, and after it one with a window. */
  const fallback = Effect.fnUntraced(function*(contextWindow: number) {
    const first = yield* ScriptedModel.make(() => Overflows.refused, { info: info(1_000_000, "a") })
    const second = yield* ScriptedModel.make(() => ok, { info: info(contextWindow, "b") })
    const layerOf = (made: typeof first) => Layer.succeed(Model.Model, Context.get(made, Model.Model))
    return {
      model: ModelFallback.layer([layerOf(first), layerOf(second)]),
      asked: Effect.all([
        Context.get(first, ScriptedModel.Script).requests,
        Context.get(second, ScriptedModel.Script).requests
      ])
    }
  })

  it.effect("that takes over gets a compacted context before it is asked", () =>
    Effect.gen(function*() {
      const { asked, model } = yield* fallback(1_000)
      const made = yield* TestAgent.make([], { model })
      const { compacted, end, log } = yield* Overflows.run(made, { history: history(40, 300) })
      assert.strictEqual(end, "RunCompleted(stop)")
      assert.deepStrictEqual(compacted.map(({ cause }) => cause), compacted.map(() => "window" as const))
      const [first, second] = yield* asked
      assert.deepStrictEqual([first.length, second.length], [1, 1])
      assert.isBelow(Overflows.lengthOf(second[0]!), Overflows.lengthOf(first[0]!))
      assert.isAtMost(sizes(log).at(-1)!, 1_000)
    }))

  it.effect("that takes over a context that cannot shrink fails the run for that reason, and is not asked", () =>
    Effect.gen(function*() {
      const { asked, model } = yield* fallback(1_000)
      const made = yield* Condensing.make([], ContextSummary.layer, () => Overflows.refused, { model })
      const { end, exit } = yield* Overflows.run(made, { history: history(40, 300) })
      assert.strictEqual(end, "RunFailed(CompactionFailed)")
      assert.match((yield* Effect.flip(exit)).message, /summary could not be made/)
      assert.deepStrictEqual((yield* asked).map(({ length }) => length), [1, 0])
    }))

  it.effect("gets a compacted context when it continues a larger model's session", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const first = yield* TestAgent.make([ok], { info: info(100_000, "a"), store })
      yield* Overflows.run(first, { history: history(40, 300) })
      const second = yield* TestAgent.make([ok], { info: info(1_000, "b"), store })
      const { compacted, end, log, requests } = yield* Overflows.run(second, { input: "and now?" })
      assert.strictEqual(end, "RunCompleted(stop)")
      assert.isAtLeast(compacted.length, 1)
      assert.strictEqual(requests.length, 1)
      assert.isAtMost(sizes(log).at(-1)!, 1_000)
    }))
})

describe("what hooks add", () => {
  const adding = (message: Message.Message): Hook => ({
    name: "adds",
    beforeModelCall: ({ messages }) =>
      Effect.succeed({ messages: message.role === "system" ? [message, ...messages] : [...messages, message] })
  })
  const much = "rules ".repeat(600)

  for (
    const message of [Message.user(much), { role: "system", content: much }] satisfies ReadonlyArray<Message.Message>
  ) {
    it.effect(`as a ${message.role} message counts, and the rest is compacted to fit beside it`, () =>
      Effect.gen(function*() {
        const made = yield* TestAgent.make([ok], { info: info(1_500), agent: { hooks: [adding(message)] } })
        const { compacted, end, log, requests } = yield* Overflows.run(made, { history: history(40, 120) })
        assert.strictEqual(end, "RunCompleted(stop)")
        assert.isAtLeast(compacted.length, 1)
        assert.strictEqual(requests.length, 1)
        assert.include(Condensing.textOf(requests[0]!), much)
        assert.isAtMost(Overflows.tokensOf(requests[0]!), 1_500)
        assert.isAtMost(sizes(log).at(-1)!, 1_500)
      }))
  }

  it.effect("beyond the window ends the run as the provider says, and leaves the conversation alone", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([overflow], {
        info: info(500),
        agent: { hooks: [adding(Message.user(much))] }
      })
      const { compacted, end, requests } = yield* Overflows.run(made, { history: history(10) })
      assert.strictEqual(end, "RunFailed(ContextOverflow)")
      assert.deepStrictEqual([compacted.length, requests.length], [0, 1])
    }))
})

describe("what hooks leave out", () => {
  /** Also notes how many messages it was given. */
  const last = (given: Array<number> = []): Hook => ({
    name: "last",
    beforeModelCall: ({ messages }) =>
      Effect.sync(() => {
        given.push(messages.length)
        return { messages: messages.slice(-1) }
      })
  })

  it.effect("makes the request smaller, but the part that no compaction can shrink never goes below zero", () =>
    Effect.gen(function*() {
      const seen: Array<readonly [tokens: number, fixed: number]> = []
      const context = Layer.succeed(ContextManager.ContextManager, {
        plan: ({ size }) => {
          seen.push([size.tokens, size.fixed])
          return ContextManager.send
        },
        compact: () => Effect.die("nothing is to be compacted")
      })
      const made = yield* TestAgent.make([ok], { context, info: info(100_000), agent: { hooks: [last()] } })
      const { requests } = yield* Overflows.run(made, { history: history(40, 300) })
      assert.lengthOf(seen, 1)
      const [[left, fixed] = [Infinity, -1]] = seen
      assert.isBelow(left, Overflows.tokensOf(requests[0]!) + 200)
      assert.strictEqual(fixed, 0)
    }))

  it.effect("does not count: a conversation above the window is sent as it is where they leave less", () =>
    Effect.gen(function*() {
      const given: Array<number> = []
      const made = yield* Condensing.make([ok], ContextSummary.layer, [Overflows.refused], {
        info: info(1_000),
        agent: { hooks: [last(given)] }
      })
      const { compacted, end, log } = yield* Overflows.run(made, { history: history(40, 300) })
      assert.deepStrictEqual([end, compacted], ["RunCompleted(stop)", []])
      assert.isBelow(sizes(log)[0]!, 500)
      assert.deepStrictEqual(given, [42])
    }))

  it.effect("is asked of hooks before a compaction and after it, once each", () =>
    Effect.gen(function*() {
      const given: Array<number> = []
      const context = ContextWindow.layerWith({ compactThreshold: 10 })
      const made = yield* TestAgent.make([ok], { context, agent: { hooks: [last(given)] } })
      const { compacted, end } = yield* Overflows.run(made, { history: history(40) })
      assert.deepStrictEqual([end, compacted.length], ["RunCompleted(stop)", 1])
      assert.deepStrictEqual(given, [42, compacted[0]!.after + 1])
    }))

  it.effect.each<readonly [string, ScriptedModel.Turn]>([
    ["overflow", overflow],
    ["length", [ok, ScriptedModel.finish("length")]]
  ])("is compacted all the same where its model says so: %s", ([cause, said]) =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([said, ok], { info: info(1_000), agent: { hooks: [last()] } })
      const { compacted, end } = yield* Overflows.run(made, { history: history(40, 300) })
      assert.deepStrictEqual([end, compacted.map((_) => _.cause)], ["RunCompleted(stop)", [cause]])
    }))
})
