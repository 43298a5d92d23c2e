/** Several models as one: which is asked when, with what, and what the log says about it. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as ModelFallback from "../../src/layers/ModelFallback.ts"
import * as ModelOpenAi from "../../src/layers/ModelOpenAi.ts"
import * as RunError from "../../src/run/RunError.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import type { Hook } from "../../src/services/Hooks.ts"
import * as Model from "../../src/services/Model.ts"
import * as Prices from "../../src/services/Prices.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as StrictModel from "../../src/testing/StrictModel.ts"
import * as Bound from "../support/Bound.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as Overloaded from "../support/Overloaded.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"
import * as Watch from "../support/Watch.ts"

const refused = (tag: RunError.ProviderRefusal["_tag"]) =>
  ScriptedModel.fail(new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag: tag, message: "no" }))

type Turns = Parameters<typeof ScriptedModel.make>[0]

/** An agent over several models: "a", "b", ... of providers of the same names; "b2" is another model with the name of "b". */
const agentOf = Effect.fnUntraced(function*(
  scripts: Readonly<Record<string, Turns>>,
  options: ModelFallback.Options & Pick<TestAgent.Options, "agent" | "store" | "tool" | "context"> = {}
) {
  const models: Array<Model.Model["Service"]> = []
  const requests: Record<string, Effect.Effect<ReadonlyArray<Model.ModelRequest>>> = {}
  for (const [name, turns] of Object.entries(scripts)) {
    const made = yield* ScriptedModel.make(turns, { info: { provider: name.charAt(0), name: `${name.charAt(0)}-1` } })
    models.push(Context.get(made, Model.Model))
    requests[name] = Context.get(made, ScriptedModel.Script).requests
  }
  const [first, ...others] = models.map((model) => Layer.succeed(Model.Model, model))
  const { when, ...rest } = options
  const model = ModelFallback.layer([first!, ...others], when === undefined ? {} : { when })
  const made = yield* TestAgent.make([], { agent: { retry: RetryPolicy.make({ base: 0 }) }, ...rest, model })
  const asked = Effect.map(
    Effect.forEach(Object.entries(requests), ([name, all]) => Effect.map(all, ({ length }) => [name, length] as const)),
    Object.fromEntries
  )
  return { ...made, asked, requests }
})

const switches = (log: ReadonlyArray<RunEvent.RunEvent>) =>
  RunLog.only(log, "ModelSwitched").map(({ from, to, turn }) => `${turn}: ${from.name} > ${to.name}`)
const answeredBy = (log: ReadonlyArray<RunEvent.RunEvent>) =>
  RunLog.only(log, "AssistantMessage").map(({ model }) => model.name)

/** Leaves the first model all tools, and the second one none. */
const ofSecond: NonNullable<Hook["beforeModelCall"]> = ({ model, tools }) =>
  Effect.succeed({ tools: model.name === "b-1" ? [] : tools })

describe("the next model takes over", () => {
  it.effect("when the tries at the first are used up, after the discard and before its own first delta", () =>
    Effect.gen(function*() {
      const { agent, asked, store } = yield* agentOf({
        a: () => [ScriptedModel.text("half"), Overloaded.fail()],
        b: [ScriptedModel.text("whole")]
      })
      const seen = yield* Stream.runCollect(agent.stream({ sessionId: "s", input: "go" }))
      assert.deepStrictEqual(yield* asked, { a: 4, b: 1 })
      assert.deepStrictEqual(switches(seen), ["1: a-1 > b-1"])
      const order = seen.flatMap((event) =>
        event._tag === "TextDelta"
          ? [event.delta]
          : event._tag === "AttemptDiscarded" || event._tag === "ModelSwitched"
          ? [event._tag]
          : []
      )
      const tries = Array.from({ length: 4 }, () => ["half", "AttemptDiscarded"]).flat()
      assert.deepStrictEqual(order, [...tries, "ModelSwitched", "whole"])
      assert.deepStrictEqual(RunLog.moves(seen).slice(-4), [
        "streaming>calling",
        "calling>streaming",
        "streaming>observing",
        "observing>completed"
      ])
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
    }))

  const reasons = ["Authentication", "QuotaExhausted", "InvalidRequest", "Unknown"] as const
  it.effect.each(reasons)("at once when the first refuses: %s", (reason) =>
    Effect.gen(function*() {
      const { agent, asked, store } = yield* agentOf({ a: [refused(reason)], b: [ScriptedModel.text("ok")] })
      const { text } = yield* agent.run({ sessionId: "s", input: "go" })
      assert.deepStrictEqual([text, yield* asked], ["ok", { a: 1, b: 1 }])
      assert.deepStrictEqual(answeredBy(yield* store.log("s")), ["b-1"])
    }))

  it.effect("only after the switch is stored, and with hooks the turn as they leave it for that model", () =>
    Effect.gen(function*() {
      const guard: Hook = { name: "guard", beforeModelCall: ofSecond }
      for (const hooks of [[], [guard]]) {
        const store = yield* TestStore.make()
        const stored: Array<string> = []
        const { agent } = yield* agentOf({
          a: [refused("Unknown")],
          b: () => {
            stored.push(...store.appends.flat().map((event) => event._tag))
            return ScriptedModel.text("ok")
          }
        }, { store, agent: { hooks } })
        yield* agent.run({ sessionId: "s", input: "go" })
        const again = hooks.length === 0 ? [] : ["TurnStarted"]
        assert.deepStrictEqual(stored, ["RunStarted", "TurnStarted", "AttemptDiscarded", "ModelSwitched", ...again])
      }
    }))

  it.effect("also where models and what follows them are instances of classes", () =>
    Effect.gen(function*() {
      const made = (name: string, turn: ScriptedModel.Turn) =>
        Effect.map(
          ScriptedModel.make([turn], { info: { provider: name, name } }),
          (context) => Context.get(context, Model.Model)
        )
      const [a, b, c] = [
        yield* made("a", refused("Unknown")),
        yield* made("b", refused("Unknown")),
        yield* made("c", ScriptedModel.text("ok"))
      ]
      const fallback = Bound.only({ to: Bound.only(b), when: () => true })
      const models = [Bound.only({ ...a, fallback }), Bound.only(c)] as const
      const [first, second] = models.map((model) => Layer.succeed(Model.Model, model))
      const model = ModelFallback.layer([first!, second!])
      const { agent } = yield* TestAgent.make([], { model })
      const { text } = yield* agent.run({ sessionId: "s", input: "go" })
      assert.strictEqual(text, "ok")
    }))

  it.effect("one after the other; when the last fails too, the run fails with its reason", () =>
    Effect.gen(function*() {
      const { agent, asked, store } = yield* agentOf({
        a: [refused("Authentication")],
        b: [refused("Unknown")],
        c: [refused("QuotaExhausted")]
      })
      const error = yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
      assert.strictEqual(error.reason._tag, "QuotaExhausted")
      assert.deepStrictEqual(yield* asked, { a: 1, b: 1, c: 1 })
      assert.deepStrictEqual(switches(yield* store.log("s")), ["1: a-1 > b-1", "1: b-1 > c-1"])
    }))

  it.effect("with tries and a policy of its own, while attempts are counted on", () =>
    Effect.gen(function*() {
      const providers = { b: RetryPolicy.make({ base: 0, maxRetries: 1 }) }
      const { agent, asked, store } = yield* agentOf({ a: () => Overloaded.fail(), b: () => Overloaded.fail() }, {
        agent: { retry: RetryPolicy.make({ base: 0, maxRetries: 2, providers }) }
      })
      const { reason } = yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
      assert.deepStrictEqual(reason._tag === "RetriesExhausted" ? reason.attempts : reason._tag, 2)
      assert.deepStrictEqual(yield* asked, { a: 3, b: 2 })
      const discarded = RunLog.only(yield* store.log("s"), "AttemptDiscarded")
      assert.deepStrictEqual(discarded.map(({ attempt, model }) => `${attempt} ${model?.name}`), [
        "1 a-1",
        "2 a-1",
        "3 a-1",
        "4 b-1",
        "5 b-1"
      ])
    }))

  it.effect("while what the first cost still counts", () =>
    Effect.gen(function*() {
      const { agent } = yield* agentOf({
        a: [[ScriptedModel.finish("error", { inputTokens: 100, outputTokens: 7 })]],
        b: [ScriptedModel.text("ok")]
      })
      assert.deepStrictEqual((yield* agent.run({ input: "go" })).usage, { inputTokens: 110, outputTokens: 12 })
    }))
})

describe("the next model does not take over", () => {
  it.effect("from one that succeeds on a retry", () =>
    Effect.gen(function*() {
      const { agent, asked } = yield* agentOf({ a: [Overloaded.fail(), ScriptedModel.text("ok")], b: [] })
      yield* agent.run({ input: "go" })
      assert.deepStrictEqual(yield* asked, { a: 2, b: 0 })
    }))

  it.effect("to get round a content policy, unless told to", () =>
    Effect.gen(function*() {
      const usual = yield* agentOf({ a: [refused("ContentPolicy")], b: [] })
      assert.strictEqual((yield* Effect.flip(usual.agent.run({ input: "go" }))).reason._tag, "ContentPolicy")
      const told = yield* agentOf({ a: [refused("ContentPolicy")], b: [ScriptedModel.text("ok")] }, {
        when: (error, model) => model.name === "a-1" && error.reason._tag === "ContentPolicy"
      })
      assert.strictEqual((yield* told.agent.run({ input: "go" })).text, "ok")
    }))

  const orders: Readonly<Record<string, ModelFallback.Options>> = {
    "": {},
    ", even if told to take over": { when: () => true }
  }
  for (const [name, options] of Object.entries(orders)) {
    it.effect(`when the conversation is too long, which is compacted instead${name}`, () =>
      Effect.gen(function*() {
        const { agent, asked, store } = yield* agentOf({
          a: [ScriptedModel.text("1"), refused("ContextOverflow"), ScriptedModel.text("2")],
          b: []
        }, options)
        yield* agent.run({ sessionId: "s", input: "one" })
        yield* agent.run({ sessionId: "s", input: "two" })
        assert.deepStrictEqual(yield* asked, { a: 3, b: 0 })
        assert.lengthOf(RunLog.only(yield* store.log("s"), "ContextCompacted"), 1)
      }))
  }

  it.effect("when a limit of the run is reached", () =>
    Effect.gen(function*() {
      const { agent, asked } = yield* agentOf({ a: () => Overloaded.fail(), b: [] }, {
        agent: { retry: RetryPolicy.make({ base: 0, maxRetries: 1 }), limits: { maxErrors: 1 } }
      })
      const result = yield* agent.run({ input: "go" })
      assert.deepStrictEqual([result._tag, yield* asked], ["Limited", { a: 2, b: 0 }])
    }))
})

describe("a model that took over", () => {
  const signed = { scripted: { signature: "sig-a" } }

  it.effect("stays for the rest of the run; a new run asks the first again", () =>
    Effect.gen(function*() {
      const { agent, asked, store } = yield* agentOf({
        a: [refused("Unknown"), ScriptedModel.text("back")],
        b: [TestAgent.work(1), TestAgent.work(2), ScriptedModel.text("ok")]
      })
      yield* agent.run({ sessionId: "s", input: "go" })
      assert.deepStrictEqual(yield* asked, { a: 1, b: 3 })
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.only(log, "TurnStarted").map(({ model }) => model.name), ["a-1", "b-1", "b-1"])
      assert.deepStrictEqual(answeredBy(log), ["b-1", "b-1", "b-1"])
      assert.strictEqual((yield* agent.run({ sessionId: "s", input: "again" })).text, "back")
    }))

  it.effect("does not get the previous model's reasoning, which that one gets back later", () =>
    Effect.gen(function*() {
      const { agent, requests } = yield* agentOf({
        a: [
          [ScriptedModel.reasoning("a thinks", signed), TestAgent.work(1)],
          refused("Unknown"),
          ScriptedModel.text("back")
        ],
        b: [[ScriptedModel.reasoning("b thinks", signed), ScriptedModel.text("ok")]]
      })
      yield* agent.run({ sessionId: "s", input: "go" })
      yield* agent.run({ sessionId: "s", input: "again" })
      const [byB] = yield* requests.b!
      const byA = yield* requests.a!
      assert.notInclude(JSON.stringify(byB), "thinks")
      assert.notInclude(JSON.stringify(byB), "sig-a")
      assert.include(JSON.stringify(byB), "done 1")
      for (const request of byA.slice(1)) assert.include(JSON.stringify(request), "a thinks")
      assert.notInclude(JSON.stringify(byA), "b thinks")
    }))

  it.effect("is asked by a resumed run too, which finds it in the log", () =>
    Effect.gen(function*() {
      const { agent, asked, store } = yield* agentOf({
        a: [refused("Unknown")],
        b: [TestAgent.work(1), ScriptedModel.text("ok")]
      }, { agent: { limits: { maxTurns: 1 } } })
      assert.strictEqual((yield* agent.run({ sessionId: "s", input: "go" }))._tag, "Limited")
      yield* Stream.runDrain(agent.resume({ sessionId: "s", limits: { maxTurns: 5 } }))
      assert.deepStrictEqual(yield* asked, { a: 1, b: 2 })
      assert.deepStrictEqual(switches(yield* store.log("s")), ["1: a-1 > b-1"])
    }))

  it.effect("is asked again even if another model, at another address, has its name", () =>
    Effect.gen(function*() {
      const { agent, asked } = yield* agentOf({
        a: [refused("Unknown")],
        b: [refused("Unknown")],
        b2: [TestAgent.work(1), ScriptedModel.text("ok")]
      })
      yield* agent.run({ sessionId: "s", input: "go" })
      assert.deepStrictEqual(yield* asked, { a: 1, b: 1, b2: 2 })
    }))

  it.effect("does not stay once the run has failed: resuming begins with the first", () =>
    Effect.gen(function*() {
      const { agent, asked, store } = yield* agentOf({
        a: [refused("Unknown"), ScriptedModel.text("back")],
        b: [refused("Authentication")]
      })
      yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
      yield* Stream.runDrain(agent.resume({ sessionId: "s" }))
      assert.deepStrictEqual(yield* asked, { a: 2, b: 1 })
      assert.deepStrictEqual(answeredBy(yield* store.log("s")), ["a-1"])
    }))

  it.effect("is forgotten by an agent that no longer has it", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* agentOf({ a: [refused("Unknown")], b: [TestAgent.work(1)] }, {
        agent: { limits: { maxTurns: 1 } }
      })
      yield* agent.run({ sessionId: "s", input: "go" })
      const other = yield* agentOf({ c: [ScriptedModel.text("ok")], d: [] }, { store })
      yield* Stream.runDrain(other.agent.resume({ sessionId: "s", limits: { maxTurns: 5 } }))
      assert.deepStrictEqual(yield* other.asked, { c: 1, d: 0 })
    }))

  it.effect("can be aborted while it waits, like any other", () =>
    Effect.gen(function*() {
      const busy = ScriptedModel.fail(
        new RunError.RetryableError<RunError.ProviderReason>({
          _tag: "Overloaded",
          message: "busy",
          retryAfter: 30_000
        })
      )
      const { agent, asked } = yield* agentOf({ a: [refused("Unknown")], b: [busy] })
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      const watch = yield* Watch.make(run.events)
      yield* watch.until("RetryScheduled")
      yield* run.abort
      yield* watch.over
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(RunLog.endOf(watch.seen), "RunAborted(requested)")
      assert.deepStrictEqual(yield* asked, { a: 1, b: 1 })
    }))
})

describe("models that are themselves several", () => {
  it.effect("are asked in order", () =>
    Effect.gen(function*() {
      const names: Array<string> = []
      const failing = (name: string) =>
        Layer.succeed(Model.Model, {
          info: { provider: "p", name: "same" },
          stream: () => {
            names.push(name)
            return Stream.fail(
              new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag: "Unknown", message: name })
            )
          }
        })
      const nested = ModelFallback.layer([failing("1"), failing("2")])
      const model = ModelFallback.layer([nested, failing("3")])
      const { agent } = yield* TestAgent.make([], { model: Layer.provide(StrictModel.layer, model) })
      const error = yield* Effect.flip(agent.run({ input: "go" }))
      assert.deepStrictEqual([names, error.message], [["1", "2", "3"], "3"])
    }))
})

describe("over sockets", () => {
  it.effect("a wrong key at one provider leads to the other's answer, with one request each", () =>
    Effect.gen(function*() {
      const wrong = yield* OpenAi.make(OpenAi.status(401, { error: { message: "bad key", code: "invalid_api_key" } }))
      const right = yield* OpenAi.make(
        OpenAi.events(OpenAi.data(OpenAi.delta({ content: "Hello" }), OpenAi.finish("stop")), OpenAi.done)
      )
      const at = ({ baseUrl }: OpenAi.Server) => ModelOpenAi.layer({ model: "m", baseUrl, apiKey: OpenAi.key })
      const model = Layer.orDie(ModelFallback.layer([at(wrong), at(right)]))
      const { agent } = yield* TestAgent.make([], { model })
      assert.strictEqual((yield* agent.run({ input: "go" })).text, "Hello")
      assert.deepStrictEqual([wrong.requests.length, right.requests.length], [1, 1])
    }))
})

describe("with hooks, a model that takes over", () => {
  /** Says in the messages which model they are for. */
  const named = (asked: Array<string>, isBlocking: (name: string) => boolean = () => false): Hook => ({
    name: "names",
    beforeModelCall: ({ messages, model }) =>
      Effect.suspend(() => {
        asked.push(model.name)
        return isBlocking(model.name)
          ? Effect.fail("no")
          : Effect.succeed({ messages: [{ role: "system" as const, content: `for ${model.name}` }, ...messages] })
      })
  })
  const scripts = { a: [refused("Authentication")], b: [ScriptedModel.text("ok")] }

  it.effect("is sent the messages that they make for it", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const { agent, requests } = yield* agentOf(scripts, { agent: { hooks: [named(asked)] } })
      assert.strictEqual((yield* agent.run({ sessionId: "s", input: "go" })).text, "ok")
      assert.deepStrictEqual(asked, ["a-1", "b-1"])
      for (const name of ["a", "b"]) {
        const [request] = yield* requests[name]!
        const system = request?.messages[0]
        assert.include(system?.role === "system" ? system.content : "", `for ${name}-1`)
      }
    }))

  it.effect("is not offered tools that they leave out for it, and cannot run them", () =>
    Effect.gen(function*() {
      const hooks: ReadonlyArray<Hook> = [{
        name: "cautious",
        beforeModelCall: ({ model }) => model.name === "b-1" ? Effect.succeed({ tools: ["look"] }) : Effect.void
      }]
      let ran = 0
      const { agent, requests, store } = yield* agentOf(
        { a: [refused("Authentication")], b: [TestAgent.work(1), ScriptedModel.text("ok")] },
        { agent: { hooks }, tool: () => Effect.sync(() => `${++ran}`) }
      )
      yield* agent.run({ sessionId: "s", input: "go" })
      const [request] = yield* requests["b"]!
      assert.deepStrictEqual(request?.tools.map(({ name }) => name), ["look"])
      const log = yield* store.log("s")
      assert.deepStrictEqual([RunLog.outcomes(log), ran], [["1.0 UnknownTool"], 0])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("begins the turn again in the log, with the tools that they leave it", () =>
    Effect.gen(function*() {
      const hooks: ReadonlyArray<Hook> = [{
        name: "cautious",
        beforeModelCall: ({ model }) => model.name === "b-1" ? Effect.succeed({ tools: ["look"] }) : Effect.void
      }]
      const { agent, store } = yield* agentOf(scripts, { agent: { hooks } })
      yield* agent.run({ sessionId: "s", input: "go" })
      const starts = (yield* store.log("s")).filter((event) => event._tag === "TurnStarted")
      assert.deepStrictEqual(
        starts.map(({ model, promptSeq, seq, tools, turn }) => [turn, model.name, seq - promptSeq, tools]),
        [[1, "a-1", 1, undefined], [1, "b-1", 1, ["look"]]]
      )
      assert.notStrictEqual(starts[0]?.inputDigest, starts[1]?.inputDigest)
    }))

  it.effect("is not asked when a guard blocks it", () =>
    Effect.gen(function*() {
      const hooks = [named([], (name) => name === "b-1")]
      const { agent, asked, store } = yield* agentOf(scripts, { agent: { hooks } })
      const { reason } = yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
      assert.strictEqual(reason._tag, "HookBlocked")
      assert.deepStrictEqual(yield* asked, { a: 1, b: 0 })
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
    }))
})

describe("a cost limit with several models", () => {
  const costly = { agent: { limits: { maxCost: 5 } } }
  const scripts = { a: [refused("Authentication")], b: [ScriptedModel.text("ok")] }
  const price = { input: 1_000_000, output: 0 }

  it.effect("needs the prices of all of them", () =>
    Effect.gen(function*() {
      const { agent, asked } = yield* agentOf(scripts, costly)
      const prices = Prices.table({ "a/a-1": price })
      const run = Effect.provideService(agent.run({ sessionId: "s", input: "go" }), Prices.Prices, prices)
      const { message, reason } = yield* Effect.flip(run)
      assert.strictEqual(reason._tag, "InvalidInput")
      assert.include(message, "b/b-1")
      assert.deepStrictEqual(yield* asked, { a: 0, b: 0 })
    }))

  it.effect("counts the price of the one that answered", () =>
    Effect.gen(function*() {
      const { agent } = yield* agentOf(scripts, costly)
      const prices = Prices.table({ "a/a-1": price, "b/b-1": { input: 2_000_000, output: 0 } })
      const run = Effect.provideService(agent.run({ sessionId: "s", input: "go" }), Prices.Prices, prices)
      const { usage } = yield* run
      assert.strictEqual(usage.cost, usage.inputTokens * 2)
    }))
})

describe("a rule that throws", () => {
  it.effect("fails the run, and the log keeps what the attempt cost", () =>
    Effect.gen(function*() {
      const cost = ScriptedModel.finish("error", { inputTokens: 7, outputTokens: 3 })
      const { agent, asked, store } = yield* agentOf({ a: [cost], b: [] }, {
        when: () => {
          throw new Error("no rule")
        }
      })
      yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.only(log, "AttemptDiscarded").map(({ usage }) => usage), [
        { inputTokens: 7, outputTokens: 3 }
      ])
      assert.deepStrictEqual(RunLog.only(log, "RunFailed").map(({ totals }) => totals.usage.inputTokens), [7])
      assert.deepStrictEqual(yield* asked, { a: 1, b: 0 })
    }))
})
