/** Every rule of a log: what breaks it is named with its event; what only looks like a breach is not. */
import { assert, describe, it } from "@effect/vitest"
import * as Message from "../../src/run/Message.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as Usage from "../../src/run/Usage.ts"
import * as LogRules from "../../src/testing/LogRules.ts"
import * as Drafts from "../../src/testing/sessions/Drafts.ts"

type Log = ReadonlyArray<RunEvent.Durable>

const { assistant, call, completed, log, settled, started, text, toolStarted, turnFinished, turnStarted } = {
  ...Drafts,
  text: Message.text
}

const begun = [started("go"), turnStarted(1)] as const
const asking = [...begun, assistant([call("search")], { finishReason: "tool-calls" })] as const
const answered = [turnFinished(1), turnStarted(2), assistant([text("done")], { turn: 2 }), completed()] as const

const queued: RunEvent.Draft = { _tag: "InputQueued", kind: "steer", messages: [Message.user("more")] }
const received = (seq: number): RunEvent.Draft => ({ ...queued, _tag: "InputReceived", queued: seq })

const question = Drafts.approvalRequested("1.0")
const below = { sessionId: "below", runId: "below" }
const denied = { _tag: "Denied", reason: "no" } as const
const died: RunEvent.Draft = { _tag: "RunAborted", reason: "crashed", totals: Drafts.totals }

const shutDown = (kept: ReadonlyArray<number>): RunEvent.Draft => ({ ...died, reason: "shutdown", kept })

const ofRun = (runId: string, ...drafts: ReadonlyArray<Drafts.Placed>) => drafts.map((draft) => ({ ...draft, runId }))

const withSeq = (events: Log, at: number, seq: number): Log =>
  events.map((event, i) => i === at ? { ...event, seq } : event)

describe("no violation is found in a log", () => {
  const legal: Record<string, Log> = {
    "without events": [],
    "with an answer": log(...begun, assistant([text("hi")]), completed()),
    "with a call": log(...asking, toolStarted("1.0"), settled("1.0", "ok"), ...answered),
    "with a call that was asked about": log(
      ...asking,
      question,
      Drafts.approvalResolved("1.0"),
      toolStarted("1.0"),
      settled("1.0", "ok"),
      ...answered
    ),
    "with a question answered outside a drive": log(
      ...asking,
      question,
      Drafts.suspended,
      Drafts.approvalResolved("1.0"),
      Drafts.resumed(2),
      toolStarted("1.0"),
      settled("1.0", "ok"),
      ...answered
    ),
    "suspended with what was said before a shutdown": log(
      ...asking,
      question,
      queued,
      shutDown([5]),
      Drafts.resumed(2),
      { ...Drafts.suspended, kept: [5] },
      Drafts.approvalResolved("1.0"),
      Drafts.resumed(3),
      toolStarted("1.0"),
      settled("1.0", "ok"),
      turnFinished(1),
      received(5),
      ...answered.slice(1)
    ),
    "with a call that paused for people in a run below it": log(
      ...asking,
      toolStarted("1.0"),
      Drafts.toolPaused("1.0", below),
      Drafts.suspended,
      Drafts.resumed(2),
      toolStarted("1.0"),
      settled("1.0", "ok"),
      ...answered
    ),
    "whose drive died during a call": log(
      ...asking,
      toolStarted("1.0"),
      died,
      Drafts.resumed(2),
      toolStarted("1.0"),
      settled("1.0", "ok"),
      ...answered
    ),
    "shut down with calls that the next drive makes": log(
      ...asking,
      toolStarted("1.0"),
      shutDown([]),
      Drafts.resumed(2),
      toolStarted("1.0"),
      settled("1.0", "ok"),
      ...answered
    ),
    "whose store was away, with calls that the next drive makes": log(
      ...asking,
      toolStarted("1.0"),
      Drafts.failed("StoreUnavailable"),
      Drafts.resumed(2),
      toolStarted("1.0"),
      settled("1.0", "ok"),
      ...answered
    ),
    "shut down with a question that is answered then": log(
      ...asking,
      question,
      shutDown([]),
      Drafts.approvalResolved("1.0"),
      Drafts.resumed(2),
      toolStarted("1.0"),
      settled("1.0", "ok"),
      ...answered
    ),
    "with a call settled before the next message": log(
      ...asking,
      toolStarted("1.0"),
      died,
      settled("1.0", { _tag: "OutcomeUnknown" }),
      started("again"),
      turnStarted(1),
      assistant([text("hi")]),
      completed()
    ),
    "with a call of a run that died, settled before the next run begins": log(
      ...asking,
      toolStarted("1.0"),
      died,
      settled("1.0", { _tag: "OutcomeUnknown" }),
      ...ofRun("run-2", ...begun, assistant([text("hi")]), completed())
    ),
    "with a call whose result a person gave": log(
      ...asking,
      question,
      Drafts.suspended,
      { ...Drafts.approvalResolved("1.0"), result: null },
      Drafts.resumed(2),
      settled("1.0", "ok"),
      ...answered
    ),
    "with a call that a hook answered": log(...asking, settled("1.0", "ok", { hook: "cache" }), ...answered),
    "whose queued input was received after a shutdown that kept it": log(
      ...begun,
      queued,
      queued,
      shutDown([4]),
      received(4),
      started("again"),
      turnStarted(1),
      assistant([text("hi")]),
      completed()
    ),
    "whose queued input was received": log(...begun, queued, assistant([text("hi")]), received(3), completed()),
    "with a compaction discarded outside a drive": log(...begun, assistant([text("hi")]), completed(), {
      _tag: "CompactionDiscarded",
      message: "busy",
      usage: Usage.zero
    }),
    "with an input that arrived during its turn": log(
      ...begun,
      Drafts.input("more"),
      assistant([text("hi")]),
      completed()
    ),
    "compacted by hand outside a drive": log(...begun, assistant([text("hi")]), completed(), {
      ...Drafts.compacted(3, [Message.user("before")]),
      cause: "manual"
    })
  }
  for (const [name, events] of Object.entries(legal)) {
    it(name, () => assert.deepStrictEqual(LogRules.violations(events), []))
  }
})

describe("a violation is found in a log", () => {
  const illegal: Record<string, readonly [events: Log, found: ReadonlyArray<string>]> = {
    "with a gap": [withSeq(log(...begun, assistant([text("hi")]), completed()), 2, 7), [
      "event 3 (AssistantMessage): seq 7"
    ]],
    "with a drive inside another": [
      log(...begun, started("two"), turnStarted(1), assistant([text("hi")]), completed()),
      ["event 3 (RunStarted): a drive begins inside another"]
    ],
    "with an end of another run": [
      log(...begun, assistant([text("hi")]), ...ofRun("run-2", completed())),
      ["event 4 (RunCompleted): of run run-2, where the last run is run-1"]
    ],
    "with an event of a run before": [
      log(
        ...begun,
        assistant([text("hi")]),
        completed(),
        ...ofRun("run-2", ...begun),
        assistant([text("hi")]),
        ...ofRun("run-2", completed())
      ),
      ["event 7 (AssistantMessage): of run run-1, where the last run is run-2"]
    ],
    "with an outcome that is said to be of the next run": [
      log(
        ...asking,
        toolStarted("1.0"),
        died,
        ...ofRun("run-2", settled("1.0", { _tag: "OutcomeUnknown" }), ...begun, assistant([text("hi")]), completed())
      ),
      ["event 6 (ToolSettled): of run run-2, where the last run is run-1"]
    ],
    "resumed before it has a run": [log(Drafts.resumed(2), Drafts.aborted), [
      "event 1 (RunResumed): of run run-1, where the last run is none",
      "messages after event 1 (RunResumed): there is no message but system ones",
      "event 2 (RunAborted): of run run-1, where the last run is none",
      "messages after event 2 (RunAborted): there is no message but system ones"
    ]],
    "with an event outside a drive": [
      log(...begun, assistant([text("hi")]), completed(), Drafts.notice("late")),
      ["event 5 (NoticeAdded): outside a drive", "the last drive has no end"]
    ],
    "without an end": [log(...begun, assistant([text("hi")])), ["the last drive has no end"]],
    "with a call without an outcome": [log(...asking, ...answered), [
      "event 4 (TurnFinished): no outcome for 1.0"
    ]],
    "with a call with two outcomes": [
      log(...asking, toolStarted("1.0"), settled("1.0", "ok"), settled("1.0", "ok"), ...answered),
      ["event 6 (ToolSettled): an outcome for no open call, 1.0"]
    ],
    "with an outcome for no call": [
      log(...asking, toolStarted("1.0"), settled("1.0", "ok"), settled("1.4", denied), ...answered),
      ["event 6 (ToolSettled): an outcome for no open call, 1.4"]
    ],
    "with an intent for no call": [
      log(...asking, toolStarted("1.0"), toolStarted("1.4"), settled("1.0", "ok"), ...answered),
      ["event 5 (ToolStarted): an intent for no open call, 1.4"]
    ],
    "with two intents in a drive": [
      log(...asking, toolStarted("1.0"), toolStarted("1.0"), settled("1.0", "ok"), ...answered),
      ["event 5 (ToolStarted): a second intent for 1.0"]
    ],
    "with a call that paused without an intent": [
      log(...asking, Drafts.toolPaused("1.0", below), Drafts.suspended),
      ["event 4 (ToolPaused): 1.0 paused without an intent"]
    ],
    "with a call that ran without an intent": [
      log(...asking, settled("1.0", "ok"), ...answered),
      ["event 4 (ToolSettled): 1.0 ran without an intent"]
    ],
    "with a question asked twice": [
      log(...asking, question, question, Drafts.approvalResolved("1.0", false), settled("1.0", denied), ...answered),
      ["event 5 (ApprovalRequested): a second question about 1.0"]
    ],
    "with an answer to no question": [
      log(...asking, Drafts.approvalResolved("1.0"), toolStarted("1.0"), settled("1.0", "ok"), ...answered),
      ["event 4 (ApprovalResolved): an answer to no open question, run-1/1.0"]
    ],
    "with two answers to a question": [
      log(
        ...asking,
        question,
        Drafts.approvalResolved("1.0"),
        Drafts.approvalResolved("1.0"),
        toolStarted("1.0"),
        settled("1.0", "ok"),
        ...answered
      ),
      ["event 6 (ApprovalResolved): an answer to no open question, run-1/1.0"]
    ],
    "with a call that ran although a person gave its result": [
      log(
        ...asking,
        question,
        { ...Drafts.approvalResolved("1.0"), result: null },
        toolStarted("1.0"),
        settled("1.0", "ok"),
        ...answered
      ),
      ["event 6 (ToolStarted): 1.0 was not allowed"]
    ],
    "with a call that ran before the answer": [
      log(...asking, question, toolStarted("1.0"), settled("1.0", "ok"), ...answered),
      ["event 5 (ToolStarted): 1.0 was not allowed"]
    ],
    "with a call that ran against the answer": [
      log(
        ...asking,
        question,
        Drafts.approvalResolved("1.0", false),
        toolStarted("1.0"),
        settled("1.0", "ok"),
        ...answered
      ),
      ["event 6 (ToolStarted): 1.0 was not allowed"]
    ],
    "with a call that ran with arguments that were not allowed": [
      log(
        ...asking,
        question,
        Drafts.approvalResolved("1.0"),
        toolStarted("1.0", { all: true }),
        settled("1.0", "ok"),
        ...answered
      ),
      ["event 6 (ToolStarted): 1.0 was not allowed"]
    ],
    "with a call that a shutdown left, and that was lost": [
      log(...asking, toolStarted("1.0"), shutDown([]), started("again"), completed()),
      ["event 6 (RunStarted): no outcome for 1.0"]
    ],
    "with a call settled before a shutdown and after it": [
      log(
        ...asking,
        toolStarted("1.0"),
        settled("1.0", { _tag: "Interrupted" }),
        shutDown([]),
        Drafts.resumed(2),
        settled("1.0", "ok"),
        ...answered
      ),
      ["event 8 (ToolSettled): an outcome for no open call, 1.0"]
    ],
    "with a call left by another failure": [
      log(...asking, toolStarted("1.0"), Drafts.failed("Authentication"), Drafts.resumed(2), Drafts.aborted),
      ["event 5 (RunFailed): no outcome for 1.0"]
    ],
    "with an input received twice": [
      log(...begun, queued, assistant([text("hi")]), received(3), received(3), completed()),
      ["event 6 (InputReceived): nothing is queued as 3"]
    ],
    "with an input received after an end that gave it up": [
      log(...begun, queued, assistant([text("hi")]), completed(), received(3)),
      ["event 6 (InputReceived): nothing is queued as 3"]
    ],
    "with an input received after a shutdown that did not keep it": [
      log(...begun, queued, queued, shutDown([4]), received(3), received(4), started("again"), completed()),
      ["event 6 (InputReceived): nothing is queued as 3"]
    ],
    "with a shutdown that keeps what is not queued": [
      log(...begun, queued, shutDown([2, 3])),
      ["event 4 (RunAborted): nothing is queued as 2"]
    ],
    "with another end that keeps something": [
      log(...begun, queued, { ...Drafts.aborted, kept: [3] }, Drafts.resumed(2), Drafts.aborted),
      ["event 4 (RunAborted): keeps what only an end by a shutdown, or by a store that did not answer, may keep"]
    ],
    "with a suspension that keeps what was said to its own drive": [
      log(...asking, question, queued, { ...Drafts.suspended, kept: [5] }),
      ["event 6 (RunSuspended): keeps 5, which no earlier drive was told"]
    ],
    "with an input received that differs from what was queued": [
      log(...begun, queued, assistant([text("hi")]), { ...received(3), messages: [Message.user("less")] }, completed()),
      ["event 5 (InputReceived): nothing is queued as 3"]
    ],
    "with an input received as another kind than it was queued as": [
      log(
        ...begun,
        queued,
        assistant([text("hi")]),
        { ...Drafts.input("more"), kind: "followUp", queued: 3 },
        completed()
      ),
      ["event 5 (InputReceived): nothing is queued as 3"]
    ],
    "with an input received under a number never queued": [
      log(...begun, queued, assistant([text("hi")]), received(2), completed()),
      ["event 5 (InputReceived): nothing is queued as 2"]
    ],
    "with an input outside a drive": [
      log(...begun, assistant([text("hi")]), completed(), Drafts.input("more")),
      ["event 5 (InputReceived): outside a drive", "the last drive has no end"]
    ],
    "compacted outside a drive, but not by hand": [
      log(...begun, assistant([text("hi")]), completed(), Drafts.compacted(3, [Message.user("before")])),
      ["event 5 (ContextCompacted): outside a drive", "the last drive has no end"]
    ],
    "with a failure of another kind that keeps something": [
      log(...begun, queued, { ...Drafts.failed("Authentication"), kept: [3] }, Drafts.resumed(2), Drafts.aborted),
      ["event 4 (RunFailed): keeps what only an end by a shutdown, or by a store that did not answer, may keep"]
    ],
    "with an input that a store which did not answer kept and that was lost": [
      log(
        ...begun,
        queued,
        { ...Drafts.failed("StoreUnavailable"), kept: [3] },
        started("again"),
        turnStarted(1),
        assistant([text("hi")]),
        completed()
      ),
      ["event 5 (RunStarted): what was queued as 3 is lost"]
    ],
    "with an input that was lost": [
      log(...begun, queued, died, started("again"), turnStarted(1), assistant([text("hi")]), completed()),
      ["event 5 (RunStarted): what was queued as 3 is lost"]
    ],
    "with an input that a shutdown kept and that was lost": [
      log(...begun, queued, shutDown([3]), started("again"), turnStarted(1), assistant([text("hi")]), completed()),
      ["event 5 (RunStarted): what was queued as 3 is lost"]
    ]
  }
  for (const [name, [events, found]] of Object.entries(illegal)) {
    it(name, () => assert.deepStrictEqual(LogRules.violations(events), found))
  }

  it("unless it lacks only the end of a last drive that may be open", () =>
    assert.deepStrictEqual(LogRules.violations(log(...begun, assistant([text("hi")])), true), []))
})
