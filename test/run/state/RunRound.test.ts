/** What the calls of a round leave in the state of their run. */
import { assert, it } from "@effect/vitest"
import * as RunState from "../../../src/run/RunState.ts"
import * as Draft from "../../support/Drafts.ts"

it("a round waits from its first question to its last answer", () => {
  const log = Draft.log(
    Draft.started("x"),
    Draft.turnStarted(1),
    Draft.assistant([Draft.call("a"), Draft.call("b")]),
    { ...Draft.approvalRequested("1.0"), at: 10 },
    { ...Draft.approvalRequested("1.1"), at: 20 },
    { ...Draft.approvalResolved("1.0"), at: 30 },
    { ...Draft.approvalResolved("1.1"), at: 40 }
  )
  const { waited, waitingSince } = log.reduce(RunState.evolve, RunState.empty)
  assert.deepStrictEqual([waited, waitingSince], [30, undefined])
})

it("a call that pauses again has the runs beside it that it has by then", () => {
  const below = { sessionId: "below", runId: "below" }
  const paused = [
    Draft.started("x"),
    Draft.turnStarted(1),
    Draft.assistant([Draft.call("search")], { finishReason: "tool-calls" }),
    Draft.toolStarted("1.0"),
    { ...Draft.toolPaused("1.0"), beside: [below] }
  ]
  const besideIn = (...drafts: ReadonlyArray<Draft.Placed>) =>
    Draft.log(...drafts).reduce(RunState.evolve, RunState.empty).openCalls.map(({ beside, phase }) => [phase, beside])
  assert.deepStrictEqual(besideIn(...paused), [["paused", [below]]])
  assert.deepStrictEqual(besideIn(...paused, Draft.toolStarted("1.0"), Draft.toolPaused("1.0")), [
    ["paused", undefined]
  ])
})
