/** An abort that is asked of a drive before its first event is stored, and that the drive has heard. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as Drafts from "../support/Drafts.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

it.effect.each<readonly [string, boolean]>([["by hand", true], ["as it is found", false]])(
  "an abort asked while a run is resumed, %s, ends it, and no turn begins meanwhile",
  ([, isByHand]) =>
    Effect.gen(function*() {
      const store = yield* DeadRun.of(DeadRun.unanswered())
      const first = TestStore.holding(() => true)
      const request = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "AbortRequested"))
      store.onAppend = ({ events, n, store }) =>
        first.onAppend({ events, n, store: request.onAppend({ events, n, store }) })
      let turns = 0
      const { agent, script } = yield* TestAgent.make([ScriptedModel.text("on")], {
        store,
        agent: {
          prepareTurn: () => {
            turns++
          }
        }
      })
      const starting = yield* Effect.forkChild(
        isByHand ? Effect.asVoid(agent.resumeStart({ sessionId: "s" })) : Effect.asVoid(agent.recover())
      )
      yield* first.reached
      assert.isTrue(yield* store.service.askToAbort!("s", "s run"))
      yield* first.release
      yield* request.reached
      // the store takes its time
      yield* TestClock.adjust("1 second")
      yield* request.release
      yield* Fiber.join(starting)
      const run = yield* agent.liveIn("s")
      if (run !== undefined) yield* Effect.exit(run.result)
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunAborted(requested)")
      assert.strictEqual(turns, 0)
      assert.lengthOf(yield* script.requests, 0)
    })
)

it.effect("an answer that waits for the run to begin does not count where an abort was asked before that, and its giver hears so", () =>
  Effect.gen(function*() {
    const store = yield* DeadRun.of([
      { ...Drafts.started("go"), agent: "test/Tested" },
      Drafts.turnStarted(1),
      Drafts.assistant([Drafts.call("work", { n: 0 })]),
      { ...Drafts.approvalRequested("1.0"), tool: "work", params: { n: 0 } }
    ])
    const first = TestStore.holding(() => true)
    store.onAppend = first.onAppend
    const { agent } = yield* TestAgent.make([], { store })
    const recovering = yield* Effect.forkChild(agent.recover())
    yield* first.reached
    const decision = { sessionId: "s", approvalId: "1.0", approved: true }
    const deciding = yield* Effect.forkChild(Effect.flip(agent.decide(decision)), { startImmediately: true })
    assert.isTrue(yield* store.service.askToAbort!("s", "run-1"))
    yield* first.release
    yield* Fiber.join(recovering)
    assert.strictEqual((yield* Fiber.join(deciding)).reason._tag, "ApprovalNotOpen")
    const log = yield* store.log("s")
    assert.lengthOf(RunLog.only(log, "ApprovalResolved"), 0)
    assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 NotExecuted(aborted)"])
    assert.strictEqual(RunLog.endOf(log), "RunAborted(requested)")
  }))
