/** Agents of one process that is shut down: their runs end together, whoever made them, and none works on because of another one's end. */
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import type * as RunError from "../../src/run/RunError.ts"
import * as Hooks from "../../src/services/Hooks.ts"
import type { ModelRequest } from "../../src/services/Model.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Hang from "../support/Hang.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestStore from "../support/TestStore.ts"

const shape = { success: Schema.String, failure: Schema.String, dependencies: [ToolCall] }
const Outer = Toolkit.make(Tool.make("ask", shape).annotate(Tool.Idempotent, true))
const Inner = Toolkit.make(Tool.make("dig", shape).annotate(Tool.Idempotent, true))
const [outerIs, innerIs] = [{ instructions: "Ask.", toolkit: Outer }, { instructions: "Dig.", toolkit: Inner }]

class OuterAgent extends Agent.Service<OuterAgent>()("test/Outer", outerIs) {}
class InnerAgent extends Agent.Service<InnerAgent>()("test/Inner", innerIs) {}

/** How the layers of the two agents are made: an agent of a class ends its runs itself, the runs of another one end with `Runs`. */
const made = {
  outer: { class: OuterAgent.layer, make: Layer.effect(OuterAgent, Agent.make({ name: "test/Outer", ...outerIs })) },
  inner: { class: InnerAgent.layer, make: Layer.effect(InnerAgent, Agent.make({ name: "test/Inner", ...innerIs })) }
}
type Made = "class" | "make"

/** The first turn of each run makes a call, the second one answers. */
const answer = ({ messages, metadata }: ModelRequest): ScriptedModel.Turn =>
  metadata.turn > 1
    ? ScriptedModel.text("done")
    : ScriptedModel.call(JSON.stringify(messages[0]).includes("Ask.") ? "ask" : "dig", {})

interface Options {
  readonly store: TestStore.TestStore
  readonly outer: Made
  readonly inner: Made
  /** which of the two, if any, has its runs live in a `Fiberloop.layer` of its own */
  readonly apart?: "outer" | "inner" | "none" | undefined
  readonly dig?: Effect.Effect<string>
  /** how the handler of the outer agent has the inner one work: with `runAgent` unless given */
  readonly work?: (agent: Agent.Client<string>) => Effect.Effect<string, string, ToolCall>
}

const runAgent: Options["work"] = (agent) => ToolCall.runAgent(agent, { input: "dig" })

/** A process with both agents, the inner one of which works for calls of the outer one. */
const start = Effect.fnUntraced(
  function*({ apart, dig = Effect.succeed("found"), inner, outer, store, work = runAgent }: Options) {
    const scope = yield* Scope.make()
    yield* Effect.addFinalizer((exit) => Scope.close(scope, exit))
    const ask = Effect.map(InnerAgent, (agent) => ({ ask: () => work(agent) }))
    const services = Layer.mergeAll(ScriptedModel.layer(answer), store.layer)
    const runs = (of: Options["apart"]) => of === apart ? Layer.fresh(Fiberloop.layer) : Fiberloop.layer
    const layer = made.outer[outer].pipe(
      Layer.provide([Outer.toLayer(ask), runs("outer")]),
      Layer.provideMerge(Layer.provide(made.inner[inner], [Inner.toLayer({ dig: () => dig }), runs("inner")])),
      Layer.provide(services)
    )
    const context = yield* Layer.buildWithScope(layer, scope)
    return {
      outer: Context.get(context, OuterAgent),
      inner: Context.get(context, InnerAgent),
      close: Scope.close(scope, Exit.void)
    }
  }
)

/** Work that never ends, and what waits until it has begun. */
const endless = Effect.map(Deferred.make<void>(), (begun) => ({
  dig: Effect.andThen(Deferred.succeed(begun, undefined), Effect.never),
  begun: Deferred.await(begun)
}))

/** How a handler asks an agent without `runAgent`. */
type Asking = (
  agent: Agent.Client<string>,
  input: Parameters<Agent.Client<string>["run"]>[0]
) => Effect.Effect<string, RunError.RunError>

const go = { sessionId: "s", runId: "r", input: "go" }
const below = "s/r/1.0"
const shutDown = "RunAborted(shutdown)"

/** Both runs ended with the process, and their calls wait for the next one, which goes on with both. */
const check = Effect.fnUntraced(function*(
  store: TestStore.TestStore,
  closing: Fiber.Fiber<void>,
  apart?: Options["apart"]
) {
  assert.isTrue(yield* Hang.ends(Fiber.await(closing)), "a run holds the shutdown up")
  for (const id of ["s", below]) {
    const log = yield* store.log(id)
    assert.deepStrictEqual([RunLog.outcomes(log), RunLog.endOf(log)], [[], shutDown], id)
    assert.strictEqual(RunLog.only(log, "TurnStarted").length, 1, id)
  }
  const { outer } = yield* start({ store, outer: "class", inner: "class", apart })
  const { runs } = yield* outer.recover()
  assert.deepStrictEqual(runs.map(({ sessionId }) => sessionId), ["s"])
  assert.deepInclude(yield* runs[0]!.result, { _tag: "Completed", text: "done" })
  for (const id of ["s", below]) assert.deepStrictEqual(RunLog.outcomes(yield* store.log(id)), ["1.0 Succeeded"], id)
})

describe("a shutdown while an agent works for the call of another one", () => {
  const ways = (["class", "make"] as const).flatMap((outer) =>
    (["class", "make"] as const).map((inner) => ({ outer, inner }))
  )

  it.effect.each(ways.flatMap((way) => (["none", "outer", "inner"] as const).map((apart) => ({ ...way, apart }))))(
    "loses neither run, the outer one of $outer, the inner one of $inner, where runs of $apart live apart",
    ({ apart, ...way }) =>
      Effect.gen(function*() {
        const store = yield* TestStore.make()
        const { begun, dig } = yield* endless
        const { close, outer } = yield* start({ ...way, apart, store, dig })
        yield* outer.start(go)
        yield* begun
        yield* check(store, yield* Effect.forkDetach(close), apart)
      })
  )

  it.effect.each(ways)(
    "that began before it, the outer one of $outer, the inner one of $inner",
    (way) =>
      Effect.gen(function*() {
        const store = yield* TestStore.make()
        const first = yield* endless
        const before = yield* start({ ...way, store, dig: first.dig })
        yield* before.outer.start(go)
        yield* first.begun
        yield* before.close
        const second = yield* endless
        const { close, inner, outer } = yield* start({ ...way, store, dig: second.dig })
        yield* inner.resumeStart({ sessionId: below })
        yield* second.begun
        yield* outer.resumeStart({ sessionId: "s" })
        yield* TestStore.logged(store, "s", "ToolStarted", 2)
        yield* check(store, yield* Effect.forkDetach(close))
      })
  )

  it.effect.each([
    ["runs the agent itself", (agent, input) => Effect.map(agent.run(input), ({ text }) => text)],
    ["reads the agent's stream", (agent, input) => Effect.as(Stream.runDrain(agent.stream(input)), "read")]
  ] as ReadonlyArray<readonly [string, Asking]>)(
    "loses neither run where the handler %s",
    ([, ask]) =>
      Effect.gen(function*() {
        const store = yield* TestStore.make()
        const { begun, dig } = yield* endless
        const { close, outer } = yield* start({
          store,
          outer: "make",
          inner: "make",
          dig,
          work: Effect.fnUntraced(function*(agent) {
            const { idempotencyKey } = yield* ToolCall
            return yield* Effect.catch(
              ask(agent, { runId: idempotencyKey, input: "dig" }),
              ({ message }) => Effect.succeed(message)
            )
          })
        })
        yield* outer.start(go)
        yield* begun
        yield* check(store, yield* Effect.forkDetach(close))
      })
  )

  it.effect.each(
    [
      ["like that of any caller who is interrupted", "s", "RunAborted(consumer)"],
      ["with the run around it, where that works for a call", below, shutDown]
    ] as const
  )("ends a run that a hook asked for %s", ([, asking, end]) =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const { begun, dig } = yield* endless
      const { close, inner, outer } = yield* start({ store, outer: "class", inner: "class", dig })
      const asks: Hooks.Hook = {
        name: "asks",
        beforeToolCall: ({ sessionId }) =>
          sessionId === asking
            ? Effect.asVoid(Effect.orDie(inner.run({ sessionId: "hook", input: "dig" })))
            : Effect.void
      }
      yield* Effect.provideService(outer.start(go), Hooks.Hooks, [asks])
      yield* begun
      yield* close
      assert.strictEqual(RunLog.endOf(yield* store.log(asking)), shutDown)
      assert.strictEqual(RunLog.endOf(yield* store.log("hook")), end)
    }))
})
