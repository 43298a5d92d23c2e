/** The layer that repeatedly takes up what dead processes left behind. */
import { assert, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Agent from "../src/Agent.ts"
import * as RunError from "../src/run/RunError.ts"
import * as RunEvent from "../src/run/RunEvent.ts"
import * as ScriptedModel from "../src/testing/ScriptedModel.ts"
import * as Bound from "./support/Bound.ts"
import * as DeadRun from "./support/DeadRun.ts"
import * as TestAgent from "./support/TestAgent.ts"
import * as TestStore from "./support/TestStore.ts"
import * as Traces from "./support/Traces.ts"

class Held extends Context.Service<Held, Agent.Client<string>>()("test/Held") {}

it.effect("looks at once, then every half minute for what was left behind since", () =>
  Effect.gen(function*() {
    const store = yield* TestStore.make()
    yield* DeadRun.write(store, "s1", DeadRun.unanswered("test/Tested", "s1"))
    const { agent } = yield* TestAgent.make([ScriptedModel.text("one"), ScriptedModel.text("two")], { store })
    const completed = (sessionId: string) =>
      store.service.watch(sessionId).pipe(
        Stream.filter(({ _tag }) => _tag === "RunCompleted"),
        Stream.take(1),
        Stream.runDrain
      )
    yield* Layer.build(Layer.provide(Agent.recovering(Held), Layer.succeed(Held, agent)))
    yield* completed("s1")
    yield* DeadRun.write(store, "s2", DeadRun.unanswered("test/Tested", "s2"))
    yield* TestClock.adjust("29 seconds")
    assert.lengthOf(yield* store.log("s2"), 2)
    yield* TestClock.adjust("1 second")
    yield* completed("s2")
  }))

it.effect("takes an agent that was made without a class, too", () =>
  Effect.gen(function*() {
    const store = yield* DeadRun.of(DeadRun.unanswered())
    const { agent } = yield* TestAgent.make([ScriptedModel.text("one")], { store })
    yield* Layer.build(Agent.recovering(agent))
    const ended = store.service.watch("s").pipe(Stream.filter(({ _tag }) => _tag === "RunCompleted"), Stream.runHead)
    assert.isTrue(Option.isSome(yield* ended))
  }))

it.effect("reports each run that cannot continue once, and keeps looking whatever a look ends with", () =>
  Effect.gen(function*() {
    const said: Array<unknown> = []
    const refused = [{ sessionId: "s", error: RunError.invalidInput("input", "it is broken") }]
    let looks = 0
    const looked: Record<number, Effect.Effect<unknown, unknown>> = {
      2: Effect.fail(RunError.shuttingDown),
      3: Effect.die(new Error("a bug")),
      5: Effect.succeed({ runs: [], refused: [], stoppedBy: RunError.sessionNotFound("gone") })
    }
    const recover = () => Effect.suspend(() => looked[++looks] ?? Effect.succeed({ runs: [], refused }))
    const agent = Layer.succeed(Held, { recover } as unknown as Agent.Client<string>)
    const logger = Logger.layer([Logger.make(({ message }) => said.push(message))])
    yield* Layer.build(Layer.provide(Agent.recovering(Held, { every: "1 minute" }), [agent, logger]))
    yield* TestClock.adjust("6 minutes")
    assert.strictEqual(looks, 7)
    const of = (text: string) => said.filter((message) => JSON.stringify(message).includes(text)).length
    // it counts as news again after a look that did not refuse it
    assert.deepStrictEqual([of("it is broken"), of("stopped early"), said.length], [2, 3, 5])
  }))

it.effect("says of a run that fails after it was taken up why it did, once", () =>
  Effect.gen(function*() {
    const said: Array<string> = []
    const heard = yield* Deferred.make<void>()
    const logger = Logger.make(({ message }) => {
      said.push(String(message))
      Deferred.doneUnsafe(heard, Effect.void)
    })
    const store = yield* DeadRun.of(DeadRun.unanswered())
    const refusal = new RunError.NonRetryableError({ _tag: "Authentication", message: "no such key" } as const)
    const { agent } = yield* TestAgent.make([ScriptedModel.fail(refusal)], { store })
    yield* Layer.build(Layer.provide(Agent.recovering(agent), Logger.layer([logger])))
    yield* Deferred.await(heard)
    yield* TestClock.adjust("2 minutes")
    assert.deepStrictEqual(said, [
      "session \"s\" has not been continued to its end: The run failed because the provider refused the key: no such key; " +
      "set a key that it accepts, then resume the run."
    ])
  }))

it.effect("a client that is an instance of a class is asked as one", () =>
  Effect.gen(function*() {
    const { agent } = yield* TestAgent.make([])
    let looks = 0
    const recover = () => Effect.sync(() => ({ runs: [], refused: [], looks: ++looks }))
    const client = Layer.succeed(Held, Bound.only({ ...agent, recover }))
    yield* Layer.build(Layer.provide(Agent.recovering(Held, { every: "1 minute" }), client))
    yield* TestClock.adjust("1 minute")
    assert.strictEqual(looks, 2)
  }))

it.effect("the span of a run that continues has no parent in the layer's construction", () =>
  Effect.gen(function*() {
    const { spans, tracer } = Traces.make()
    const store = yield* TestStore.make()
    yield* DeadRun.write(store, "s", DeadRun.unanswered())
    const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], { store })
    yield* Layer.build(Layer.provide(Agent.recovering(Held), Layer.succeed(Held, agent))).pipe(
      Effect.withSpan("startup"),
      Effect.withTracer(tracer)
    )
    yield* store.service.watch("s").pipe(Stream.filter(RunEvent.isEnd), Stream.take(2), Stream.runDrain)
    const [run] = spans.filter(({ name }) => name.startsWith("invoke_agent"))
    assert.isTrue(run !== undefined && Option.isNone(run.parent))
  }))

for (const wrong of [{ limit: 0 }, { every: 0 }, { every: Infinity }, { every: NaN }, { every: "often" as never }]) {
  it.effect(`${JSON.stringify(wrong)} is a defect`, () =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([])
      const built = Layer.build(Layer.provide(Agent.recovering(Held, wrong), Layer.succeed(Held, agent)))
      assert.isTrue(Exit.hasDies(yield* Effect.exit(built)))
    }))
}

it.effect.each<readonly [unknown, unknown, string]>([
  [Held, null, "recovering has every, limit, answered, within: give an object of these, not null"],
  [Held, "30 seconds", "recovering has every, limit, answered, within: give an object of these, not a string"],
  [Held, { evry: "1 minute" }, "recovering has no \"evry\"; it has every, limit, answered, within"],
  [undefined, {}, "recovering takes an agent's service, or what Agent.make returns, not undefined"],
  [Promise.resolve(), {}, "recovering takes an agent's service, or what Agent.make returns, not a promise"],
  [Effect.succeed({}), {}, "recovering takes an agent's service, or what Agent.make returns, not an object"]
])("is a defect that says what is wrong: %#", ([agent, options, says]) =>
  Effect.gen(function*() {
    const client = (yield* TestAgent.make([])).agent
    const layer = Layer.suspend(() => Agent.recovering(agent as typeof Held, options as {}))
    const exit = yield* Effect.exit(Layer.build(Layer.provide(layer, Layer.succeed(Held, client))))
    assert(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    assert.include(String(Cause.squash(exit.cause)), says)
  }))
