/** An abort that was asked of a drive which died before it heard of that, and what comes before somebody carries it out. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as Reconciler from "../../src/services/Reconciler.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import { notice } from "../../src/testing/sessions/Fixtures.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as Drafts from "../support/Drafts.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

/** A dead run that was to be aborted. */
const toAbort = Effect.fnUntraced(function*(drafts: ReadonlyArray<Drafts.Placed>, runId: string) {
  const store = yield* DeadRun.of(drafts)
  yield* Effect.scoped(Effect.gen(function*() {
    yield* store.service.open("s", { runId, create: false, onAbortAsked: Effect.void })
    assert.isTrue(yield* store.service.askToAbort!("s", runId))
  }))
  return store
})

const asked = toAbort(DeadRun.unanswered(), "s run")

/** A dead run of the tested agent that has started a call of `work`, and of `look`, and was to be aborted. */
const askedInTools = (...after: ReadonlyArray<Drafts.Placed>) => {
  const [begun, ...rest] = DeadRun.inTools("work", "look")
  return toAbort([{ ...begun!, agent: "test/Tested" } as Drafts.Placed, ...rest, ...after], "run-1")
}

/** A reconciler that knows what became of a call once it is let. */
const waitingReconciler = Effect.gen(function*() {
  const [reached, known] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
  const reconcile = () =>
    Deferred.succeed(reached, undefined).pipe(
      Effect.andThen(Deferred.await(known)),
      Effect.as({ _tag: "Done", result: "paid" } as const)
    )
  return { know: Deferred.succeed(known, undefined), reached, reconcile }
})

it.effect("it is carried out by the next drive where the one that heard of it was refused", () =>
  Effect.gen(function*() {
    const { log, service } = yield* asked
    // somebody else writes to the session once the run was found
    let isWritten = false
    const late = TestStore.over({
      ...service,
      open: (sessionId, options) =>
        Effect.gen(function*() {
          const session = yield* service.open(sessionId, options)
          if (isWritten) return session
          isWritten = true
          yield* session.append([notice({ seq: session.head() + 1, runId: "s run" })])
          return session
        })
    })
    const { agent, script } = yield* TestAgent.make([ScriptedModel.text("on")], { store: late })
    assert.deepStrictEqual(yield* agent.recover(), { runs: [], refused: [] })
    const { runs } = yield* agent.recover()
    yield* runs[0]!.result
    assert.strictEqual(RunLog.endOf(yield* log("s")), "RunAborted(requested)")
    assert.lengthOf(yield* script.requests, 0)
  }))

it.effect("it is carried out although another agent was to resume the run by hand meanwhile, and was refused", () =>
  Effect.gen(function*() {
    const store = yield* askedInTools()
    const other = yield* Layer.build(
      Layer.mergeAll(Fiberloop.layer, store.layer, ScriptedModel.layer([ScriptedModel.text("on")]))
    )
    const refused = Agent.make({ name: "other", instructions: "" }).pipe(
      Effect.flatMap((agent) => agent.resumeRun({ sessionId: "s" })),
      Effect.provideContext(other)
    )
    assert.strictEqual((yield* Effect.flip(refused)).reason._tag, "InvalidInput")
    const { agent, script } = yield* TestAgent.make([ScriptedModel.text("on")], { store })
    const { runs } = yield* agent.recover()
    yield* runs[0]!.result
    assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunAborted(requested)")
    assert.lengthOf(yield* script.requests, 0)
  }))

it.effect.each<readonly [string, ReadonlyArray<Drafts.Placed>]>([
  ["", []],
  [", although somebody has recorded that it died", [DeadRun.crashed]]
])(
  "the reconciler is asked about the calls that its dead drive started, and its answer counts%s",
  ([, after]) =>
    Effect.gen(function*() {
      const store = yield* askedInTools(...after)
      const { agent, script } = yield* TestAgent.make([ScriptedModel.text("on")], { store })
      const questions: Array<string> = []
      const reconcile = ({ idempotencyKey }: Reconciler.Question) =>
        Effect.sync(() => {
          questions.push(idempotencyKey)
          return { _tag: "Done", result: "paid" } as const
        })
      const { runs } = yield* Effect.provideService(agent.recover(), Reconciler.Reconciler, { reconcile })
      yield* runs[0]!.result
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded", "1.1 Interrupted"])
      assert.deepStrictEqual(questions, ["s/run-1/1.0"])
      assert.strictEqual(RunLog.endOf(log), "RunAborted(requested)")
      assert.deepStrictEqual(RunLog.violations(log), [])
      assert.lengthOf(yield* script.requests, 0)
    })
)

it.effect("its end waits for a reconciler as long as a call may take, and other aborts and a shutdown are heard meanwhile", () =>
  Effect.gen(function*() {
    const store = yield* askedInTools()
    const { agent, close } = yield* TestAgent.make([], { store })
    const reached = yield* Deferred.make<void>()
    const reconcile = () => Effect.andThen(Deferred.succeed(reached, undefined), Effect.never)
    yield* Effect.provideService(agent.recover(), Reconciler.Reconciler, { reconcile })
    yield* Deferred.await(reached)
    const again = yield* Effect.forkChild(agent.abort("s"), { startImmediately: true })
    yield* TestClock.adjust("1 minute")
    assert.strictEqual((yield* store.log("s")).at(-1)?._tag, "AbortRequested")
    yield* close
    yield* Fiber.await(again)
    const log = yield* store.log("s")
    assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 OutcomeUnknown", "1.1 Interrupted"])
    assert.lengthOf(RunLog.only(log, "AbortRequested"), 1)
    assert.strictEqual(RunLog.endOf(log), "RunAborted(requested)")
  }))

describe("once its dead drive had accepted it", () => {
  const accepted = askedInTools({ _tag: "AbortRequested", reason: "requested" })

  /** The run in a process that has taken it up, while the application is asked what became of its calls. */
  const recovering = Effect.gen(function*() {
    const store = yield* accepted
    const { agent } = yield* TestAgent.make([], { store })
    const { know, reached, reconcile } = yield* waitingReconciler
    const { runs } = yield* Effect.provideService(agent.recover(), Reconciler.Reconciler, { reconcile })
    yield* Deferred.await(reached)
    return { know, run: runs[0]!, store }
  })

  /** A process that asks a reconciler about the dead drive's call, which takes longer than the grace period. */
  const carriedOut = Effect.fnUntraced(function*(takenUp: "by recovery" | "by its request sent again") {
    const store = yield* accepted
    const { agent, close } = yield* TestAgent.make([], { store })
    const { know, reached, reconcile } = yield* waitingReconciler
    const taking = takenUp === "by recovery"
      ? Effect.map(agent.recover(), ({ runs }) => runs[0]!)
      : agent.start({ sessionId: "s", runId: "run-1", input: "go" })
    const result = yield* taking.pipe(
      Effect.flatMap((run) => run.result),
      Effect.provideService(Reconciler.Reconciler, { reconcile }),
      Effect.forkChild
    )
    yield* Deferred.await(reached)
    const again = yield* Effect.forkChild(agent.abort("s"), { startImmediately: true })
    yield* TestClock.adjust("1 minute")
    return { again, agent, close, know, result, store }
  })

  it.effect.each(["by recovery", "by its request sent again"] as const)(
    "it is carried out %s, however long a reconciler takes, and another abort waits for that",
    (takenUp) =>
      Effect.gen(function*() {
        const { again, know, result, store } = yield* carriedOut(takenUp)
        assert.isUndefined(again.pollUnsafe())
        yield* know
        assert.strictEqual((yield* Fiber.join(result))._tag, "Aborted")
        yield* Fiber.join(again)
        const log = yield* store.log("s")
        assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded", "1.1 Interrupted"])
        assert.lengthOf(RunLog.only(log, "AbortRequested"), 1)
        assert.strictEqual(RunLog.endOf(log), "RunAborted(requested)")
        assert.deepStrictEqual(RunLog.violations(log), [])
      })
  )

  it.effect.each(["while the application is asked", "once it has said"] as const)(
    "a store that hangs as the end is stored does not hold up another abort that comes %s what became of the call",
    (when) =>
      Effect.gen(function*() {
        const { know, run, store } = yield* recovering
        store.onAppend = () => Effect.never
        const { abort, result } = run
        const early = when === "while the application is asked"
        const aborting = yield* Effect.forkChild(
          early ? abort : Effect.andThen(Effect.sleep("1 second"), abort),
          { startImmediately: true }
        )
        yield* know
        yield* TestClock.adjust("20 seconds")
        yield* Fiber.join(aborting)
        assert.strictEqual((yield* Effect.flip(result)).reason._tag, "AbortedBeforeStart")
      })
  )

  it.effect("other aborts wait for what the application said to be stored", () =>
    Effect.gen(function*() {
      const { agent, know, result, store } = yield* carriedOut("by its request sent again")
      const held = TestStore.holding(() => true)
      store.onAppend = held.onAppend
      yield* know
      yield* held.reached
      const late = yield* Effect.forkChild(agent.abort("s"), { startImmediately: true })
      yield* TestClock.adjust("4 seconds")
      yield* held.release
      yield* Fiber.join(late)
      assert.strictEqual((yield* Fiber.join(result))._tag, "Aborted")
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), ["1.0 Succeeded", "1.1 Interrupted"])
    }))

  it.effect("nor does the one that was kept for it cut off what is being stored, as soon as its own grace period is over", () =>
    Effect.gen(function*() {
      const { know, run, store } = yield* recovering
      yield* TestClock.adjust("4900 millis")
      const held = TestStore.holding(() => true)
      store.onAppend = held.onAppend
      yield* know
      yield* held.reached
      yield* TestClock.adjust("500 millis")
      yield* held.release
      assert.strictEqual((yield* run.result)._tag, "Aborted")
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), ["1.0 Succeeded", "1.1 Interrupted"])
    }))

  it.effect("a shutdown leaves it to the next process", () =>
    Effect.gen(function*() {
      const { close, result, store } = yield* carriedOut("by recovery")
      yield* close
      assert.strictEqual((yield* Effect.flip(Fiber.join(result))).reason._tag, "ShuttingDown")
      assert.strictEqual((yield* store.log("s")).at(-1)?._tag, "AbortRequested")
      const { agent } = yield* TestAgent.make([], { store })
      const { runs } = yield* agent.recover()
      yield* runs[0]!.result
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunAborted(requested)")
    }))
})

it.effect("no answer is taken while it is carried out, and whoever gave it hears so: it would not count", () =>
  Effect.gen(function*() {
    const calls = [Drafts.call("work", { n: 0 }), Drafts.call("work", { n: 1 })]
    const drafts: ReadonlyArray<Drafts.Placed> = [
      { ...Drafts.started("go"), agent: "test/Tested" },
      Drafts.turnStarted(1),
      Drafts.assistant(calls),
      { ...Drafts.toolStarted("1.0", { n: 0 }), tool: "work" },
      { ...Drafts.approvalRequested("1.1"), tool: "work", params: { n: 1 } }
    ]
    const store = yield* toAbort(drafts, "run-1")
    const { agent } = yield* TestAgent.make([], { store })
    const { know, reached, reconcile } = yield* waitingReconciler
    const { runs } = yield* Effect.provideService(agent.recover(), Reconciler.Reconciler, { reconcile })
    yield* Deferred.await(reached)
    const decision = { sessionId: "s", approvalId: "1.1", approved: false }
    const deciding = yield* Effect.forkChild(Effect.flip(agent.decide(decision)), { startImmediately: true })
    yield* TestClock.adjust("1 second")
    yield* know
    yield* runs[0]!.result
    assert.strictEqual((yield* Fiber.join(deciding)).reason._tag, "ApprovalNotOpen")
    const log = yield* store.log("s")
    assert.lengthOf(RunLog.only(log, "ApprovalResolved"), 0)
    assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded", "1.1 NotExecuted(aborted)"])
    assert.strictEqual(RunLog.endOf(log), "RunAborted(requested)")
  }))

it.effect("the reconciler is not asked where the run has died twice in a row", () =>
  Effect.gen(function*() {
    const store = yield* askedInTools(...DeadRun.again(2))
    const { agent } = yield* TestAgent.make([], { store })
    const reconcile = () => Effect.succeed({ _tag: "Done" as const, result: "paid" })
    yield* TestClock.adjust("1 hour")
    const { runs } = yield* Effect.provideService(agent.recover(), Reconciler.Reconciler, { reconcile })
    yield* runs[0]!.result
    const log = yield* store.log("s")
    assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 OutcomeUnknown", "1.1 Interrupted"])
    assert.strictEqual(RunLog.endOf(log), "RunAborted(requested)")
  }))
