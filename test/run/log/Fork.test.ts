/** Where logs may be cut, and that what is cut off there is a whole log. */
import { assert, describe, it } from "@effect/vitest"
import * as Fork from "../../../src/run/log/Fork.ts"
import * as Message from "../../../src/run/Message.ts"
import * as RunEvent from "../../../src/run/RunEvent.ts"
import * as RunState from "../../../src/run/RunState.ts"
import * as Transcript from "../../../src/run/Transcript.ts"
import * as Draft from "../../support/Drafts.ts"
import * as Logs from "../../support/Logs.ts"
import * as RunLog from "../../support/RunLog.ts"

const check = (runs: number) => ({ arbitrary: { runs, size: 60, seed: "fork" } })

const fold = (log: Logs.Log) => log.reduce(RunState.evolve, RunState.empty)

/** The copies of a log at all of its places, without and with the events that end them. */
const copies = (log: Logs.Log) =>
  Fork.places(log).map((place) => {
    const copied = log.slice(0, place)
    const state = fold(copied)
    const closing = Fork.closing(state, copied[place - 1]!, 2e12)
    return { place, copied, closing, end: Fork.endOf(state, copied[place - 1]!, 2e12), log: [...copied, ...closing] }
  })

describe("places", () => {
  it("are finished turns and ends", () => {
    const log = Draft.log(
      Draft.started("x"),
      Draft.turnStarted(1),
      Draft.assistant([Draft.call("search")]),
      Draft.toolStarted("1.0"),
      Draft.settled("1.0", "y"),
      Draft.turnFinished(1),
      Draft.notice("z"),
      Draft.suspended,
      Draft.resumed(2),
      Draft.limited(),
      Draft.resumed(3),
      Draft.aborted,
      Draft.resumed(4),
      Draft.completed()
    )
    assert.deepStrictEqual(Fork.places(log), [6, 8, 10, 12, 14])
  })

  it("are not events that a newer version may know", () => {
    const [event] = Draft.log(Draft.completed())
    assert.deepStrictEqual(Fork.places([{ ...event, _tag: "Invented" } as unknown as RunEvent.Durable]), [])
  })

  it.prop("have no call under way before them, unless a drive died in it", [Logs.tidy], ([{ log }]) => {
    for (const { copied } of copies(log)) {
      const { crashes, openCalls } = fold(copied)
      if (crashes === 0) assert.notInclude(openCalls.map((call) => call.phase), "started")
    }
  }, check(100))
})

it.each<readonly [string, RunEvent.Draft, boolean]>([
  ["that completed", Draft.completed(), true],
  ["that reached a limit", Draft.limited(), true],
  ["that was aborted", Draft.aborted, true],
  ["that failed", Draft.failed("Authentication"), true],
  ["whose drive died", { ...Draft.aborted, reason: "crashed" }, false],
  ["whose store did not answer", Draft.failed("StoreUnavailable"), false],
  ["that waits for a person", Draft.suspended, false],
  ["that goes on", Draft.turnFinished(1), false]
])("a copy that ends with a run %s says whether something is added to it", (_, last, isWhole) => {
  assert.strictEqual(Fork.isWhole(Draft.log(last)[0]!), isWhole)
})

describe("closing", () => {
  /** What is added after this end of a run with four calls: not decided, asked about, allowed, and paused. */
  const added = (...ending: ReadonlyArray<RunEvent.Draft>) => {
    const log = Draft.log(
      Draft.started("x"),
      Draft.assistant(["a", "b", "c", "d"].map((name) => Draft.call(name))),
      Draft.approvalRequested("1.1"),
      Draft.approvalRequested("1.2"),
      Draft.approvalResolved("1.2"),
      Draft.toolStarted("1.3"),
      Draft.toolPaused("1.3", { sessionId: "below", runId: "below" }),
      ...ending
    )
    return Fork.closing(fold(log), log.at(-1)!, 77)
  }

  it("settles the calls of a suspended run that a person has allowed or that have started, and leaves the others open", () => {
    assert.deepStrictEqual(RunLog.outcomes(added(Draft.suspended)), ["1.2 NotExecuted(stopped)", "1.3 OutcomeUnknown"])
  })

  it.each<readonly [string, RunEvent.Draft]>([
    ["whose process died", { ...Draft.aborted, reason: "crashed" }],
    ["whose process was shut down", { ...Draft.aborted, reason: "shutdown" }],
    ["whose store did not answer", Draft.failed("StoreUnavailable")]
  ])("settles all calls of a run %s, and ends it once more, as a copy's", (_, end) => {
    const events = added(end)
    assert.deepStrictEqual(RunLog.tags(events), [...Array(4).fill("ToolSettled"), "RunResumed", "RunAborted"])
    assert.deepStrictEqual(RunLog.outcomes(events), [
      "1.0 NotExecuted(stopped)",
      "1.1 NotExecuted(stopped)",
      "1.2 NotExecuted(stopped)",
      "1.3 OutcomeUnknown"
    ])
    assert.strictEqual(RunLog.endOf(events), "RunAborted(forked)")
  })

  it("settles all calls of a suspended run of which nobody is asked about one, and ends it as a copy's", () => {
    const log = Draft.log(
      Draft.started("x"),
      Draft.assistant([Draft.call("a"), Draft.call("b")]),
      Draft.toolStarted("1.0"),
      Draft.toolPaused("1.0", { sessionId: "below", runId: "below" }),
      Draft.suspended
    )
    const events = Fork.closing(fold(log), log.at(-1)!, 77)
    assert.deepStrictEqual(RunLog.outcomes(events), ["1.0 OutcomeUnknown", "1.1 NotExecuted(stopped)"])
    assert.deepStrictEqual(RunLog.tags(events).slice(2), ["RunResumed", "RunAborted"])
  })

  it.prop(
    "adds nothing to a whole copy, and leaves open no call that its original may carry out",
    [Logs.odd],
    ([{ log }]) => {
      for (const { closing, copied, log: whole } of copies(log)) {
        const last = copied.at(-1)!
        if (Fork.isWhole(last) && Fork.underWay(fold(copied)).length === 0) assert.deepStrictEqual(closing, [])
        if (RunEvent.isEnd(last)) assert.deepStrictEqual(Fork.underWay(fold(whole)), [])
      }
    },
    check(100)
  )
})

describe("endOf", () => {
  it.prop("leaves an ended run unchanged, and ends any other", [Logs.odd], ([{ log }]) => {
    for (const { copied, end, log: whole } of copies(log)) {
      assert.strictEqual(end === undefined, RunEvent.isEnd(copied.at(-1)!))
      assert.isFalse(RunState.isOpen(fold(whole)))
    }
  }, check(100))

  it.prop("makes a log that is as whole as the one it was cut from", [Logs.tidy], ([{ log }]) => {
    for (const { copied, log: whole } of copies(log)) {
      assert.deepStrictEqual(RunLog.violations(whole), RunLog.violations(copied, true))
    }
  }, check(30))

  it.prop("counts what the run had used up by then", [Logs.tidy], ([{ log, totals }]) => {
    for (const { end, place } of copies(log)) {
      if (end === undefined) continue
      assert.deepStrictEqual({ ...end.totals, duration: 0 }, { ...totals[place - 1]!, duration: 0 })
    }
  }, check(100))

  it.prop("counts no time between the copied log and the fork", [Logs.tidy], ([{ log }]) => {
    for (const { copied, end } of copies(log)) {
      const last = copied.at(-1)!
      assert.deepStrictEqual(end?.totals, Fork.endOf(fold(copied), last, last.at)?.totals)
    }
  }, check(30))

  it.prop("changes nothing that the model gets, except for calls that it settles", [Logs.odd], ([{ log }]) => {
    for (const { closing, copied, log: whole } of copies(log)) {
      if (closing.some(({ _tag }) => _tag === "ToolSettled")) continue
      const [before, after] = [copied, whole].map((log) => Transcript.messages(Transcript.fromLog(log), Draft.model))
      assert.deepStrictEqual(after, before)
    }
  }, check(30))

  it("says who was forked, and when", () => {
    const log = Draft.log(Draft.started("x"), Draft.assistant([Message.text("y")]), Draft.turnFinished(1))
    assert.deepStrictEqual(Fork.endOf(fold(log), log[2], 77), {
      _tag: "RunAborted",
      seq: 4,
      at: 77,
      runId: "run-1",
      version: RunEvent.version,
      reason: "forked",
      totals: { ...Draft.totals, turns: 1, duration: 2 }
    })
  })
})
