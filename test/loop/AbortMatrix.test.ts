/**
 * Guarantee 5, interruption means stopped, as a matrix: every phase of a run, every way to abort it, and whether what
 * holds the phase stops when told. The run has one end with its reason, or a typed refusal before its first event; what
 * did not stop is named and nothing else; the session takes a message at once; in the end as much is running as before.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as RunsLocal from "../../src/layers/RunsLocal.ts"
import type * as RunError from "../../src/run/RunError.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import { Runs } from "../../src/services/Runs.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import type * as AbortPhase from "../support/AbortPhase.ts"
import * as AbortPhases from "../support/AbortPhases.ts"
import * as AbortWays from "../support/AbortWays.ts"
import * as Census from "../support/Census.ts"
import * as Hang from "../support/Hang.ts"
import * as Obstacle from "../support/Obstacle.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

/** An agent with the run in the phase before, its live runs in a layer of their own. */
const prepare = Effect.fnUntraced(function*(phase: AbortPhase.Phase) {
  const runs = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
  const made = yield* TestAgent.make([...phase.turns, ScriptedModel.text("hello")], {
    ...phase.options,
    runs: Layer.succeed(Runs, yield* Scope.provide(RunsLocal.make, runs))
  })
  return { made, runs }
})

/** Aborts, and says whether it returned in time. */
const abort = Effect.fnUntraced(function*(
  begun: AbortWays.Begun,
  obstacle: Obstacle.Obstacle,
  meanwhile: Effect.Effect<unknown>
) {
  const aborting = yield* Effect.forkChild(begun.abort)
  yield* Effect.yieldNow
  const beside = yield* Effect.forkChild(meanwhile)
  if (obstacle.manner === "slow") yield* obstacle.letGo
  if (obstacle.manner === "finalizing") {
    yield* obstacle.finalizes
    assert.isUndefined(aborting.pollUnsafe())
    yield* obstacle.finish
  }
  // four grace periods
  if (obstacle.manner === "stuck") yield* TestClock.adjust("20 seconds")
  const isOver = yield* Hang.ends(Fiber.await(aborting))
  yield* Fiber.join(beside)
  return isOver
})

const reasonOf = (exit: Exit.Exit<unknown, RunError.RunError>): string => {
  const error = Exit.findErrorOption(exit)
  return error._tag === "Some" ? error.value.reason._tag : exit._tag
}

/** Says yes, but after the run was told to stop: that counts only where the run goes on later. */
const decide = Effect.fnUntraced(function*(
  { agent }: TestAgent.TestAgent,
  approvalId: string,
  { reason }: Pick<AbortWays.Way, "reason">
) {
  const exit = yield* Effect.exit(agent.decide({ sessionId: "s", approvalId, approved: true }))
  assert.strictEqual(reasonOf(exit), reason === "shutdown" ? "Success" : "ApprovalNotOpen")
})

const answers = Effect.fnUntraced(function*({ agent, store }: TestAgent.TestAgent) {
  const result = yield* agent.run({ sessionId: "s", input: "hello?" })
  assert.strictEqual(result._tag, "Completed")
  assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
})

const cell = (kind: AbortPhase.Kind, way: AbortWays.Way, manner: Obstacle.Manner) => (census: Census.Census) =>
  Effect.gen(function*() {
    const obstacle = Obstacle.make(manner, kind.all)
    yield* Effect.addFinalizer(() => obstacle.letGo)
    const phase = yield* kind.make(obstacle)
    const { made, runs } = yield* prepare(phase)
    const { script, store } = made
    assert.isTrue(yield* census.fewer(0))
    const before = census.counts()
    const isStuck = manner === "stuck"
    const unended = yield* store.log("s")

    /** the events that the reader saw, and what was still running when it saw the end */
    const seen: Array<RunEvent.RunEvent> = []
    const early: Array<number> = []
    const see = (event: RunEvent.RunEvent) =>
      Effect.gen(function*() {
        seen.push(event)
        if (RunEvent.isEnd(event) && !isStuck) early.push(obstacle.held(), yield* script.openStreams)
      })
    const begun = yield* way.begin({ made, phase, runs, see })
    yield* phase.reached ?? obstacle.reached
    const live = phase.hasStuckReader === true ? yield* made.agent.live(phase.runId) : undefined
    const stuckReader = live && (yield* Effect.forkChild(Stream.runForEach(live.events, () => Effect.never)))

    const meanwhile = phase.decides === undefined ? Effect.void : decide(made, phase.decides, way)
    assert.isTrue(yield* abort(begun, obstacle, meanwhile), "the abort does not return")
    if (!isStuck) assert.strictEqual(obstacle.held(), 0)
    const told = begun.told && reasonOf(yield* begun.told)
    const next = way.closes === true
      ? yield* TestAgent.make([ScriptedModel.text("hello")], { store })
      : made

    if (phase.comesTo === "refused") {
      const log = yield* store.log("s")
      assert.deepStrictEqual(log.filter((event) => event.runId === phase.runId), [])
      if (told !== undefined) {
        assert.strictEqual(told, way.reason === "shutdown" ? "ShuttingDown" : "AbortedBeforeStart")
      }
    } else {
      if (isStuck && phase.isStore === true) {
        if (told !== undefined) assert.strictEqual(told, "StoreUnavailable")
        yield* obstacle.letGo
        yield* census.fewer(before.fibers)
      }
      const found = (yield* store.log("s")).slice(unended.length)
      // an answer may come after the end
      const log = found.slice(0, found.findLastIndex(RunEvent.isEnd) + 1)
      const end = phase.comesTo === "completed" ? "RunCompleted(stop)" : `RunAborted(${way.reason})`
      assert.strictEqual(RunLog.endOf(log), end)
      assert.deepStrictEqual(RunLog.violations([...unended, ...log]), [])
      const begins = log.findLastIndex(({ _tag }) => _tag === "RunStarted" || _tag === "RunResumed")
      assert.lengthOf(log.slice(begins).filter(RunEvent.isEnd), 1)
      if (phase.decides !== undefined) assert.notInclude(RunLog.tags(log), "ToolStarted")
      const last = log.at(-1)!
      const named = isStuck ? phase.named : []
      assert.deepStrictEqual("leftBehind" in last ? last.leftBehind : [], named)
      if (told !== undefined && !(isStuck && phase.isStore === true)) {
        assert.strictEqual(told, "Success")
        assert.strictEqual(RunLog.endOf(seen), end)
        assert.deepStrictEqual(early, isStuck ? [] : [0, 0])
      }
    }

    yield* answers(next)
    const log = yield* store.log("s")
    yield* obstacle.letGo
    if (stuckReader !== undefined) yield* Fiber.interrupt(stuckReader)
    assert.isTrue(yield* census.fewer(before.fibers), "fibers are left")
    assert.deepStrictEqual(census.counts(), before)
    assert.deepStrictEqual(yield* store.log("s"), log)
    assert.strictEqual(yield* script.openStreams, 0)
    assert.strictEqual(obstacle.held(), 0)
  }).pipe(Effect.scoped)

for (const [name, kind] of Object.entries(AbortPhases.kinds)) {
  describe(`a run that is ${name}`, () => {
    for (const [how, way] of Object.entries(AbortWays.ways)) {
      for (const manner of kind.manners) {
        if (way.isEarly || !kind.isEarly) it.effect(`${how}: ${manner}`, () => Census.during(cell(kind, way, manner)))
      }
    }
  })
}
