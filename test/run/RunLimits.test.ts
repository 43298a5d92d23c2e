/** When a limit holds, how many calls it leaves, and what is decided after a turn. */
import { assert, describe, it } from "@effect/vitest"
import * as RunError from "../../src/run/RunError.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import type * as RunPolicy from "../../src/run/RunPolicy.ts"
import * as RunState from "../../src/run/RunState.ts"
import * as RunDecision from "../../src/run/state/RunDecision.ts"
import * as Draft from "../support/Drafts.ts"
import * as SettledTurn from "../support/SettledTurn.ts"

const state = (
  limits: RunPolicy.Limits,
  used: Partial<RunEvent.Totals> = {},
  other: Partial<RunState.RunState> = {}
): RunState.RunState => ({
  ...RunState.empty,
  status: "preparing",
  runId: "run-1",
  limits,
  totals: { ...Draft.totals, ...used },
  ...other
})

const tokens = (inputTokens: number, outputTokens: number) => ({ usage: { inputTokens, outputTokens } })

describe("the next model call", () => {
  it("is free if nothing limits it", () => {
    const used = { turns: 1e6, toolRounds: 1e6, toolCalls: 1e6, errors: 1e6, compactions: 1e6, duration: 1e12 }
    assert.isUndefined(RunDecision.limitReached(state({}, { ...used, ...tokens(1e9, 1e9) }), 1e15))
  })

  it.each<readonly [string, RunPolicy.Limits, Partial<RunEvent.Totals>, RunEvent.LimitedReason | undefined]>([
    ["no turn of one", { maxTurns: 1 }, { turns: 0 }, undefined],
    ["one turn of one", { maxTurns: 1 }, { turns: 1 }, "turns"],
    ["one turn of two", { maxTurns: 2 }, { turns: 1 }, undefined],
    ["two turns of two", { maxTurns: 2 }, { turns: 2 }, "turns"],
    ["three turns of two", { maxTurns: 2 }, { turns: 3 }, "turns"],
    ["no turn of none", { maxTurns: 0 }, { turns: 0 }, "turns"],
    ["no error of none", { maxErrors: 0 }, { errors: 0 }, undefined],
    ["one error of none", { maxErrors: 0 }, { errors: 1 }, "errors"],
    ["one error of one", { maxErrors: 1 }, { errors: 1 }, undefined],
    ["two errors of one", { maxErrors: 1 }, { errors: 2 }, "errors"],
    ["99 tokens of 100", { maxTokens: 100 }, tokens(50, 49), undefined],
    ["100 tokens of 100", { maxTokens: 100 }, tokens(50, 50), "tokens"],
    ["101 tokens of 100", { maxTokens: 100 }, tokens(1, 100), "tokens"],
    ["no token of one", { maxTokens: 1 }, tokens(0, 0), undefined],
    ["all rounds, of which the calls know", { maxToolRounds: 0 }, { toolRounds: 5 }, undefined],
    ["all calls, of which the calls know", { maxToolCalls: 0 }, { toolCalls: 5 }, undefined]
  ])("after %s", (_, limits, used, reason) => {
    assert.strictEqual(RunDecision.limitReached(state(limits, used), 0), reason)
  })

  it.each<readonly [number, number, RunEvent.LimitedReason | undefined]>([
    [0, 999, undefined],
    [0, 1000, "duration"],
    [0, 1001, "duration"],
    [600, 399, undefined],
    [600, 400, "duration"],
    [1000, 0, "duration"]
  ])("after %i ms in past drives and %i in this one, of 1000, is %s", (duration, now, reason) => {
    const started = state({ maxDuration: 1000 }, { duration }, { driveStartedAt: 5000 })
    assert.strictEqual(RunDecision.limitReached(started, 5000 + now), reason)
  })

  it("names turns first, then time, tokens and errors", () => {
    const used = { turns: 1, duration: 1, errors: 1, ...tokens(1, 0) }
    const all = { maxTurns: 1, maxDuration: 1, maxTokens: 1, maxErrors: 0 }
    const order = ["maxTurns", "maxDuration", "maxTokens", "maxErrors"] as const
    const reasons = order.map((_, i) => {
      const limits: RunPolicy.Limits = Object.fromEntries(order.slice(i).map((key) => [key, all[key]]))
      return RunDecision.limitReached(state(limits, used), 0)
    })
    assert.deepStrictEqual(reasons, ["turns", "duration", "tokens", "errors"])
  })
})

describe("the calls that are left", () => {
  it.each<readonly [RunPolicy.Limits, Partial<RunEvent.Totals>, number, RunEvent.LimitedReason]>([
    [{}, {}, Infinity, "toolCalls"],
    [{ maxTurns: 1 }, { turns: 1 }, 0, "turns"],
    [{ maxTurns: 2 }, { turns: 1 }, Infinity, "toolCalls"],
    [{ maxToolRounds: 0 }, {}, 0, "toolRounds"],
    [{ maxToolRounds: 1 }, {}, Infinity, "toolCalls"],
    [{ maxToolRounds: 1 }, { toolRounds: 1 }, 0, "toolRounds"],
    [{ maxToolRounds: 1 }, { toolRounds: 2 }, 0, "toolRounds"],
    [{ maxToolCalls: 0 }, {}, 0, "toolCalls"],
    [{ maxToolCalls: 2 }, {}, 2, "toolCalls"],
    [{ maxToolCalls: 2 }, { toolCalls: 1 }, 1, "toolCalls"],
    [{ maxToolCalls: 2 }, { toolCalls: 2 }, 0, "toolCalls"],
    [{ maxToolCalls: 2 }, { toolCalls: 3 }, 0, "toolCalls"],
    [{ maxTurns: 1, maxToolRounds: 0, maxToolCalls: 0 }, { turns: 1 }, 0, "turns"],
    [{ maxToolRounds: 0, maxToolCalls: 5 }, {}, 0, "toolRounds"]
  ])("within %o after %o are %d, by %s", (limits, used, count, reason) => {
    assert.deepStrictEqual(RunDecision.callsLeft(state(limits, used)), { count, reason })
  })
})

describe("the decision", () => {
  const decide = (turn: Partial<RunDecision.Settled>, other: Partial<RunState.RunState> = {}) =>
    RunDecision.decide(state({}, {}, other), SettledTurn.of(turn), 0)

  it.each<readonly [RunEvent.FinishReason, RunEvent.Decision]>([
    ["stop", { _tag: "Complete", reason: "stop" }],
    ["tool-calls", { _tag: "Complete", reason: "other" }],
    ["length", { _tag: "Compact", reason: "length" }],
    ["content-filter", { _tag: "Complete", reason: "contentFilter" }],
    ["pause", { _tag: "Continue", reason: "pause" }],
    ["other", { _tag: "Complete", reason: "other" }],
    ["unknown", { _tag: "Complete", reason: "other" }]
  ])("after an answer without calls that ended by %s", (finishReason, decision) => {
    assert.deepStrictEqual(decide({ finishReason }), decision)
  })

  it.each<readonly [RunEvent.FinishReason, RunEvent.Decision]>([
    ["stop", { _tag: "Continue", reason: "toolCalls" }],
    ["tool-calls", { _tag: "Continue", reason: "toolCalls" }],
    ["length", { _tag: "Compact", reason: "length" }],
    ["content-filter", { _tag: "Complete", reason: "contentFilter" }],
    ["pause", { _tag: "Continue", reason: "toolCalls" }],
    ["other", { _tag: "Continue", reason: "toolCalls" }],
    ["unknown", { _tag: "Continue", reason: "toolCalls" }]
  ])("after an answer with calls that ended by %s", (finishReason, decision) => {
    assert.deepStrictEqual(decide({ finishReason, hasCalls: true }), decision)
  })

  it.each(["turns", "toolRounds", "toolCalls"] as const)("names %s if that limit cut the calls short", (cutBy) => {
    const turn = { finishReason: "tool-calls", hasCalls: true, cutBy } as const
    assert.deepStrictEqual(decide(turn), { _tag: "Limit", reason: cutBy })
  })

  it("fails with the error of a tool that was not allowed to fail", () => {
    const toolError: RunError.Stored = {
      _tag: "NonRetryableError",
      reason: { _tag: "ToolFailed", message: "no", tool: "pay", callId: "1.0" }
    }
    const turn = { hasCalls: true, finishReason: "tool-calls", cutBy: "toolCalls", toolError } as const
    assert.deepStrictEqual(decide(turn), { _tag: "Fail", error: toolError })
  })

  it("completes on an answer that adds nothing to the results of tools, and says so", () => {
    assert.deepStrictEqual(decide({ addsNothing: true }), { _tag: "Complete", reason: "emptyAfterTools" })
    const after = { totals: { ...Draft.totals, toolRounds: 1 } }
    assert.deepStrictEqual(decide({}, after), { _tag: "Complete", reason: "stop" })
  })

  it("asks once for an answer that fits the output schema", () => {
    assert.deepStrictEqual(decide({ invalidOutput: "no JSON" }), { _tag: "Continue", reason: "correction" })
    assert.deepStrictEqual(decide({ invalidOutput: "no JSON" }, { corrections: 1 }), {
      _tag: "Fail",
      error: { _tag: "NonRetryableError", reason: RunError.invalidOutput("no JSON").reason }
    })
  })

  it("does not complete a run with an output schema on an answer that does not fit it", () => {
    for (const finishReason of RunEvent.FinishReason.literals) {
      const decision = decide({ finishReason, invalidOutput: "no JSON" }, { corrections: 1 })
      assert.notStrictEqual(decision._tag, "Complete", finishReason)
    }
  })
})
