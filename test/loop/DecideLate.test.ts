/** An answer whose tool takes so long to check it that its run ends meanwhile, or is told to stop. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import * as TestClock from "effect/testing/TestClock"
import * as RunEvent from "../../src/run/RunEvent.ts"
import type * as RunInput from "../../src/run/RunInput.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Suspended from "../support/Suspended.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

/** A run with a call that waits for a person, another one at work, and a result for the first that its tool is still checking. */
const checking = Effect.fnUntraced(function*(input: Partial<RunInput.RunInput> = {}) {
  const [asked, checked, working, worked, stopping, stopped] = yield* Effect.all([
    Deferred.make<void>(),
    Deferred.make<void>(),
    Deferred.make<void>(),
    Deferred.make<void>(),
    Deferred.make<void>(),
    Deferred.make<void>()
  ])
  const slowly = Effect.andThen(Deferred.succeed(asked, undefined), Deferred.await(checked))
  const success = Schema.String.pipe(Schema.decodeTo(Schema.String, {
    decode: SchemaGetter.transformEffect((text: string) => Effect.as(slowly, text)),
    encode: SchemaGetter.passthrough()
  }))
  const work = TestAgent.kit.tools.work.setSuccess(success).setNeedsApproval(true)
  const approver = Approvals.desk()
  const made = yield* Suspended.before([[TestAgent.work(1, "a"), TestAgent.look(2, "b")]], {
    approver,
    agent: { toolkit: Approvals.withWork(work as never), toolPolicy: { maxParallel: 2 } },
    tool: () =>
      Deferred.succeed(working, undefined).pipe(
        Effect.andThen(Deferred.await(worked)),
        Effect.as("seen"),
        Effect.onInterrupt(() => Effect.andThen(Deferred.succeed(stopping, undefined), Deferred.await(stopped)))
      )
  })
  const run = yield* made.agent.start({ ...Suspended.go, ...input })
  yield* approver.asked("1.0")
  yield* Deferred.await(working)
  const deciding = yield* Effect.forkChild(made.decide("1.0", { result: "by hand" }))
  yield* Deferred.await(asked)
  return {
    ...made,
    run,
    deciding,
    /** lets the answer go on, as far as it can */
    check: Effect.andThen(Deferred.succeed(checked, undefined), TestClock.adjust("1 second")),
    /** ends the other call */
    work: Deferred.succeed(worked, undefined),
    /** the other call is being interrupted */
    stopping: Deferred.await(stopping),
    stop: Deferred.succeed(stopped, undefined)
  }
})

describe("an answer that is still checked", () => {
  it.effect.each(["its process is shut down", "its store fails"])(
    "while %s is stored after the end, and the next drive goes on with it",
    (what) =>
      Effect.gen(function*() {
        const made = yield* checking()
        const end = TestStore.holding((_, events) => events.some(RunEvent.isEnd))
        let isAway = true
        made.store.onAppend = (append) => {
          isAway &&= !append.events.some(RunEvent.isEnd)
          return isAway ? Effect.fail(TestStore.unavailable) : end.onAppend(append)
        }
        const ending = what === "its store fails" ? made.work : Effect.andThen(made.stop, made.close)
        const ended = yield* Effect.forkChild(ending, { startImmediately: true })
        yield* end.reached
        yield* made.check
        yield* end.release
        yield* Fiber.join(ended)
        yield* Fiber.join(made.deciding)
        assert.strictEqual((yield* made.log).at(-1)?._tag, "ApprovalResolved")
        const next = yield* Suspended.elsewhere(made)
        assert.strictEqual(RunLog.endOf(yield* next.resume()), "RunCompleted(stop)")
        const log = yield* made.log
        assert.include(RunLog.outcomes(log), "1.0 Succeeded")
        assert.lengthOf(RunLog.only(log, "ApprovalRequested"), 1)
        assert.deepStrictEqual(RunLog.violations(log), [])
      })
  )

  it.effect.each(
    [
      ["an abort", {}, "aborted"],
      ["a limit", { maxDuration: "1 minute" }, "limit"]
    ] as const
  )(
    "once %s has told the run to stop does not count, and whoever gave it hears so",
    ([, limits, reason]) =>
      Effect.gen(function*() {
        const made = yield* checking({ limits })
        const stopped = yield* Effect.forkChild(
          reason === "aborted" ? made.run.abort : TestClock.adjust("1 minute"),
          { startImmediately: true }
        )
        yield* made.stopping
        yield* made.check
        yield* made.stop
        yield* Fiber.join(stopped)
        assert.strictEqual((yield* Effect.flip(Fiber.join(made.deciding))).reason._tag, "ApprovalNotOpen")
        const log = yield* made.log
        assert.deepStrictEqual(RunLog.only(log, "ApprovalResolved"), [])
        assert.deepStrictEqual(RunLog.outcomes(log), [`1.0 NotExecuted(${reason})`, "1.1 Interrupted"])
        assert.deepStrictEqual(RunLog.violations(log), [])
      })
  )
})
