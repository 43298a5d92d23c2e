/** The rules of questions in a log: which answer belongs to which, and what may run after it. */
import { assert, describe, it } from "@effect/vitest"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import * as LogRules from "../../../src/testing/LogRules.ts"
import * as Drafts from "../../../src/testing/sessions/Drafts.ts"

const { log, settled, toolStarted } = Drafts

/** A turn with one call; the given events stand between the call and its outcome. */
const around = (...between: ReadonlyArray<RunEvent.Draft>) =>
  log(
    Drafts.started("go"),
    Drafts.turnStarted(1),
    Drafts.assistant([Drafts.call("search")], { finishReason: "tool-calls" }),
    ...between,
    Drafts.turnFinished(1),
    Drafts.turnStarted(2),
    Drafts.assistant([{ type: "text", text: "done" }], { turn: 2 }),
    Drafts.completed()
  )

const question = Drafts.approvalRequested("1.0")
const yes = Drafts.approvalResolved("1.0")
const no = Drafts.approvalResolved("1.0", false)
const edited = { ...yes, params: { all: true } }
const needsResult = { ...question, needsResult: true }
const denied = settled("1.0", { _tag: "Denied", reason: "no" })
const run = (params = {}) => [toolStarted("1.0", params), settled("1.0", "ok")]

describe("a call is legal", () => {
  const legal: Record<string, ReadonlyArray<RunEvent.Durable>> = {
    "when it ran with the arguments that a person gave": around(question, edited, ...run({ all: true })),
    "when it is asked about again with other arguments": around(
      question,
      yes,
      { ...question, params: { all: true }, digest: "33" },
      yes,
      ...run({ all: true })
    ),
    "when it is asked about again with the same arguments after a person gave others": around(
      question,
      edited,
      question,
      yes,
      ...run()
    ),
    "when it is asked about again because a result is needed by then": around(
      question,
      yes,
      needsResult,
      { ...yes, result: "ok" },
      settled("1.0", "ok")
    )
  }
  for (const [name, events] of Object.entries(legal)) {
    it(name, () => assert.deepStrictEqual(LogRules.violations(events), []))
  }
})

describe("a call is illegal", () => {
  const illegal: Record<string, readonly [events: ReadonlyArray<RunEvent.Durable>, found: string]> = {
    "when it is asked about again after a yes": [
      around(question, yes, question, yes, ...run()),
      "event 6 (ApprovalRequested): a second question about 1.0"
    ],
    "when it is asked about again after a no, although a result is needed by then": [
      around(question, no, needsResult, no, denied),
      "event 6 (ApprovalRequested): a second question about 1.0"
    ],
    "when the answer is to another question": [
      around(question, { ...yes, approvalId: "another" }, ...run()),
      "event 5 (ApprovalResolved): an answer to no open question, run-1/1.0"
    ],
    "when it ran with the arguments asked about, although a person gave others": [
      around(question, edited, ...run()),
      "event 6 (ToolStarted): 1.0 was not allowed"
    ]
  }
  for (const [name, [events, found]] of Object.entries(illegal)) {
    it(name, () => assert.deepStrictEqual(LogRules.violations(events), [found]))
  }
})
