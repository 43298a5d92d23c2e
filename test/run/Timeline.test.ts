/** A session as spans of time: what each event adds, and what holds for any log. */
import { assert, describe, it } from "@effect/vitest"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as Timeline from "../../src/run/Timeline.ts"
import * as Usage from "../../src/run/Usage.ts"
import * as Draft from "../support/Drafts.ts"
import * as Logs from "../support/Logs.ts"
import { dice } from "../support/Odd.ts"

const entriesOf = (log: Logs.Log): ReadonlyArray<Timeline.Entry> => {
  let timeline = Timeline.empty
  const all: Array<Timeline.Entry> = []
  for (const event of log) {
    const [next, entries] = Timeline.step(timeline, event)
    timeline = next
    all.push(...entries)
  }
  return [...all, ...Timeline.finish(timeline)[1]]
}

const isSpan = (entry: Timeline.Entry): entry is Timeline.Span => entry._tag === "Span"

/** `kind name from-to outcome`, with `>` and `<` where a drive begins and ends. */
const shown = (...drafts: ReadonlyArray<Draft.Placed>): ReadonlyArray<string> =>
  entriesOf(Draft.log(...drafts)).map((entry) =>
    entry._tag === "Span"
      ? `${entry.kind} ${entry.name} ${entry.from}-${entry.to ?? ""} ${entry.outcome}`.trimEnd()
      : entry._tag === "DriveStarted"
      ? `> ${entry.run}.${entry.drive} ${entry.at} ${entry.cause}`
      : `< ${entry.run}.${entry.drive} ${entry.at} ${entry.end?._tag ?? "no end"}`
  )

const at = <D extends RunEvent.Draft>(at: number, draft: D): D & { readonly at: number } => ({ ...draft, at })
const totals = (duration: number): RunEvent.Totals => ({ ...Draft.aborted.totals, duration })
const ended = (reason: RunEvent.AbortedReason, duration: number) => ({
  ...Draft.aborted,
  reason,
  totals: totals(duration)
})
const call = Draft.assistant([Draft.call("search"), Draft.call("search")])

describe("a turn", () => {
  it("has its model call, with the time to its first part, and its tool calls, which overlap if parallel", () => {
    const log = [
      at(0, Draft.started("go")),
      at(100, Draft.turnStarted(1)),
      at(1_100, { ...call, usage: { inputTokens: 7, outputTokens: 2 } }),
      at(1_100, Draft.toolStarted("1.0")),
      at(1_100, Draft.toolStarted("1.1")),
      at(1_300, Draft.settled("1.1", "b", { duration: 200 })),
      at(1_930, Draft.settled("1.0", "a", { duration: 800 })),
      at(1_930, { ...Draft.turnFinished(1), latency: { firstPart: 400, model: 1_000, tools: 800 } }),
      at(1_930, Draft.completed())
    ]
    assert.deepStrictEqual(shown(...log), [
      "> 1.1 0 start",
      "model test/model 100-1100 stop",
      "tool search 1100-1900 Succeeded",
      "tool search 1100-1300 Succeeded",
      "< 1.1 1930 RunCompleted"
    ])
    const [model, tool] = entriesOf(Draft.log(...log)).filter(isSpan)
    assert.deepInclude(model, { firstPart: 400, usage: { inputTokens: 7, outputTokens: 2 }, turn: 1, seq: 2 })
    assert.deepInclude(tool, { callId: "1.0", seq: 4 })
    assert.notProperty(tool, "firstPart")
  })

  it("has the attempts that do not count, and the waits after them", () => {
    assert.deepStrictEqual(
      shown(
        at(0, Draft.started("go")),
        at(0, Draft.turnStarted(1)),
        at(50, { ...Draft.discarded(1, 1), duration: 50, delay: 1_000 }),
        at(1_090, { ...Draft.discarded(1, 2), duration: 40 }),
        at(1_090, { _tag: "ModelSwitched", turn: 1, from: Draft.model, to: { provider: "b", name: "m" } }),
        at(1_200, Draft.assistant([])),
        at(1_200, Draft.completed())
      ).slice(1, -1),
      [
        "attempt test/model 0-50 Overloaded",
        "retry test/model 50-1050",
        "attempt test/model 1050-1090 Overloaded",
        "model b/m 1090-1200 stop"
      ]
    )
  })

  it("has an attempt from its start, after what the turn did before it", () => {
    assert.deepStrictEqual(
      shown(
        at(0, Draft.started("go")),
        at(0, Draft.turnStarted(1)),
        at(70, { ...Draft.discarded(1, 1), duration: 50 })
      ).slice(1, -1),
      ["attempt test/model 20-70 Overloaded"]
    )
  })

  it("shows an attempt of unknown duration from the start of its call", () => {
    assert.deepStrictEqual(
      shown(at(0, Draft.started("go")), at(10, Draft.turnStarted(1)), at(70, Draft.discarded(1, 1))).slice(1, -1),
      ["attempt test/model 10-70 Overloaded"]
    )
  })

  it("names the model that an attempt asked, even if the turn began with another", () => {
    assert.deepStrictEqual(
      shown(
        at(0, Draft.started("go")),
        at(0, Draft.turnStarted(1)),
        at(50, { ...Draft.discarded(1, 1), duration: 50, model: { provider: "b", name: "m" } })
      ).slice(1, -1),
      ["attempt b/m 0-50 Overloaded"]
    )
  })

  it("has the compaction that its call needed, with what it cost", () => {
    const usage = { inputTokens: 320, outputTokens: 10 }
    const [, compaction] = entriesOf(Draft.log(
      at(0, Draft.started("go")),
      at(10, Draft.turnStarted(3)),
      at(50, { ...Draft.discarded(3, 1), duration: 40 }),
      at(90, { ...Draft.compacted(3, []), before: 40, after: 12, cause: "overflow", usage })
    )).filter(isSpan)
    assert.deepInclude(compaction, { kind: "compaction", turn: 3, from: 50, to: 90, usage })
  })

  it("has the compaction before it", () => {
    assert.deepStrictEqual(
      shown(
        at(0, Draft.started("go")),
        at(10, Draft.notice("go on")),
        at(400, { ...Draft.compacted(1, []), before: 40, after: 12 }),
        at(400, Draft.turnStarted(1)),
        at(500, Draft.assistant([])),
        at(500, Draft.turnFinished(1)),
        at(500, Draft.completed())
      ).slice(1, -1),
      ["compaction test 10-400 12 of 40 messages", "model test/model 400-500 stop"]
    )
  })

  it("has a compaction by hand, which belongs to no drive, as a moment: nobody knows when it began", () => {
    assert.deepStrictEqual(
      shown(
        at(0, Draft.started("go")),
        at(10, Draft.completed()),
        at(9_000, { ...Draft.compacted(1, []), before: 40, after: 12, cause: "manual" })
      ).slice(2),
      ["compaction test 9000-9000 12 of 40 messages"]
    )
  })

  it("has a compaction that failed, with what it cost", () => {
    const usage = { inputTokens: 320, outputTokens: 10 }
    const log = [
      at(0, Draft.started("go")),
      at(10, Draft.notice("go on")),
      at(400, { _tag: "CompactionDiscarded", message: "SECRET", usage } as const),
      at(400, Draft.aborted)
    ]
    assert.deepStrictEqual(shown(...log).slice(1, -1), ["compaction  10-400 failed"])
    assert.deepInclude(entriesOf(Draft.log(...log))[1], { usage, seq: 3 })
  })

  it("gives the time of a compaction to the strategy that was taken, and none to those that were passed over", () => {
    const passedOver = { _tag: "CompactionDiscarded", message: "no", usage: Usage.zero } as const
    assert.deepStrictEqual(
      shown(
        at(0, Draft.started("go")),
        at(10, Draft.notice("go on")),
        at(400, passedOver),
        at(400, passedOver),
        at(400, { ...Draft.compacted(1, []), before: 40, after: 12 }),
        at(450, { ...Draft.compacted(1, []), before: 12, after: 8 }),
        at(450, Draft.aborted)
      ).slice(1, -1),
      [
        "compaction  10-10 failed",
        "compaction  10-10 failed",
        "compaction test 10-400 12 of 40 messages",
        "compaction test 400-450 8 of 12 messages"
      ]
    )
  })

  it("gives its time to a failed compaction that lost something, even if nothing was spent", () => {
    const lost = { retries: 1, lostTime: 300 }
    const log = [
      at(0, Draft.started("go")),
      at(10, Draft.notice("go on")),
      at(400, { _tag: "CompactionDiscarded", message: "no", usage: Usage.zero, lost } as const),
      at(400, Draft.aborted)
    ]
    assert.deepStrictEqual(shown(...log).slice(1, -1), ["compaction  10-400 failed"])
  })

  it("has the cause of a compaction if the log says it", () => {
    const causes = entriesOf(Draft.log(
      Draft.started("go"),
      Draft.compacted(1, []),
      { ...Draft.compacted(1, []), cause: "window" }
    )).filter(isSpan).map(({ cause }) => cause)
    assert.deepStrictEqual(causes, [undefined, "window"])
  })

  it("has calls that did not run as moments", () => {
    assert.deepStrictEqual(
      shown(
        at(0, Draft.started("go")),
        at(5, call),
        at(9, Draft.settled("1.0", { _tag: "Interrupted" }, { duration: 99 }))
      )
        .slice(2, 3),
      ["tool search 9-9 Interrupted"]
    )
  })
})

describe("a drive", () => {
  it("has each try of a call that waited for people below it", () => {
    const log = [
      Draft.started("go"),
      Draft.turnStarted(1),
      Draft.assistant([Draft.call("search")]),
      at(10, Draft.toolStarted("1.0")),
      at(40, Draft.toolPaused("1.0", { sessionId: "below", runId: "below" })),
      at(50, Draft.suspended),
      at(900, Draft.resumed(2)),
      at(900, Draft.toolStarted("1.0")),
      at(1_000, Draft.settled("1.0", "a", { duration: 100 })),
      at(1_000, Draft.turnFinished(1)),
      at(1_000, Draft.completed())
    ]
    assert.deepStrictEqual(shown(...log).filter((line) => line.startsWith("tool")), [
      "tool search 10-40 Paused",
      "tool search 900-1000 Succeeded"
    ])
  })

  it("that is cut off leaves unfinished spans open, and shortens waits to the time they lasted", () => {
    assert.deepStrictEqual(
      shown(
        at(0, Draft.started("go")),
        at(0, Draft.turnStarted(1)),
        at(50, { ...Draft.discarded(1, 1), duration: 50, delay: 1_000 }),
        at(80, Draft.aborted)
      ),
      [
        "> 1.1 0 start",
        "attempt test/model 0-50 Overloaded",
        "retry test/model 50-80",
        "< 1.1 80 RunAborted"
      ]
    )
    assert.deepStrictEqual(
      shown(at(0, Draft.started("go")), at(10, Draft.turnStarted(1)), at(80, Draft.aborted)).slice(1, 2),
      ["model test/model 10-"]
    )
  })

  it("whose clock was set back has nothing that ends before it began, or after it was recorded", () => {
    assert.deepStrictEqual(
      shown(
        at(100, Draft.started("go")),
        at(100, Draft.turnStarted(1)),
        at(60, call),
        at(60, Draft.toolStarted("1.0")),
        at(70, Draft.settled("1.0", "a", { duration: 30 })),
        at(70, Draft.turnFinished(1)),
        at(80, Draft.completed())
      ),
      [
        "> 1.1 100 start",
        "model test/model 100-100 stop",
        "tool search 60-70 Succeeded",
        "< 1.1 80 RunCompleted"
      ]
    )
  })

  it("whose clock was set back before its end has nothing that ends before it began", () => {
    assert.deepStrictEqual(
      shown(at(100, Draft.started("go")), at(100, Draft.turnStarted(1)), at(110, call), at(50, Draft.aborted)),
      ["> 1.1 100 start", "model test/model 100-100 stop", "< 1.1 50 RunAborted"]
    )
  })

  it("that is still running shows what is under way", () => {
    assert.deepStrictEqual(
      shown(at(0, Draft.started("go")), at(10, Draft.turnStarted(1))).slice(1),
      ["model test/model 10-", "< 1.1 10 no end"]
    )
  })

  it("that died ends when it was last heard of, however late that was found", () => {
    assert.deepStrictEqual(
      shown(
        at(0, Draft.started("go")),
        at(10, call),
        at(20, Draft.toolStarted("1.0")),
        at(9_000, { ...Draft.aborted, reason: "crashed" }),
        at(9_001, Draft.resumed(2, { cause: "recovery" })),
        at(9_002, Draft.settled("1.0", { _tag: "OutcomeUnknown" }, { duration: 0 })),
        at(9_003, Draft.completed())
      ),
      [
        "> 1.1 0 start",
        "model test/model 10-10 stop",
        "tool search 20-",
        "< 1.1 20 RunAborted",
        "> 1.2 9001 recovery",
        "tool search 9002-9002 OutcomeUnknown",
        "< 1.2 9003 RunCompleted"
      ]
    )
  })

  it("that a copy was cut in ends with what was copied, however late the copy was made", () => {
    assert.deepStrictEqual(
      shown(
        at(0, Draft.started("go")),
        at(10, Draft.turnStarted(1)),
        at(40, Draft.assistant([])),
        at(50, Draft.turnFinished(1)),
        at(9_000, ended("forked", 50))
      ),
      ["> 1.1 0 start", "model test/model 10-40 stop", "< 1.1 50 RunAborted"]
    )
  })

  it("that died in its abort ends when it was last heard of, with the calls that were settled once that was found", () => {
    const begun = [
      at(0, Draft.started("go")),
      at(10, call),
      at(20, Draft.toolStarted("1.0")),
      at(30, { _tag: "AbortRequested", reason: "requested" } as const)
    ]
    const found = [
      at(9_000, Draft.settled("1.0", { _tag: "OutcomeUnknown" }, { duration: 0 })),
      at(9_000, Draft.settled("1.1", { _tag: "NotExecuted", reason: "aborted" }, { duration: 0 })),
      at(9_001, ended("requested", 30))
    ]
    assert.deepStrictEqual(shown(...begun, ...found), [
      "> 1.1 0 start",
      "model test/model 10-10 stop",
      "tool search 20-20 OutcomeUnknown",
      "tool search 30-30 NotExecuted",
      "< 1.1 30 RunAborted"
    ])
  })

  it("that died in a crash loop ends with the last outcome that it recorded itself", () => {
    assert.deepStrictEqual(
      shown(
        at(0, Draft.started("go")),
        at(10, ended("crashed", 10)),
        at(100, Draft.resumed(2, { cause: "recovery" })),
        at(110, call),
        at(120, Draft.toolStarted("1.0")),
        at(120, Draft.toolStarted("1.1")),
        at(180, Draft.settled("1.0", "a", { duration: 60 })),
        at(9_000, Draft.settled("1.1", { _tag: "OutcomeUnknown" }, { duration: 0 })),
        at(9_000, { _tag: "RunLimited", reason: "crashLoop", totals: totals(90) } as const)
      ).slice(3),
      [
        "model test/model 110-110 stop",
        "tool search 120-180 Succeeded",
        "tool search 120-120 OutcomeUnknown",
        "< 1.2 180 RunLimited"
      ]
    )
  })

  it("that waited for a person, and carried out its abort itself, ends with the last call that stopped", () => {
    assert.deepStrictEqual(
      shown(
        at(0, Draft.started("go")),
        at(10, call),
        at(10, Draft.approvalRequested("1.0")),
        at(9_000, Draft.approvalResolved("1.0")),
        at(9_000, Draft.toolStarted("1.0")),
        at(9_010, { _tag: "AbortRequested", reason: "requested" } as const),
        at(9_500, Draft.settled("1.0", { _tag: "Interrupted" }, { duration: 500 })),
        at(9_500, Draft.settled("1.1", { _tag: "NotExecuted", reason: "aborted" }, { duration: 0 })),
        at(9_500, ended("requested", 510))
      ).slice(3),
      ["tool search 9000-9500 Interrupted", "tool search 9500-9500 NotExecuted", "< 1.1 9500 RunAborted"]
    )
  })

  it("that carried out its abort itself ends then, with the time that its calls took to stop", () => {
    assert.deepStrictEqual(
      shown(
        at(0, Draft.started("go")),
        at(10, call),
        at(20, Draft.toolStarted("1.0")),
        at(30, { _tag: "AbortRequested", reason: "requested" } as const),
        at(5_030, Draft.settled("1.0", { _tag: "Interrupted" }, { duration: 5_010 })),
        at(5_031, ended("requested", 5_031))
      ).slice(2),
      ["tool search 20-5030 Interrupted", "< 1.1 5031 RunAborted"]
    )
  })

  it("shows no wait for a call that is settled without an answer", () => {
    assert.deepStrictEqual(
      shown(
        at(0, Draft.started("go")),
        at(10, call),
        at(10, Draft.approvalRequested("1.0")),
        at(20, Draft.settled("1.0", "late")),
        at(30, Draft.completed())
      ).slice(2),
      ["tool search 20-20 Succeeded", "< 1.1 30 RunCompleted"]
    )
  })

  it("that waits for a person shows the wait, and the answer with its whole wait, wherever it arrives", () => {
    const asked = [
      at(0, Draft.started("go")),
      at(10, call),
      at(10, Draft.approvalRequested("1.0")),
      at(20, Draft.suspended)
    ]
    assert.deepStrictEqual(
      shown(...asked, at(5_000, Draft.approvalResolved("1.0")), at(6_000, Draft.resumed(2, { cause: "approval" }))),
      [
        "> 1.1 0 start",
        "model test/model 10-10 stop",
        "approval search 10- waits",
        "< 1.1 20 RunSuspended",
        "approval search 10-5000 approved",
        "> 1.2 6000 approval",
        "< 1.2 6000 no end"
      ]
    )
    assert.deepStrictEqual(
      shown(
        ...asked,
        at(5_000, Draft.resumed(2)),
        at(6_000, Draft.approvalResolved("1.0", false)),
        at(6_001, Draft.completed())
      )
        .slice(4),
      ["> 1.2 5000 resume", "approval search 10-6000 denied", "< 1.2 6001 RunCompleted"]
    )
  })

  it("without an end has none, and the next run is numbered after it", () => {
    const [first, second] = [Draft.started("go"), { ...Draft.started("more"), runId: "run-2" }]
    assert.deepStrictEqual(shown(first, second), ["> 1.1 1 start", "< 1.1 1 no end", "> 2.1 2 start", "< 2.1 2 no end"])
  })
})

describe("the timeline of any log", () => {
  const check = (log: Logs.Log) => {
    const entries = entriesOf(log)
    let isUnderWay = false
    for (const entry of entries) {
      if (entry._tag === "Span") {
        assert.isAtLeast(entry.to ?? entry.from, entry.from)
        continue
      }
      assert.strictEqual(entry._tag, isUnderWay ? "DriveEnded" : "DriveStarted")
      isUnderWay = !isUnderWay
    }
    assert.isFalse(isUnderWay)
    const times = (tag: RunEvent.Durable["_tag"]) => log.filter((event) => event._tag === tag).length
    const kinds = (kind: Timeline.Kind) => entries.filter((_) => isSpan(_) && _.kind === kind && _.to !== null).length
    assert.strictEqual(kinds("model"), times("AssistantMessage"))
    assert.strictEqual(kinds("tool"), times("ToolSettled") + times("ToolPaused"))
    assert.strictEqual(kinds("attempt"), times("AttemptDiscarded"))
    assert.strictEqual(kinds("compaction"), times("ContextCompacted"))
    assert.strictEqual(
      entries.filter(({ _tag }) => _tag === "DriveStarted").length,
      times("RunStarted") + times("RunResumed")
    )
  }

  it.prop("has drives in sequence, and each call, attempt and compaction once", [Logs.tidy], ([{ log }]) => {
    check(log)
  }, { arbitrary: { runs: 300, size: 60, seed: "timeline" } })

  it.prop("has the same for odd logs that begin with a run", [Logs.odd], ([{ log }]) => {
    check(log)
  }, { arbitrary: { runs: 300, size: 60, seed: "odd timeline" } })

  it.prop("has nothing that ends before it began, for any part of a log by any clock", [Logs.odd, Logs.seed], ([
    { log },
    seed
  ]) => {
    const die = dice(seed)
    const part = Logs.subsequence(log, seed).map((event) => ({ ...event, at: die.int(1_000) }))
    for (const { from, to } of entriesOf(part).filter(isSpan)) assert.isTrue(to === null || to >= from)
  }, { arbitrary: { runs: 300, size: 60, seed: "parts" } })
})
