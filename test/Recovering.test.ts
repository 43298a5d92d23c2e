/** The layer that takes up, again and again, what was left by processes that died. */
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Agent from "../src/Agent.ts"
import * as RunError from "../src/run/RunError.ts"
import * as ScriptedModel from "../src/testing/ScriptedModel.ts"
import * as DeadRun from "./support/DeadRun.ts"
import * as TestAgent from "./support/TestAgent.ts"
import * as TestStore from "./support/TestStore.ts"

class Held extends Context.Service<Held, Agent.Client<string>>()("test/Held") {}

it.effect("looks at once, and every half minute for what was left since", () =>
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

it.effect("says once of each what cannot go on, and goes on looking where it cannot look", () =>
  Effect.gen(function*() {
    const said: Array<unknown> = []
    const refused = [{ sessionId: "s", error: RunError.invalidInput("input", "it is broken") }]
    let looks = 0
    const recover = () =>
      Effect.suspend(() =>
        ++looks === 2 ? Effect.fail(RunError.sessionNotFound("x")) : Effect.succeed({ runs: [], refused })
      )
    const agent = Layer.succeed(Held, { recover } as unknown as Agent.Client<string>)
    const logger = Logger.layer([Logger.make(({ message }) => said.push(message))])
    yield* Layer.build(Layer.provide(Agent.recovering(Held, { every: "1 minute" }), [agent, logger]))
    yield* TestClock.adjust("3 minutes")
    assert.strictEqual(looks, 4)
    assert.lengthOf(said, 2)
    assert.include(JSON.stringify(said), "it is broken")
  }))

it.effect("wrong values are a defect", () =>
  Effect.gen(function*() {
    const { agent } = yield* TestAgent.make([])
    const built = Layer.build(Layer.provide(Agent.recovering(Held, { limit: 0 }), Layer.succeed(Held, agent)))
    assert.isTrue(Exit.hasDies(yield* Effect.exit(built)))
  }))
