/** What a store cannot hold is left out with what follows from it; what others were promised stays. */
import { assert, describe, it } from "@effect/vitest"
import * as LeftOut from "../../../src/loop/log/LeftOut.ts"
import * as Message from "../../../src/run/Message.ts"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import * as RunState from "../../../src/run/RunState.ts"
import * as Transcript from "../../../src/run/Transcript.ts"
import * as Draft from "../../support/Drafts.ts"

const before = Draft.log(
  Draft.started("go"),
  Draft.turnStarted(1),
  Draft.assistant([Draft.call("pay"), Draft.call("pay")]),
  Draft.approvalRequested("1.0")
)
const stored = { state: before.reduce(RunState.evolve, RunState.empty), transcript: Transcript.fromLog(before) }

const queued = { _tag: "InputQueued", kind: "steer", messages: [Message.user("stop")] } as const
const abort = { _tag: "AbortRequested", reason: "requested" } as const
const tooLarge = Draft.notice("x".repeat(2_000))

const rest = (...drafts: ReadonlyArray<Draft.Placed>) => {
  const events = Draft.log(...drafts).map((event, i): RunEvent.Durable => ({ ...event, seq: before.length + 1 + i }))
  return LeftOut.rest(stored, events, 1_000).recorded.map((event) => [event._tag, "seq" in event ? event.seq : 0])
}

describe("what comes after something too large", () => {
  it("is left out if it follows from that", () => {
    assert.deepStrictEqual(rest(tooLarge, Draft.turnFinished(1), Draft.turnStarted(2)), [])
  })

  it("stays if it was promised to others: inputs, answers, aborts, outcomes", () => {
    assert.deepStrictEqual(
      rest(tooLarge, queued, Draft.approvalResolved("1.0"), Draft.turnFinished(1), abort, Draft.settled("1.1", "ok")),
      [["InputQueued", 5], ["ApprovalResolved", 6], ["AbortRequested", 7], ["ToolSettled", 8]]
    )
  })

  it("is left out if it answers what is left out", () => {
    assert.deepStrictEqual(rest(tooLarge, Draft.approvalRequested("1.1"), Draft.approvalResolved("1.1")), [])
    assert.deepStrictEqual(rest(tooLarge, Draft.settled("2.0", "ok")), [])
  })
})
