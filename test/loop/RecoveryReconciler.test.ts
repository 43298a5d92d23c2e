/** Reconcilers that do what they should not: whatever they do, the call has one outcome and the session continues. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import type * as RunPolicy from "../../src/run/RunPolicy.ts"
import * as LeaveBehind from "../../src/services/LeaveBehind.ts"
import * as Reconciler from "../../src/services/Reconciler.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as Timeouts from "../../src/services/Timeouts.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as Drafts from "../support/Drafts.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

/** A run that died in `work`, and in these tools, an agent that resumes it, and a reconciler that does `answer`. */
const asked = (answer: () => unknown, ...tools: ReadonlyArray<string>) =>
  askedAfter(DeadRun.inTools("work", ...tools), answer)

/** The same with the log of a run that died. */
const askedAfter = Effect.fnUntraced(function*(drafts: Parameters<typeof DeadRun.of>[0], answer: () => unknown) {
  const store = yield* DeadRun.of(drafts)
  const { agent } = yield* TestAgent.make([ScriptedModel.text("hello!")], { store })
  const by = Effect.provideService(Reconciler.Reconciler, { reconcile: answer as never })
  return {
    log: store.log("s"),
    resume: by(Stream.runCollect(agent.resume({ sessionId: "s" }))),
    hello: by(agent.run({ sessionId: "s", input: "hello" }))
  }
})

const circular: { self?: unknown } = {}
circular.self = circular
const tooMuch = "x".repeat(SessionStore.maxEventBytes)
const done = (result: unknown) => () => Effect.succeed({ _tag: "Done", result })

describe("a reconciler", () => {
  const abort = { _tag: "AbortRequested", reason: "requested" } as const

  for (
    const [next, log] of [
      ["the run is resumed", DeadRun.inTools("work")],
      ["a new message comes", DeadRun.inTools("work")],
      ["a new message comes after an abort", [...DeadRun.inTools("work"), abort]]
    ] as const
  ) {
    it.effect(`is asked about the call with the run and the key its handler had, when ${next}`, () =>
      Effect.gen(function*() {
        const store = yield* DeadRun.of(log)
        const { agent } = yield* TestAgent.make([ScriptedModel.text("hello!")], { store })
        const questions: Array<Reconciler.Question> = []
        const reconcile = (question: Reconciler.Question) =>
          Effect.sync(() => {
            questions.push(question)
            return { _tag: "Done", result: "paid" } as const
          })
        const going = next === "the run is resumed"
          ? Stream.runDrain(agent.resume({ sessionId: "s" }))
          : Effect.asVoid(agent.run({ sessionId: "s", runId: "other", input: "hello" }))
        yield* Effect.provideService(going, Reconciler.Reconciler, { reconcile })
        assert.deepStrictEqual(
          questions.map(({ callId, idempotencyKey, runId, sessionId }) => [sessionId, runId, callId, idempotencyKey]),
          [["s", "run-1", "1.0", "s/run-1/1.0"]]
        )
      }))
  }

  for (const next of ["an abort", "a new message"]) {
    it.effect(`is asked about all calls at once, and their outcomes are in call order, at ${next}`, () =>
      Effect.gen(function*() {
        const store = yield* DeadRun.of([...DeadRun.inTools("work", "look", "work"), abort])
        const { agent } = yield* TestAgent.make([ScriptedModel.text("hello!")], { store })
        const lastAsked = yield* Deferred.make<void>()
        const reconcile = ({ callId }: Reconciler.Question) =>
          Effect.as(
            callId === "1.2" ? Deferred.succeed(lastAsked, undefined) : Deferred.await(lastAsked),
            callId === "1.2" ? { _tag: "NotDone" } as const : { _tag: "Done", result: "paid" } as const
          )
        const going = next === "an abort"
          ? agent.abort("s")
          : Effect.asVoid(agent.run({ sessionId: "s", input: "hello" }))
        yield* Effect.provideService(going, Reconciler.Reconciler, { reconcile })
        const log = yield* store.log("s")
        assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded", "1.1 Interrupted", "1.2 NotExecuted(aborted)"])
        assert.deepStrictEqual(RunLog.violations(log), [])
      }))
  }

  const limits: Record<string, RunPolicy.Limits> = {
    turns: { maxTurns: 1 },
    toolCalls: { maxToolCalls: 0 },
    tokens: { maxTokens: 1 },
    duration: { maxDuration: 1 }
  }
  for (const [reason, reached] of Object.entries(limits)) {
    it.effect(`is asked about all calls at once, and its answers count, where a limit keeps the run from going on: ${reason}`, () =>
      Effect.gen(function*() {
        const usage = { inputTokens: 10, outputTokens: 5 }
        const log = DeadRun.inTools("work", "work", "work", "look")
        const store = yield* DeadRun.of(
          log.map((draft) => draft._tag === "AssistantMessage" ? { ...draft, usage } : draft)
        )
        const { agent } = yield* TestAgent.make([], { store })
        const asked: Array<string> = []
        const allAsked = yield* Deferred.make<void>()
        const reconcile = ({ callId }: Reconciler.Question) =>
          Effect.gen(function*() {
            if (asked.push(callId) === 3) yield* Deferred.succeed(allAsked, undefined)
            yield* Deferred.await(allAsked)
            return callId === "1.0"
              ? { _tag: "Done", result: "paid" } as const
              : { _tag: callId === "1.1" ? "NotDone" : "Unknown" } as const
          })
        yield* Stream.runDrain(agent.resume({ sessionId: "s", limits: reached })).pipe(
          Effect.provideService(Reconciler.Reconciler, { reconcile })
        )
        const after = yield* store.log("s")
        assert.sameMembers(RunLog.outcomes(after), [
          "1.0 Succeeded",
          "1.1 NotExecuted(limit)",
          "1.2 OutcomeUnknown",
          "1.3 Interrupted"
        ])
        assert.deepStrictEqual([RunLog.endOf(after), asked], [`RunLimited(${reason})`, ["1.0", "1.1", "1.2"]])
        assert.deepStrictEqual(RunLog.violations(after), [])
      }))
  }

  it.effect("that found no effect of a call does not get it run when its tool is no longer offered", () =>
    Effect.gen(function*() {
      const store = yield* DeadRun.of(DeadRun.inTools("work"))
      let ran = 0
      const { agent } = yield* TestAgent.make([ScriptedModel.text("hello!")], {
        store,
        tool: () => Effect.sync(() => `${ran++}`),
        agent: { toolPolicy: { allowList: [] } }
      })
      yield* Effect.provideService(Stream.runDrain(agent.resume({ sessionId: "s" })), Reconciler.Reconciler, {
        reconcile: () => Effect.succeed({ _tag: "NotDone" })
      })
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), ["1.0 NotExecuted(stopped)"])
      assert.strictEqual(ran, 0)
    }))
})

const odd: Record<string, readonly [answer: () => unknown, outcome: string]> = {
  "a result that JSON has no word for": [done(1n), "NotEncodable"],
  "a result that contains itself": [done(circular), "NotEncodable"],
  "a function as result": [done(() => "paid"), "NotEncodable"],
  "a result that is more than the store holds": [done(tooMuch), "NotEncodable"],
  "an answer of an unknown kind": [() => Effect.succeed({ _tag: "Perhaps" }), "OutcomeUnknown"],
  "nothing": [() => Effect.void, "OutcomeUnknown"],
  "no effect at all": [() => undefined, "OutcomeUnknown"],
  "its own interruption": [() => Effect.interrupt, "OutcomeUnknown"]
}

describe("a reconciler that answers with", () => {
  for (const [what, [answer, outcome]] of Object.entries(odd)) {
    it.effect(`${what}: the run continues`, () =>
      Effect.gen(function*() {
        const { log, resume } = yield* asked(answer)
        assert.strictEqual(RunLog.endOf(yield* resume), "RunCompleted(stop)")
        assert.deepStrictEqual(RunLog.outcomes(yield* log), [`1.0 ${outcome}`])
        assert.deepStrictEqual(RunLog.violations(yield* log), [])
      }))

    it.effect(`${what}: a new message is answered`, () =>
      Effect.gen(function*() {
        const { hello, log } = yield* asked(answer)
        assert.strictEqual((yield* hello).text, "hello!")
        assert.deepStrictEqual(RunLog.outcomes(yield* log), [`1.0 ${outcome}`])
        assert.deepStrictEqual(RunLog.violations(yield* log), [])
      }))
  }

  const edits: Record<string, readonly [bytes: number, answer: () => unknown, outcome: string]> = {
    "a result that is more than the store holds beside arguments that a person edited": [
      SessionStore.maxContentBytes * 0.6,
      done("x".repeat(SessionStore.maxContentBytes * 0.6)),
      "NotEncodable"
    ],
    "a short result, beside edited arguments of the largest size": [
      SessionStore.maxContentBytes,
      done("paid"),
      "Succeeded"
    ],
    "nothing that it knows, beside edited arguments of the largest size": [
      SessionStore.maxContentBytes,
      () => Effect.succeed({ _tag: "Unknown" }),
      "OutcomeUnknown"
    ]
  }
  for (const [what, [bytes, answer, outcome]] of Object.entries(edits)) {
    it.effect.each(["the run continues", "a new message is answered"])(`${what}: %s`, (next) =>
      Effect.gen(function*() {
        const around = JSON.stringify({ n: 0, note: "" }).length
        const params = { n: 0, note: "x".repeat(bytes - around) }
        const [beginning, intent] = [DeadRun.inTools("work").slice(0, -1), Drafts.toolStarted("1.0", params)]
        const { hello, log, resume } = yield* askedAfter([
          ...beginning,
          { ...Drafts.approvalRequested("1.0"), tool: "work" },
          { ...Drafts.approvalResolved("1.0"), params },
          { ...intent, tool: "work" }
        ], answer)
        yield* next === "the run continues" ? resume : hello
        assert.deepStrictEqual(RunLog.outcomes(yield* log), [`1.0 ${outcome}`])
        assert.strictEqual(RunLog.endOf(yield* log), "RunCompleted(stop)")
        assert.deepStrictEqual(RunLog.violations(yield* log), [])
      }))
  }

  it.effect("a date in its result: it is stored as the JSON that a model reads", () =>
    Effect.gen(function*() {
      const { log, resume } = yield* asked(done({ at: new Date(0), gone: undefined }))
      yield* resume
      const [settled] = RunLog.only(yield* log, "ToolSettled")
      assert.deepStrictEqual(settled?.outcome, { _tag: "Succeeded", result: { at: "1970-01-01T00:00:00.000Z" } })
    }))

  it.effect("a result, long after the call started: the gap is not counted as the call's duration", () =>
    Effect.gen(function*() {
      const { log, resume } = yield* asked(done("paid"))
      yield* TestClock.adjust("1 hour")
      yield* resume
      const [settled] = RunLog.only(yield* log, "ToolSettled")
      assert.deepStrictEqual([settled?.outcome._tag, settled?.duration], ["Succeeded", 0])
    }))
})

describe("a reconciler that does not answer", () => {
  for (
    const [claim, hangs, leftBehind] of [
      ["is waited for as long as a tool", Effect.never, undefined],
      ["and goes on after its interruption is left behind", Effect.uninterruptible(Effect.never), [
        "reconciler of work"
      ]]
    ] as const
  ) {
    for (const next of ["resume", "hello"] as const) {
      it.effect(`${claim}, then the session continues, at ${next}`, () =>
        Effect.gen(function*() {
          const reached = yield* Deferred.make<void>()
          const made = yield* asked(() => Effect.andThen(Deferred.succeed(reached, undefined), hangs))
          const going = yield* Effect.forkChild(
            next === "resume" ? Effect.asVoid(made.resume) : Effect.asVoid(made.hello)
          )
          yield* Deferred.await(reached)
          yield* TestClock.adjust("120 seconds")
          yield* TestClock.adjust("5 seconds")
          yield* Fiber.join(going)
          const log = yield* made.log
          assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 OutcomeUnknown"])
          assert.deepStrictEqual(RunLog.only(log, "RunCompleted")[0]?.leftBehind, leftBehind)
        }))
    }
  }

  for (const next of ["a new message", "an abort"]) {
    it.effect(`and what it started are named in the end of the run it is asked about, at ${next}`, () =>
      Effect.gen(function*() {
        const store = yield* DeadRun.of([...DeadRun.inTools("work"), { _tag: "AbortRequested", reason: "requested" }])
        const { agent } = yield* TestAgent.make([ScriptedModel.text("hello!")], { store })
        const reached = yield* Deferred.make<void>()
        const reconcile = () =>
          Effect.gen(function*() {
            yield* Effect.flatMap(LeaveBehind.LeaveBehind, (leave) => leave("connection"))
            yield* Deferred.succeed(reached, undefined)
            return yield* Effect.uninterruptible(Effect.never)
          })
        const going = next === "an abort"
          ? agent.abort("s")
          : Effect.asVoid(agent.run({ sessionId: "s", input: "hello" }))
        const fiber = yield* Effect.forkChild(Effect.provideService(going, Reconciler.Reconciler, { reconcile }))
        yield* Deferred.await(reached)
        yield* TestClock.adjust("120 seconds")
        yield* TestClock.adjust("5 seconds")
        yield* Fiber.join(fiber)
        const [end] = RunLog.only(yield* store.log("s"), "RunAborted")
        assert.deepStrictEqual(end?.leftBehind, ["connection", "reconciler of work"])
      }))
  }

  it.effect("is waited for no longer than a call of the tool may take", () =>
    Effect.gen(function*() {
      const reached = yield* Deferred.make<void>()
      const made = yield* asked(() => Effect.andThen(Deferred.succeed(reached, undefined), Effect.never))
      const going = yield* Effect.forkChild(
        Effect.provideService(made.resume, Timeouts.Timeouts, { tools: { work: "10 seconds" } })
      )
      yield* Deferred.await(reached)
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(going)
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.0 OutcomeUnknown"])
    }))

  it.effect("is cut off, and calls that may run again did not start", () =>
    Effect.gen(function*() {
      const reached = yield* Deferred.make<void>()
      const hangs = () => Effect.andThen(Deferred.succeed(reached, undefined), Effect.never)
      const { log, resume } = yield* asked(hangs, "look", "work")
      const going = yield* Effect.forkChild(resume)
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(going)
      assert.deepStrictEqual(RunLog.outcomes(yield* log), [
        "1.0 OutcomeUnknown",
        "1.1 Interrupted",
        "1.2 OutcomeUnknown"
      ])
    }))
})
