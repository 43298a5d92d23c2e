/** A call that has come to something while hooks still look at it, when its run is cut off: what is known of it is not lost. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { ResultLimit } from "../../src/layers/ToolExecutorToolkit.ts"
import type * as ToolOutcome from "../../src/run/ToolOutcome.ts"
import type { Hook } from "../../src/services/Hooks.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Suspended from "../support/Suspended.ts"
import * as TestAgent from "../support/TestAgent.ts"

const succeeded = (result: string): ToolOutcome.ToolOutcome => ({ _tag: "Succeeded", result })
const withheld = (hook: string, became = "The call ran, and its result"): ToolOutcome.ToolOutcome => ({
  _tag: "Failed",
  result: `${became} is withheld: the run ended before the hook "${hook}" was done with it.`
})
const answerWithheld = (hook: string) => withheld(hook, "The call did not run, and what answers it")

const masks: Hook = { name: "masks", afterToolCall: () => Effect.succeed({ outcome: succeeded("****") }) }

/** A hook that looks at an outcome for ever, once. */
const looksLong = (kind: "observer" | "guard") => {
  const looking = Deferred.makeUnsafe<void>()
  let isFirst = true
  const hook: Hook = {
    name: "looks",
    kind,
    afterToolCall: () => {
      if (!isFirst) return Effect.void
      isFirst = false
      return Effect.andThen(Deferred.succeed(looking, undefined), Effect.never)
    }
  }
  return { hook, looking: Deferred.await(looking) }
}

type How = "abort" | "shutdown"

/** A run that is cut off while the last of its hooks looks at what `tool` came to. */
const cutOff = Effect.fnUntraced(function*(
  how: How,
  kind: "observer" | "guard",
  { after = [], before = [], tool = "work" }: {
    readonly before?: ReadonlyArray<Hook>
    readonly after?: ReadonlyArray<Hook>
    readonly tool?: "work" | "again"
  } = {}
) {
  const { hook, looking } = looksLong(kind)
  const hooks = [...before, hook, ...after]
  const first = yield* TestAgent.make([ScriptedModel.call(tool, { n: 1 })], { agent: { hooks } })
  const run = yield* first.agent.start(Suspended.go)
  yield* looking
  yield* TestClock.adjust("1 second")
  yield* how === "abort" ? run.abort : first.close
  const log = yield* first.store.log("s")
  assert.strictEqual(RunLog.endOf(log), how === "abort" ? "RunAborted(requested)" : "RunAborted(shutdown)")
  assert.deepStrictEqual(RunLog.violations(log), [])
  const settled = RunLog.only(log, "ToolSettled")
  return { hooks, settled, outcomes: settled.map(({ outcome }) => outcome), store: first.store }
})

/** The numbers that handlers are called with once the run goes on, and the outcomes that its log has then. */
const goneOn = Effect.fnUntraced(function*({ hooks, store }: Effect.Success<ReturnType<typeof cutOff>>) {
  const called: Array<number> = []
  const next = yield* TestAgent.make([ScriptedModel.text("ok")], {
    store,
    agent: { hooks },
    tool: ({ n }) => Effect.sync(() => `again ${called.push(n)}`)
  })
  yield* next.agent.resumeRun({ sessionId: "s" })
  const log = yield* store.log("s")
  assert.deepStrictEqual(RunLog.violations(log), [])
  return { called, outcomes: RunLog.only(log, "ToolSettled").map(({ outcome }) => outcome) }
})

describe("a call that ran, and whose run is cut off while hooks look at its outcome", () => {
  for (const how of ["abort", "shutdown"] as const) {
    it.effect(`keeps its outcome where only an observer looks: ${how}`, () =>
      Effect.gen(function*() {
        const left = yield* cutOff(how, "observer")
        assert.deepStrictEqual(left.outcomes, [succeeded("done 1")])
        assert.deepStrictEqual((yield* goneOn(left)).called, [])
      }))

    it.effect(`is told of as one that ran where a guard looks, which might have withheld the result: ${how}`, () =>
      Effect.gen(function*() {
        const left = yield* cutOff(how, "guard")
        assert.deepStrictEqual(left.outcomes, [withheld("looks")])
        assert.deepStrictEqual((yield* goneOn(left)).called, [])
      }))

    it.effect(`keeps what a guard has made of its outcome: ${how}`, () =>
      Effect.gen(function*() {
        const { outcomes } = yield* cutOff(how, "observer", { before: [masks] })
        assert.deepStrictEqual(outcomes, [succeeded("****")])
      }))

    it.effect(`does not show what a guard has not seen yet: ${how}`, () =>
      Effect.gen(function*() {
        const { outcomes } = yield* cutOff(how, "observer", { after: [masks] })
        assert.deepStrictEqual(outcomes, [withheld("masks")])
      }))
  }

  it.effect("keeps how long its handler took, and how much of its result was left out", () =>
    Effect.gen(function*() {
      const { settled } = yield* Effect.provideService(cutOff("abort", "observer"), ResultLimit, 5)
      assert.deepInclude(settled[0], { duration: 0, originalSize: 6 })
    }))

  it.effect("is not made again after a shutdown where its outcome is known, though it might be", () =>
    Effect.gen(function*() {
      const left = yield* cutOff("shutdown", "observer", { tool: "again" })
      assert.deepStrictEqual(left.outcomes, [succeeded("done 1")])
      assert.deepStrictEqual(yield* goneOn(left), { called: [], outcomes: [succeeded("done 1")] })
    }))

  it.effect("is made again after a shutdown where a guard has to see what it comes to, if it may be", () =>
    Effect.gen(function*() {
      const left = yield* cutOff("shutdown", "guard", { tool: "again" })
      assert.deepStrictEqual(left.outcomes, [])
      assert.deepStrictEqual(yield* goneOn(left), { called: [1], outcomes: [succeeded("again 1")] })
    }))
})

describe("a person's result, when the run is aborted while hooks look at it", () => {
  /** The outcome of a call that was answered, beside one whose handler does not end. */
  const aborted = Effect.fnUntraced(function*(kind: "observer" | "guard", before: ReadonlyArray<Hook> = []) {
    const { hook, looking } = looksLong(kind)
    const made = yield* Suspended.before([[TestAgent.work(1), TestAgent.look(2)]], {
      approver: Approvals.answering(() => ({ approved: true, result: "by hand" })),
      agent: { hooks: [...before, hook], toolPolicy: { maxParallel: 2 } },
      tool: () => Effect.never
    })
    const run = yield* made.agent.start(Suspended.go)
    yield* looking
    yield* run.abort
    const log = yield* made.log
    assert.deepStrictEqual(RunLog.violations(log), [])
    return RunLog.only(log, "ToolSettled").find(({ callId }) => callId === "1.0")?.outcome
  })

  it.effect("is the call's outcome where only an observer looks", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* aborted("observer"), succeeded("by hand"))
    }))

  it.effect("is withheld, and said to be, where a guard looks", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* aborted("guard"), answerWithheld("looks"))
    }))

  it.effect("is what a guard has made of it", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* aborted("observer", [masks]), succeeded("****"))
    }))
  it.effect("is the call's outcome where they look at what a hook gave before", () =>
    Effect.gen(function*() {
      const { hook, looking } = looksLong("observer")
      const answers: Hook = {
        name: "answers",
        beforeToolCall: () => Effect.succeed({ _tag: "Answer", result: "by the hook" })
      }
      const made = yield* Suspended.elsewhere(yield* Suspended.make(), { agent: { hooks: [answers, hook] } })
      const resuming = yield* Effect.forkChild(made.resume())
      yield* looking
      yield* made.decide("1.0", { result: "by hand" })
      yield* made.agent.abort("s")
      yield* Fiber.join(resuming)
      const settled = RunLog.only(yield* made.log, "ToolSettled")
      assert.deepStrictEqual(settled.map(({ outcome }) => outcome), [succeeded("by hand")])
    }))
})
