/**
 * Guarantee 5, interruption means stopped, beyond the process: every way to abort a run that has a connection to its
 * provider, or child processes. When the end is seen, and when the abort returns, the other side has seen the close and
 * no process is left, except for what is named; and in the end as much is running here as before.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as RunsLocal from "../../src/layers/RunsLocal.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import { Runs } from "../../src/services/Runs.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as AbortWays from "../support/AbortWays.ts"
import * as AbortWorld from "../support/AbortWorld.ts"
import * as Census from "../support/Census.ts"
import * as Hang from "../support/Hang.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

interface Way extends Pick<AbortWays.Way, "begin"> {
  readonly end: string
}

const ways: Record<string, Way> = {
  ...Object.fromEntries(
    Object.entries(AbortWays.ways).map(([how, { begin, reason }]) => [how, { begin, end: `RunAborted(${reason})` }])
  ),
  "the limit of its time": {
    end: "RunLimited(duration)",
    begin: (given) =>
      Effect.map(AbortWays.fromElsewhere(() => TestClock.adjust("1 minute"))(given), ({ abort, told }) => ({
        abort: Effect.andThen(abort, Effect.asVoid(told!)),
        told: told!
      }))
  }
}

/** What is open now and was not before; other tests' may have closed meanwhile. */
const more = (before: Census.Counts, now: Census.Counts) =>
  Object.entries(now.resources).filter(([kind, count]) => count > (before.resources[kind] ?? 0))

const cell = (make: (typeof AbortWorld.providers)[string], way: Way) => (census: Census.Census) =>
  Effect.gen(function*() {
    const world = yield* make
    const runs = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const made = yield* TestAgent.make(world.turns, {
      ...world.options,
      agent: { limits: { maxDuration: 60_000 } },
      runs: Layer.succeed(Runs, yield* Scope.provide(RunsLocal.make, runs))
    })
    assert.isTrue(yield* census.fewer(0))
    const before = census.counts()

    /** what was open when a reader saw the end */
    const early: Array<number> = []
    const see = (event: RunEvent.RunEvent) =>
      Effect.sync(() => {
        if (RunEvent.isEnd(event)) early.push(world.open())
      })
    const begun = yield* way.begin({ made, phase: world, runs, see })
    yield* world.reached(made.agent)
    assert.isAbove(world.open(), 0)
    const aborting = yield* Effect.forkChild(begun.abort)
    yield* world.passTime
    assert.isTrue(yield* Hang.ends(Fiber.await(aborting)), "the abort does not return")
    assert.strictEqual(world.open(), world.kept)
    if (begun.told !== undefined) {
      assert.isTrue(Exit.isSuccess(yield* begun.told))
      assert.deepStrictEqual(early, [world.kept])
    }

    const log = yield* made.store.log("s")
    assert.deepStrictEqual(RunLog.violations(log), [])
    assert.strictEqual(RunLog.endOf(log), way.end)
    const end = log.at(-1)!
    assert.deepStrictEqual("leftBehind" in end ? end.leftBehind : [], world.named)
    const next = yield* TestAgent.make([ScriptedModel.text("hello")], { store: made.store })
    assert.strictEqual((yield* next.agent.run({ sessionId: "s", input: "hello?" }))._tag, "Completed")
    assert.isTrue(yield* census.fewer(before.fibers), "fibers are left")
    if (world.kept > world.named.length) return
    assert.deepStrictEqual(more(before, census.counts()), [])
    assert.deepStrictEqual({ ...census.counts(), resources: {} }, { ...before, resources: {} })
  }).pipe(Effect.scoped)

for (const [name, make] of Object.entries({ ...AbortWorld.providers, ...AbortWorld.commands })) {
  describe(name in AbortWorld.providers ? `a run that is ${name}` : `a run whose command has ${name}`, () => {
    for (const [how, way] of Object.entries(ways)) it.effect(how, () => Census.during(cell(make, way)))
  })
}
