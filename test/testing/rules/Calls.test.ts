/** The rules of tool calls in a log: at the ends of drives and runs, and by the outcome of a call. */
import { assert, describe, it } from "@effect/vitest"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import type * as ToolOutcome from "../../../src/run/ToolOutcome.ts"
import * as LogRules from "../../../src/testing/LogRules.ts"
import * as Drafts from "../../../src/testing/sessions/Drafts.ts"

const { assistant, call, completed, log, settled, started, toolStarted, turnFinished, turnStarted } = Drafts

const asking = [
  started("go"),
  turnStarted(1),
  assistant([call("search")], { finishReason: "tool-calls" })
] as const
const answer = [turnStarted(2), assistant([{ type: "text", text: "done" }], { turn: 2 }), completed()] as const
const died: RunEvent.Draft = { _tag: "RunAborted", reason: "crashed", totals: Drafts.totals }
const denied = { _tag: "Denied", reason: "no" } as const

const says = (events: ReadonlyArray<RunEvent.Durable>, ...found: ReadonlyArray<string>) =>
  assert.deepStrictEqual(LogRules.violations(events).filter((what) => !what.startsWith("messages after")), found)

describe("a call without an intent is named when it", () => {
  const outcomes: Record<string, ToolOutcome.ToolOutcome> = {
    "succeeded": { _tag: "Succeeded", result: "ok" },
    "failed": { _tag: "Failed", result: "no such page" },
    "timed out": { _tag: "TimedOut", limit: 1 },
    "was interrupted": { _tag: "Interrupted" },
    "has an unknown outcome": { _tag: "OutcomeUnknown" },
    "returned what cannot be encoded": { _tag: "NotEncodable", message: "a function" }
  }
  for (const [name, outcome] of Object.entries(outcomes)) {
    it(name, () =>
      says(
        log(...asking, settled("1.0", outcome), turnFinished(1), ...answer),
        "event 4 (ToolSettled): 1.0 ran without an intent"
      ))
  }
})

it("an approval is no intent", () =>
  says(
    log(
      ...asking,
      Drafts.approvalRequested("1.0"),
      Drafts.approvalResolved("1.0"),
      settled("1.0", "ok"),
      turnFinished(1),
      ...answer
    ),
    "event 6 (ToolSettled): 1.0 ran without an intent"
  ))

it("an intent of one run does not count for a call of the next", () =>
  says(
    log(
      ...asking,
      toolStarted("1.0"),
      settled("1.0", "ok"),
      turnFinished(1),
      ...answer,
      ...[...asking, settled("1.0", "ok"), turnFinished(1), ...answer].map((draft) => ({ ...draft, runId: "run-2" }))
    ),
    "event 13 (ToolSettled): 1.0 ran without an intent"
  ))

describe("a call without an outcome is named", () => {
  it("when its run completes", () => says(log(...asking, completed()), "event 4 (RunCompleted): no outcome for 1.0"))

  it("when its run is aborted", () => says(log(...asking, Drafts.aborted), "event 4 (RunAborted): no outcome for 1.0"))

  it("when the next run begins after a drive that died", () =>
    says(
      log(...asking, died, started("again"), turnStarted(1), assistant([{ type: "text", text: "hi" }]), completed()),
      "event 5 (RunStarted): no outcome for 1.0"
    ))

  it("when the next turn begins after a drive that died", () =>
    says(log(...asking, died, Drafts.resumed(2), ...answer), "event 6 (TurnStarted): no outcome for 1.0"))

  it("when another answer takes the place of its message", () =>
    says(
      log(...asking, assistant([{ type: "text", text: "done" }]), turnFinished(1), completed()),
      "event 4 (AssistantMessage): no outcome for 1.0"
    ))
})

describe.each<readonly [string, RunEvent.Draft]>([
  ["is suspended", Drafts.suspended],
  ["dies", died],
  ["is shut down", { ...died, reason: "shutdown" }],
  ["loses its store", Drafts.failed("StoreUnavailable")],
  ["is still under way", Drafts.notice("go on")]
])("where its drive %s, and nothing follows,", (_, last) => {
  const saysOf = (...drafts: ReadonlyArray<RunEvent.Draft>) =>
    LogRules.violations(log(...asking, toolStarted("1.0"), ...drafts, last), true)

  it("a second outcome of a call is named", () =>
    assert.deepStrictEqual(saysOf(settled("1.0", "ok"), settled("1.0", "ok")), [
      "event 6 (ToolSettled): an outcome for no open call, 1.0"
    ]))

  it("an outcome for no call is named", () =>
    assert.deepStrictEqual(saysOf(settled("1.4", denied)), ["event 5 (ToolSettled): an outcome for no open call, 1.4"]))
})

it("an intent of a call that has its outcome is named", () =>
  says(
    log(...asking, settled("1.0", denied), toolStarted("1.0"), turnFinished(1), ...answer),
    "event 5 (ToolStarted): an intent for no open call, 1.0"
  ))

it("a call that has its outcome may not get another outside a drive", () =>
  says(
    log(...asking, settled("1.0", denied), died, settled("1.0", denied), Drafts.resumed(2), turnFinished(1), ...answer),
    "event 6 (ToolSettled): outside a drive",
    "event 6 (ToolSettled): an outcome for no open call, 1.0",
    "event 7 (RunResumed): a drive begins inside another"
  ))
