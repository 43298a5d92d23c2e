/** What takes precedence if several things follow from a turn: each row would differ without the line above it. */
import { assert, describe, it } from "@effect/vitest"
import type * as DoomLoop from "../../../src/run/DoomLoop.ts"
import * as RunError from "../../../src/run/RunError.ts"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import * as RunState from "../../../src/run/RunState.ts"
import type * as Queue from "../../../src/run/state/Queue.ts"
import * as RunDecision from "../../../src/run/state/RunDecision.ts"
import * as SettledTurn from "../../support/SettledTurn.ts"

const toolError: RunError.Stored = {
  _tag: "NonRetryableError",
  reason: { _tag: "ToolFailed", message: "no", tool: "pay", callId: "1.0" }
}
const unfit: RunEvent.Decision = { _tag: "Fail", error: RunError.toStored(RunError.invalidOutput("no JSON")) }
const filtered = "content-filter"

const loop = (next: DoomLoop.Verdict["next"]): DoomLoop.Verdict => ({ next, loop: { count: 3, calls: [] } })
const queued = (...kinds: ReadonlyArray<Queue.Queued["kind"]>): Partial<RunState.RunState> => ({
  queued: kinds.map((kind, i) => ({ seq: i + 1, kind, messages: [], isDue: kind === "steer" }))
})
const atLimit = { limits: { maxTurns: 1 }, totals: { ...RunState.empty.totals, turns: 1 } }

describe("a decision", () => {
  it.each<
    readonly [
      name: string,
      turn: Partial<RunDecision.Settled>,
      state: Partial<RunState.RunState>,
      decision: RunEvent.Decision | string
    ]
  >([
    ["a failed call ends the run, whatever the answer was", { toolError, finishReason: "length" }, {}, {
      _tag: "Fail",
      error: toolError
    }],
    ["a cut answer is no answer to stop with", { finishReason: "length", stoppedBy: "stopWhen" }, {}, "Compact length"],
    [
      "a stop comes before the content filter",
      { stoppedBy: "stopWhen", finishReason: filtered },
      {},
      "Complete stopWhen"
    ],
    [
      "a stop before tools comes before their limit",
      { stoppedBy: "stopBefore", hasCalls: true, cutBy: "turns" },
      {},
      "Complete stopBefore"
    ],
    ["a stop with an answer that does not fit fails", { stoppedBy: "stopWhen", invalidOutput: "no JSON" }, {}, unfit],
    [
      "the content filter comes before a limit",
      { finishReason: filtered, hasCalls: true, cutBy: "turns" },
      {},
      "Complete contentFilter"
    ],
    ["the content filter passes a steer over", { finishReason: filtered }, queued("steer"), "Complete contentFilter"],
    ["the content filter completes also at a limit", { finishReason: filtered }, atLimit, "Complete contentFilter"],
    ["a limit comes before a loop", { hasCalls: true, cutBy: "toolCalls", loop: loop("end") }, {}, "Limit toolCalls"],
    ["a loop that was told ends the run", { hasCalls: true, loop: loop("end") }, {}, "Limit doomLoop"],
    ["a loop is told", { hasCalls: true, loop: loop("tell") }, {}, "Continue doomLoop"],
    ["a steer is news to a loop", { hasCalls: true, loop: loop("end") }, queued("steer"), "Continue toolCalls"],
    ["a follow-up is none", { hasCalls: true, loop: loop("end") }, queued("followUp"), "Limit doomLoop"],
    ["a steer is gone on for", {}, queued("followUp", "steer"), "Continue steer"],
    ["a steer comes before a correction", { invalidOutput: "no JSON" }, queued("steer"), "Continue steer"],
    ["a correction comes before a follow-up", { invalidOutput: "no JSON" }, queued("followUp"), "Continue correction"],
    [
      "a second answer that does not fit fails",
      { invalidOutput: "no JSON" },
      { ...queued("followUp"), corrections: 1 },
      unfit
    ],
    ["a follow-up is gone on for", {}, queued("followUp"), "Continue followUp"],
    ["nothing is gone on for that a limit forbids", {}, { ...queued("steer"), ...atLimit }, "Complete stop"],
    ["an answer that adds nothing is one", { addsNothing: true }, {}, "Complete emptyAfterTools"],
    ["a follow-up comes before it", { addsNothing: true }, queued("followUp"), "Continue followUp"]
  ])("%s", (_, turn, state, expected) => {
    const decision = RunDecision.decide({ ...RunState.empty, ...state }, SettledTurn.of(turn), 0)
    const said = decision._tag === "Fail" ? decision : `${decision._tag} ${decision.reason}`
    assert.deepStrictEqual(said, expected)
  })

  it("names the content filter if its answer does not fit the output schema", () => {
    const decision = RunDecision.decide(
      RunState.empty,
      SettledTurn.of({ finishReason: filtered, invalidOutput: "no" }),
      0
    )
    assert.strictEqual(decision._tag === "Fail" && decision.error.reason._tag, "ContentPolicy")
  })
})
