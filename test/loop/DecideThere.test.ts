/** An answer to a question of a run that lives elsewhere: passed on to whoever has its session. */
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as ToolExecutorToolkit from "../../src/layers/ToolExecutorToolkit.ts"
import type * as RunInput from "../../src/run/RunInput.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as Sessions from "../../src/Sessions.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const { look, work } = TestAgent
const ok = ScriptedModel.text("ok")
const question = { sessionId: "s", approvalId: "r/1.0" } as const

/** A run whose approver has been asked and says nothing, and an agent that knows of no run except through the store. */
const asked = Effect.fnUntraced(function*(
  calls: ScriptedModel.Turn = work(1),
  options: Parameters<typeof Approvals.make>[1] = {}
) {
  const approver = Approvals.desk()
  const there = yield* Approvals.make([calls, ok], { approver, ...options })
  const run = yield* there.agent.start({ sessionId: "s", runId: "r", input: "go" })
  yield* approver.asked("1.0")
  const here = yield* Approvals.make([], { store: there.store })
  const decide = (decision: Partial<RunInput.DecideInput> = {}) =>
    here.agent.decide({ ...question, approved: true, ...decision })
  return { approver, decide, here, log: there.store.log("s"), ran: there.ran, run, store: there.store, there }
})

/** The same for a store, with some methods replaced. */
const through = Effect.fnUntraced(function*(
  { store }: { readonly store: TestStore.TestStore },
  service: Partial<TestStore.TestStore["service"]> = {}
) {
  const { agent } = yield* Approvals.make([], { store: TestStore.over({ ...store.service, ...service }) })
  return agent.decide({ ...question, approved: true })
})

/** "work" of another version of the program. */
const trimming = Tool.make("work", {
  parameters: Schema.Struct({ n: Schema.Finite }),
  success: Schema.String.pipe(Schema.decode(SchemaTransformation.trim())),
  failure: Schema.String,
  dependencies: [ToolCall]
}).setNeedsApproval(true) as typeof TestAgent.kit.tools.work

const answers = (log: Parameters<typeof RunLog.only>[0]) =>
  RunLog.only(log, "ApprovalResolved").map(({ approved, by = "" }) => `${approved ? "yes" : "no"} ${by}`)

describe("an answer to a question of a run that lives elsewhere", () => {
  it.effect("is recorded there before the sender is told, and the run goes on at once", () =>
    Effect.gen(function*() {
      const { decide, log, ran, run } = yield* asked()
      yield* decide({ by: "bob" })
      assert.deepStrictEqual(answers(yield* log), ["yes bob"])
      assert.strictEqual((yield* run.result)._tag, "Completed")
      assert.deepStrictEqual(ran, [1])
      const all = yield* log
      assert.lengthOf(RunLog.only(all, "RunResumed"), 0)
      assert.deepStrictEqual(Approvals.violations(all), [])
    }))

  it.effect("may be a no, or have other arguments", () =>
    Effect.gen(function*() {
      const no = yield* asked()
      yield* no.decide({ approved: false, reason: "too dear" })
      yield* no.run.result
      assert.deepStrictEqual(RunLog.outcomes(yield* no.log), ["1.0 Denied"])
      const edited = yield* asked()
      yield* edited.decide({ params: { n: 7 } })
      yield* edited.run.result
      assert.deepStrictEqual(edited.ran, [7])
    }))

  it.effect("counts while other calls of its round run", () =>
    Effect.gen(function*() {
      const [gate, worked] = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
      const { decide, ran, run } = yield* asked([work(1), look(2)], {
        agent: { toolPolicy: { maxParallel: 4 } },
        tool: ({ n }) =>
          n === 2
            ? Effect.as(Deferred.await(gate), "looked")
            : Effect.as(Deferred.succeed(worked, undefined), "done")
      })
      yield* decide()
      yield* Deferred.await(worked)
      assert.sameMembers([...ran], [1, 2])
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual((yield* run.result)._tag, "Completed")
    }))

  it.effect("needs the store alone", () =>
    Effect.gen(function*() {
      const { log, run, store } = yield* asked()
      yield* Effect.provideService(
        Sessions.decide({ ...question, approved: true }),
        SessionStore.SessionStore,
        store.service
      )
      yield* run.result
      assert.deepStrictEqual(answers(yield* log), ["yes "])
    }))

  it.effect("is refused where its tool does not take its arguments, and nothing is passed on", () =>
    Effect.gen(function*() {
      const { decide, log } = yield* asked()
      const { reason } = yield* Effect.flip(decide({ params: { n: "seven" } }))
      assert.strictEqual(reason._tag, "InvalidInput")
      assert.deepStrictEqual(answers(yield* log), [])
    }))

  it.effect("is told that another one was first", () =>
    Effect.gen(function*() {
      const made = yield* asked()
      const { store } = made
      const deciding = through(made, {
        // the approver is faster
        send: (...sent) =>
          Effect.andThen(
            Effect.andThen(
              made.approver.answer("1.0", Approvals.no("no")),
              TestStore.logged(store, "s", "ApprovalResolved")
            ),
            store.service.send!(...sent)
          )
      })
      const { reason } = yield* Effect.flip(Effect.flatten(deciding))
      assert.deepInclude(reason, { _tag: "ApprovalNotOpen", because: "answered" })
      yield* made.run.result
      assert.deepStrictEqual(answers(yield* made.log), ["no ann"])
    }))

  it.effect("is told so where that was the same one, of another process", () =>
    Effect.gen(function*() {
      const made = yield* asked()
      const { store } = made
      const deciding = through(made, {
        send: (...sent) => Effect.andThen(Effect.orDie(made.decide()), store.service.send!(...sent))
      })
      const { reason } = yield* Effect.flip(Effect.flatten(deciding))
      assert.deepInclude(reason, { _tag: "ApprovalNotOpen", because: "answered" })
      assert.deepStrictEqual(answers(yield* made.log), ["yes "])
    }))

  it.effect("counts as recorded where its tool there writes it in another way", () =>
    Effect.gen(function*() {
      const { decide, log, run } = yield* asked(work(1), { agent: { toolkit: Approvals.withWork(trimming) } })
      yield* decide({ result: " a story " })
      yield* run.result
      assert.deepStrictEqual(RunLog.only(yield* log, "ApprovalResolved").map(({ result }) => result), ["a story"])
    }))

  it.effect("is recorded with the settings of the run's agent, not with those of its sender", () =>
    Effect.gen(function*() {
      const { decide, log, run } = yield* Effect.provideService(asked(), ToolExecutorToolkit.ResultLimit, 5)
      yield* Effect.provideService(decide({ result: "a long story" }), ToolExecutorToolkit.ResultLimit, 30_000)
      yield* run.result
      assert.deepStrictEqual(RunLog.only(yield* log, "ApprovalResolved").map(({ originalSize }) => originalSize), [12])
    }))

  it.effect("counts as recorded where a drive that was about to begin has recorded it", () =>
    Effect.gen(function*() {
      const made = yield* asked()
      yield* made.approver.answer("1.0", undefined)
      assert.strictEqual((yield* made.run.result)._tag, "Suspended")
      const held = TestStore.holding((_, [event]) => event._tag === "RunResumed")
      made.store.onAppend = held.onAppend
      const desk = Approvals.desk()
      const next = yield* Approvals.make([ok], { store: made.store, approver: desk })
      const resuming = yield* Effect.forkChild(next.agent.resumeRun({ sessionId: "s" }))
      yield* held.reached
      const passing = TestStore.sending(made.store)
      const deciding = yield* Effect.flatMap(through(passing), Effect.forkChild)
      yield* passing.sent
      yield* held.release
      assert.strictEqual((yield* Fiber.join(resuming))._tag, "Completed")
      yield* TestClock.adjust("100 millis")
      yield* Fiber.join(deciding)
      assert.deepStrictEqual(answers(yield* made.log), ["yes "])
    }))

  it.effect("is appended to the log where the run is suspended before it is heard", () =>
    Effect.gen(function*() {
      const made = yield* asked()
      const passing = TestStore.sending(made.store, () => Effect.as(made.approver.answer("1.0", undefined), true))
      const deciding = yield* Effect.flatMap(through(passing), Effect.forkChild)
      yield* passing.sent
      yield* TestClock.adjust("100 millis")
      yield* Fiber.join(deciding)
      assert.strictEqual((yield* made.run.result)._tag, "Suspended")
      assert.deepStrictEqual(answers(yield* made.log), ["yes "])
      const resumed = yield* Approvals.make([ok], { store: made.store })
      assert.strictEqual((yield* resumed.agent.resumeRun({ sessionId: "s" }))._tag, "Completed")
    }))

  it.effect("is appended to the log where its process dies before it hears of it", () =>
    Effect.gen(function*() {
      const made = yield* asked()
      let isDead = false
      const deciding = yield* Effect.flatMap(
        through(made, {
          send: () => Effect.succeed(true),
          open: (sessionId, options) => made.store.service.open(sessionId, { ...options, takeOver: isDead })
        }),
        Effect.forkChild
      )
      yield* TestClock.adjust("4 seconds")
      isDead = true
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(deciding)
      assert.deepStrictEqual(answers(yield* made.log), ["yes "])
    }))

  it.effect("is appended to the log where another answer has the session for a moment", () =>
    Effect.gen(function*() {
      const made = yield* asked()
      yield* made.approver.answer("1.0", undefined)
      yield* made.run.result
      const moment = yield* Scope.make()
      yield* Scope.provide(made.store.service.open("s", { runId: "r", create: false }), moment)
      const passing = TestStore.sending(made.store)
      const deciding = yield* Effect.flatMap(through(passing), Effect.forkChild)
      yield* passing.sent
      yield* Scope.close(moment, Exit.void)
      yield* TestClock.adjust("100 millis")
      yield* Fiber.join(deciding)
      assert.deepStrictEqual(answers(yield* made.log), ["yes "])
    }))

  it.effect("is SessionBusy where whoever has the session cannot be told, or records nothing for long", () =>
    Effect.gen(function*() {
      const made = yield* asked()
      const { send: _, ...without } = made.store.service
      const unable = yield* Approvals.make([], { store: TestStore.over(without) })
      const refusing = yield* Effect.forkChild(Effect.flip(unable.agent.decide({ ...question, approved: true })))
      yield* TestClock.adjust("100 millis")
      assert.strictEqual((yield* Fiber.join(refusing)).reason._tag, "SessionBusy")

      const frozen = yield* Effect.forkChild(
        Effect.flip(Effect.flatten(through(made, { send: () => Effect.succeed(true) })))
      )
      yield* TestClock.adjust("9 seconds")
      assert.isUndefined(frozen.pollUnsafe())
      yield* TestClock.adjust("2 seconds")
      const late = yield* Fiber.join(frozen)
      assert.strictEqual(late.reason._tag, "SessionBusy")
      assert.include(late.message, "may still record the answer")

      yield* made.store.service.open("s", { runId: "r", create: false, takeOver: true })
      const taken = yield* Effect.forkChild(Effect.flip(made.decide()))
      yield* TestClock.adjust("100 millis")
      const untold = yield* Fiber.join(taken)
      assert.strictEqual(untold.reason._tag, "SessionBusy")
      assert.include(untold.message, "its holder cannot be told an answer")
      assert.deepStrictEqual(answers(yield* made.log), [])
    }))

  it.effect("is given up after ten seconds, also where the time of day goes back meanwhile", () =>
    Effect.gen(function*() {
      const made = yield* asked()
      const clock = yield* Clock.Clock
      const startedAt = clock.currentTimeMillisUnsafe()
      const back: Clock.Clock = {
        sleep: (duration) => clock.sleep(duration),
        currentTimeMillisUnsafe: () => 2 * startedAt - clock.currentTimeMillisUnsafe(),
        currentTimeMillis: Effect.sync(() => back.currentTimeMillisUnsafe()),
        currentTimeNanosUnsafe: () => BigInt(back.currentTimeMillisUnsafe()) * 1_000_000n,
        currentTimeNanos: Effect.sync(() => back.currentTimeNanosUnsafe()),
        monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
        monotonicTimeNanos: clock.monotonicTimeNanos
      }
      const deaf = yield* through(made, { send: () => Effect.succeed(true) })
      const frozen = yield* Effect.forkChild(Effect.flip(Effect.provideService(deaf, Clock.Clock, back)))
      yield* TestClock.adjust("11 seconds")
      assert.strictEqual((yield* Fiber.join(frozen)).reason._tag, "SessionBusy")
    }))
})
