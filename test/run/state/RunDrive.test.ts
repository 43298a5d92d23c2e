/** What the start and the end of a drive leave in the state of its run. */
import { assert, describe, it } from "@effect/vitest"
import * as Message from "../../../src/run/Message.ts"
import type * as RunError from "../../../src/run/RunError.ts"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import * as RunState from "../../../src/run/RunState.ts"
import * as Draft from "../../support/Drafts.ts"

const fold = (...drafts: ReadonlyArray<Draft.Placed>) => Draft.log(...drafts).reduce(RunState.evolve, RunState.empty)

const started = Draft.started("x")
const crashed: RunEvent.Draft = { _tag: "RunAborted", reason: "crashed", totals: Draft.totals }
const failed = (reason: RunError.RunRefusal): RunEvent.Draft => ({
  _tag: "RunFailed",
  error: { _tag: "NonRetryableError", reason },
  totals: Draft.totals
})
const asking = [
  started,
  Draft.turnStarted(1),
  Draft.assistant([Draft.call("search")], { finishReason: "tool-calls" }),
  Draft.approvalRequested("1.0")
] as const

describe("a drive", () => {
  it("is at the limit that ended the one before, unless given new limits", () => {
    const limited = (extra: Parameters<typeof Draft.resumed>[1]) =>
      fold(started, Draft.limited(), Draft.resumed(2, extra)).limitedBy
    assert.deepStrictEqual([limited({}), limited({ limits: { maxTurns: 9 } })], ["turns", undefined])
    assert.isUndefined(fold(started, Draft.aborted, Draft.resumed(2)).limitedBy)
  })

  it("is at the limit of the one before even if that died before saying so again", () => {
    const died = [started, Draft.limited(), Draft.resumed(2), crashed] as const
    assert.strictEqual(fold(...died, Draft.resumed(3)).limitedBy, "turns")
    assert.isUndefined(fold(...died, Draft.resumed(3, { limits: { maxTurns: 9 } })).limitedBy)
  })

  it("starts an attempt of its own, unless the one before is known to have ended", () => {
    const attempts = (end: RunEvent.Draft) =>
      fold(started, Draft.turnStarted(1), Draft.discarded(1, 1), end, Draft.resumed(2)).attempts
    assert.strictEqual(attempts(Draft.aborted), 2)
    assert.strictEqual(attempts(failed({ _tag: "Unknown", message: "a bug" })), 2)
    assert.strictEqual(attempts(failed({ _tag: "StoreRefused", message: "not this text" })), 2)
    assert.strictEqual(attempts(failed({ _tag: "Authentication", message: "no" })), 1)
  })

  it("is not aborted by a request to the one before", () => {
    const asked: RunEvent.Draft = { _tag: "AbortRequested", reason: "requested" }
    assert.strictEqual(fold(started, asked).abortRequested, "requested")
    assert.isUndefined(fold(started, asked, Draft.aborted).abortRequested)
    assert.isUndefined(fold(started, asked, Draft.resumed(2)).abortRequested)
  })

  it("waits for a person from its start if one is asked, and its waiting does not count as its time", () => {
    const at = (draft: Draft.Placed, at: number) => ({ ...draft, at })
    const state = fold(...asking, Draft.suspended, at(Draft.resumed(2), 100))
    assert.deepStrictEqual([state.status, state.waitingSince, state.waited], ["awaiting_human", 100, 0])
    assert.strictEqual(RunState.totalsAt(state, 150).duration, 0)
    const resumed = [
      ...asking,
      Draft.suspended,
      at(Draft.resumed(2), 100),
      at(Draft.approvalResolved("1.0"), 160)
    ] as const
    const answered = fold(...resumed)
    assert.deepStrictEqual([answered.waitingSince, answered.waited], [undefined, 60])
    assert.strictEqual(RunState.totalsAt(answered, 170).duration, 10)
    assert.strictEqual(fold(...resumed, Draft.aborted, at(Draft.resumed(3), 200)).waited, 0)
  })

  it("that died is one more crash, and any other end resets the count", () => {
    assert.strictEqual(fold(started, crashed, Draft.resumed(2), crashed).crashes, 2)
    assert.strictEqual(fold(started, crashed, Draft.resumed(2), Draft.aborted).crashes, 0)
  })

  it("counts what its end says, whatever was counted before", () => {
    const end = Draft.completed({ turns: 7 })
    assert.strictEqual(fold(started, Draft.turnStarted(1), Draft.assistant([Message.text("hi")]), end).totals.turns, 7)
  })
})

describe("after the end of a drive", () => {
  it("no more time is spent", () => {
    const end = Draft.completed({ duration: 7 })
    assert.strictEqual(RunState.totalsAt(fold(started, end), 3_600_000).duration, 7)
  })

  it("answers and outcomes start nothing", () => {
    assert.strictEqual(fold(...asking, Draft.suspended, Draft.approvalResolved("1.0")).status, "suspended")
    assert.strictEqual(fold(...asking, crashed, Draft.settled("1.0", { _tag: "OutcomeUnknown" })).status, "aborted")
  })
})
