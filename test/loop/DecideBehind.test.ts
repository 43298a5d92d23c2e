/** What happens between an answer and the drive that follows: crashes, new messages, other tools, limits, forks. */
import { assert, describe, it } from "@effect/vitest"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Suspended from "../support/Suspended.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

/** What a process leaves that died while a person was asked. */
const dead = Effect.fnUntraced(function*() {
  const whole = yield* Suspended.make()
  const store = yield* TestStore.make()
  const log = (yield* whole.log).slice(0, -1)
  yield* Effect.scoped(Effect.flatMap(
    store.service.open("s", { runId: "r", create: true }),
    (session) => session.append(log as never)
  ))
  return yield* Suspended.before([ScriptedModel.text("ok")], { store })
})

describe("a drive that died while a person was asked", () => {
  it.effect("still has its question open", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* (yield* dead()).waiting, ["1.0"])
    }))

  it.effect("gets its end before the answer, and is resumed", () =>
    Effect.gen(function*() {
      const made = yield* dead()
      yield* made.decide("1.0")
      const log = yield* made.log
      assert.deepStrictEqual(RunLog.tags(log).slice(-2), ["RunAborted", "ApprovalResolved"])
      yield* made.resume()
      assert.deepStrictEqual(made.ran, [1])
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))

  it.effect("takes no answer when it was being aborted, and still gets its end", () =>
    Effect.gen(function*() {
      const made = yield* dead()
      const { at, runId, seq, version } = (yield* made.log).at(-1)!
      yield* Effect.scoped(Effect.flatMap(
        made.store.service.open("s", { runId, create: false }),
        (session) => session.append([{ _tag: "AbortRequested", seq: seq + 1, at, runId, version, reason: "requested" }])
      ))
      const { reason } = yield* Effect.flip(made.decide("1.0"))
      assert.deepInclude(reason, { _tag: "ApprovalNotOpen", because: "settled" })
      assert.strictEqual(RunLog.endOf(yield* made.log), "RunAborted(requested)")
    }))
})

describe("a new message after an answer", () => {
  it.effect("of no leaves the call denied for its reason", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      yield* made.decide("1.0", { approved: false, reason: "too dear" })
      yield* made.agent.run({ sessionId: "s", input: "never mind" })
      const [settled] = RunLog.only(yield* made.log, "ToolSettled")
      assert.deepStrictEqual(settled?.outcome, { _tag: "Denied", reason: "too dear" })
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))

  it.effect("of yes runs nothing of it", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      yield* made.decide("1.0")
      yield* made.agent.run({ sessionId: "s", input: "never mind" })
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.0 NotExecuted(superseded)"])
      assert.deepStrictEqual(made.ran, [])
    }))
})

describe("a tool that is gone", () => {
  const gone = Effect.fnUntraced(function*() {
    const made = yield* Suspended.make()
    const toolkit = Toolkit.make(TestAgent.kit.tools.look) as unknown as typeof TestAgent.kit
    return { made, renamed: yield* Suspended.elsewhere(made, { agent: { toolkit } }) }
  })

  it.effect("can still be decided about, and its call settles as unknown", () =>
    Effect.gen(function*() {
      const { made, renamed } = yield* gone()
      yield* renamed.decide("1.0")
      assert.strictEqual(RunLog.endOf(yield* renamed.resume()), "RunCompleted(stop)")
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.0 UnknownTool"])
      assert.deepStrictEqual(renamed.ran, [])
    }))

  it.effect("leaves a denied call denied", () =>
    Effect.gen(function*() {
      const { made, renamed } = yield* gone()
      yield* renamed.decide("1.0", { approved: false })
      yield* renamed.resume()
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.0 Denied"])
    }))
})

it.effect("a tool that is no longer offered does not run even if the call was allowed", () =>
  Effect.gen(function*() {
    const made = yield* Suspended.make()
    yield* made.decide("1.0")
    const narrowed = yield* Suspended.elsewhere(made, {
      agent: { toolkit: Approvals.kit, toolPolicy: { allowList: ["look"] } }
    })
    yield* narrowed.resume()
    assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.0 UnknownTool"])
    assert.deepStrictEqual(narrowed.ran, [])
  }))

describe("limits", () => {
  it.effect("hold for a call that was allowed", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      yield* made.decide("1.0")
      yield* Stream.runDrain(made.agent.resume({ sessionId: "s", limits: { maxToolCalls: 0 } }))
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.0 NotExecuted(limit)"])
      assert.deepStrictEqual(made.ran, [])
    }))

  it.effect("that let nothing run leave a denied call denied for its reason", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      yield* made.decide("1.0", { approved: false, reason: "too dear" })
      yield* Stream.runDrain(made.agent.resume({ sessionId: "s", limits: { maxToolCalls: 0 } }))
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.0 Denied"])
    }))
})

it.effect("a session and its fork are decided about independently", () =>
  Effect.gen(function*() {
    const made = yield* Suspended.make()
    yield* made.store.service.fork("s", { to: "f" })
    yield* made.decide("1.0")
    yield* made.decide("1.0", { sessionId: "f", approved: false })
    const ends = yield* Effect.forEach(["s", "f"], (sessionId) =>
      Effect.map(Stream.runCollect(made.agent.resume({ sessionId })), RunLog.outcomes))
    assert.deepStrictEqual(ends, [["1.0 Succeeded"], ["1.0 Denied"]])
    assert.deepStrictEqual(made.ran, [1])
  }))
