/** Services that are instances of classes: the loop takes no method off its object, and copies none. */
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as RunsLocal from "../../src/layers/RunsLocal.ts"
import * as ToolExecutorToolkit from "../../src/layers/ToolExecutorToolkit.ts"
import { Approver } from "../../src/services/Approver.ts"
import * as ContextManager from "../../src/services/ContextManager.ts"
import { type Hook, Hooks } from "../../src/services/Hooks.ts"
import * as Model from "../../src/services/Model.ts"
import { Observers } from "../../src/services/Observers.ts"
import { Reconciler } from "../../src/services/Reconciler.ts"
import * as Runs from "../../src/services/Runs.ts"
import { SessionStore } from "../../src/services/SessionStore.ts"
import { Tokenizer } from "../../src/services/Tokenizer.ts"
import * as ToolExecutor from "../../src/services/ToolExecutor.ts"
import * as Sessions from "../../src/Sessions.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Bound from "../support/Bound.ts"
import * as ClassStore from "../support/ClassStore.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const bound = <I, S extends object, E, R>(key: Context.Key<I, S>, layer: Layer.Layer<I, E, R>) =>
  Layer.effect(key, Effect.map(Effect.map(Layer.build(layer), Context.get(key)), (service) => Bound.only<S>(service)))

/** The same store with another service before it, of a class. */
const ofClass = (store: TestStore.TestStore): TestStore.TestStore => {
  const service = ClassStore.of(store.service)
  return { ...store, service, layer: Layer.succeed(SessionStore, service) }
}

const info = { provider: "scripted", name: "scripted", contextWindow: 100_000 }

const agentOf = (
  turns: Parameters<typeof ScriptedModel.layer>[0],
  store: TestStore.TestStore,
  options: TestAgent.Options["agent"] = {}
) =>
  TestAgent.make([], {
    agent: options,
    store: ofClass(store),
    model: Layer.merge(
      bound(Model.Model, ScriptedModel.layer(turns, { info })),
      bound(ToolExecutor.ToolExecutor, ToolExecutorToolkit.layer)
    ),
    context: bound(ContextManager.ContextManager, ContextWindow.layer),
    runs: bound(Runs.Runs, RunsLocal.layer)
  })

it.effect("a run asks, is listed with its question, and goes on once that is answered", () =>
  Effect.gen(function*() {
    const { agent, store } = yield* agentOf(
      [TestAgent.work(1), ScriptedModel.text("done")],
      yield* TestStore.make(),
      { toolPolicy: { requireApprovalByDefault: true } }
    )
    yield* agent.run({ sessionId: "s", runId: "r", input: "go" })
    const kept = Effect.provideService(SessionStore, store.service)
    const listed = yield* kept(Stream.runCollect(Sessions.list()))
    assert.deepStrictEqual(listed.map(({ sessionId }) => sessionId), ["s"])
    const [asking] = yield* kept(Stream.runCollect(Sessions.asking))
    assert.deepStrictEqual(asking?.approvals.map(({ id }) => id), ["r/1.0"])
    yield* agent.decide({ sessionId: "s", approvalId: "r/1.0", approved: true })
    assert.strictEqual((yield* agent.resumeRun({ sessionId: "s" })).text, "done")
  }))

it.effect("a run that died is taken up, and its call looked up", () =>
  Effect.gen(function*() {
    const { agent, store } = yield* agentOf([ScriptedModel.text("done")], yield* DeadRun.leftBy([TestAgent.work(1)]))
    const reconciler = Bound.only({ reconcile: () => Effect.succeed({ _tag: "Done", result: "paid" } as const) })
    const { refused, runs } = yield* Effect.provideService(agent.recover(), Reconciler, reconciler)
    assert.deepStrictEqual(refused, [])
    assert.strictEqual((yield* runs[0]!.result).text, "done")
    const settled = (yield* store.log("s")).flatMap((event) => event._tag === "ToolSettled" ? [event.outcome._tag] : [])
    assert.deepStrictEqual(settled, ["Succeeded"])
  }))

it.effect("what counts tokens, what answers, and what watches a run are asked with their objects", () =>
  Effect.gen(function*() {
    const store = yield* TestStore.make()
    const { agent } = yield* agentOf([TestAgent.work(1), ScriptedModel.text("done")], store, {
      toolPolicy: { requireApprovalByDefault: true }
    })
    const seen: Array<string> = []
    const see = (what: string) => Effect.sync(() => void seen.push(what))
    const hook: Hook = {
      name: "hook",
      beforeModelCall: () => see("beforeModelCall"),
      afterModelCall: () => see("afterModelCall"),
      beforeToolCall: () => see("beforeToolCall"),
      afterToolCall: () => see("afterToolCall")
    }
    let counted = 0
    const { text } = yield* agent.run({ sessionId: "s", input: "go" }).pipe(
      Effect.provideService(Hooks, [Bound.only(hook)]),
      Effect.provideService(Observers, [Bound.only({ name: "observer", observe: () => see("observe") })]),
      Effect.provideService(Approver, Bound.only({ ask: () => Effect.as(see("ask"), { approved: true } as const) })),
      Effect.provideService(
        Tokenizer,
        Bound.only({
          count: ({ length }: string) => {
            counted += length
            return length
          }
        })
      )
    )
    assert.strictEqual(text, "done")
    assert.isAbove(counted, 0)
    const each = ["afterModelCall", "afterToolCall", "ask", "beforeModelCall", "beforeToolCall", "observe"]
    assert.deepStrictEqual([...new Set(seen)].sort(), each)
  }))
