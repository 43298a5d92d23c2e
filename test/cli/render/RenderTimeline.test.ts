/** A session on a time axis. */
import { assert, describe, it } from "@effect/vitest"
import * as Paint from "../../../src/cli/render/Paint.ts"
import * as RenderTimeline from "../../../src/cli/render/RenderTimeline.ts"
import * as Timeline from "../../../src/run/Timeline.ts"
import * as Draft from "../../support/Drafts.ts"
import * as Logs from "../../support/Logs.ts"

const plain = { paint: Paint.plain, columns: 80, isFull: false }

const draw = (log: Logs.Log, look: RenderTimeline.Look = plain): string => {
  let timeline = Timeline.empty
  let state = RenderTimeline.initial
  let out = ""
  const show = (entries: ReadonlyArray<Timeline.Entry>) => {
    for (const entry of entries) {
      const [next, text] = RenderTimeline.step(look, state, entry)
      state = next
      out += text
    }
  }
  for (const event of log) {
    const [next, entries] = Timeline.step(timeline, event)
    timeline = next
    show(entries)
  }
  show(Timeline.finish(timeline)[1])
  return out + RenderTimeline.finish(look, state)
}

const at = <D extends Draft.Placed>(at: number, draft: D) => ({ ...draft, at })

/** The colours of the bars of this mark. */
const coloursOf = (mark: string, text: string): ReadonlyArray<string | undefined> =>
  text.split("\u001b[").filter((part) => new RegExp(`^\\d+m *${mark}+ *$`).test(part))
    .map((part) => ({ 31: "red", 32: "green" })[Number.parseInt(part, 10)])

const story = Draft.log(
  at(0, Draft.started("go")),
  at(0, Draft.turnStarted(1)),
  at(1_000, { ...Draft.discarded(1, 1), duration: 1_000, delay: 2_000 }),
  at(
    5_000,
    Draft.assistant([Draft.call("search"), Draft.call("search"), Draft.call("pay")], {
      usage: { inputTokens: 700, outputTokens: 20 }
    })
  ),
  at(5_000, Draft.toolStarted("1.0")),
  at(5_000, Draft.toolStarted("1.1")),
  at(6_000, Draft.settled("1.1", "b", { duration: 1_000 })),
  at(8_000, Draft.settled("1.0", { _tag: "TimedOut", limit: 3_000 }, { duration: 3_000 })),
  at(8_000, { ...Draft.approvalRequested("1.2"), tool: "pay" }),
  at(10_000, Draft.suspended),
  at(3_610_000, Draft.approvalResolved("1.2")),
  at(3_620_000, Draft.resumed(2, { cause: "approval" })),
  at(3_620_000, { ...Draft.toolStarted("1.2"), tool: "pay" }),
  at(3_620_500, { ...Draft.settled("1.2", "ok", { duration: 500 }), tool: "pay" }),
  at(3_620_500, Draft.turnFinished(1)),
  at(3_620_600, { ...Draft.compacted(2, []), before: 40, after: 12, cause: "messages" }),
  at(3_620_600, Draft.turnStarted(2)),
  at(3_622_000, Draft.assistant([], { turn: 2 })),
  at(3_622_000, { ...Draft.turnFinished(2), latency: { firstPart: 700, model: 1_400, tools: 0 } }),
  at(3_622_000, Draft.completed({ turns: 2, toolCalls: 3 }))
)

describe("a timeline", () => {
  it("shows attempts, waits, parallel calls, approvals and compactions, drive by drive", () => {
    assert.strictEqual(
      draw(story),
      `── run 1 · 1970-01-01 00:00:00 UTC
                           0 ms       5.0 s     10.0 s
turn 1    model            ▒▒▒                         1.0 s Overloaded
          wait to retry      ·······                   2.0 s
          model                    ██████              2.0 s 700 in, 20 out
            search                      ━━━━━━━━━      3.0 s TimedOut
            search                      ━━━━           1.0 s
            ask: pay                            ┄┄┄┄┄┄ … waits
✗ The run waits for a person to approve a tool call, after 0 turns and 0 tool calls.
  0 turns · 0 tool calls · took 10.0 s
  pay: approved after 1 h 0 min

── run 1 · drive 2 · 1970-01-01 01:00:20 UTC · resumed after an approval · 1 h …
                           0 ms       1.0 s      2.0 s
turn 1      pay            ━━━━━━━                     500 ms
          compact: test          ≈≈≈                   100 ms 12 of 40 messages
            by the strategy "test" · it had too many messages
turn 2    model                    ░░░░░░░░░░█████████ 1.4 s
✓ The model finished its answer, after 2 turns and 3 tool calls.
  2 turns · 3 tool calls · took 2.0 s

░ until the model's first part   █ its answer   ▒ an attempt that does not count
· a wait to retry   ━ a tool   ┄ a wait for a person   ≈ a compaction
`
    )
  })

  it.prop("is never wider than the screen", [Logs.odd, Logs.seed], ([{ log }, seed]) => {
    const columns = 40 + seed % 160
    const rows = draw(log, { ...plain, columns }).split("\n").filter((line) => !/^[✓✗]/.test(line))
    for (const row of rows) assert.isAtMost(row.length, columns, row)
  }, { arbitrary: { runs: 200, size: 60, seed: "width" } })

  it("says that a compaction was made by hand", () => {
    const by = { ...Draft.compacted(1, []), before: 40, after: 12, cause: "manual" } as const
    const text = draw(Draft.log(at(0, Draft.started("go")), at(10, Draft.completed()), at(9_000, by)))
    assert.strictEqual(text.split("\n").at(-2), "  compact: test: 12 of 40 messages")
  })

  it("says that a compaction failed, both in a drive and by hand", () => {
    const failed = { _tag: "CompactionDiscarded", message: "no", usage: { inputTokens: 70, outputTokens: 3 } } as const
    const ended = Draft.log(at(0, Draft.started("go")), at(1_000, failed), at(1_000, Draft.aborted), at(9_000, failed))
    const rows = draw(ended, { ...plain, columns: 100 }).split("\n").filter((row) => /compact\b/.test(row))
    assert.deepStrictEqual(rows.map((row) => row.trim().replaceAll(/[≈ ]+/g, " ")), [
      "compact 1.0 s failed 70 in, 3 out",
      "compact: failed"
    ])
  })

  it("marks a heading that is cut", () => {
    const headings = (columns: number) => draw(story, { ...plain, columns }).match(/^── .*/gm)
    assert.deepStrictEqual(headings(50), [
      "── run 1 · 1970-01-01 00:00:00 UTC",
      "── run 1 · drive 2 · 1970-01-01 01:00:20 UTC · re…"
    ])
  })

  it("colours what went wrong", () => {
    const text = draw(story, { ...plain, paint: Paint.coloured })
    assert.include(text.replaceAll(/▒+/g, "▒").replaceAll(/ +/g, " "), "\u001b[31m▒ \u001b[0m")
    assert.include(text.replaceAll(/━+/g, "━").replaceAll(/ +/g, " "), "\u001b[32m ━ \u001b[0m")
  })

  it("colours a denied question as wrong, and an approved one as right", () => {
    const log = Draft.log(
      at(0, Draft.started("go")),
      at(0, Draft.approvalRequested("1.0")),
      at(0, Draft.approvalRequested("1.1")),
      at(1_000, Draft.approvalResolved("1.0", false)),
      at(1_000, Draft.approvalResolved("1.1")),
      at(1_000, Draft.completed())
    )
    assert.deepStrictEqual(coloursOf("┄", draw(log, { ...plain, paint: Paint.coloured })), ["red", "green"])
  })

  it("does not colour calls that run or wait as wrong", () => {
    const log = Draft.log(
      at(0, Draft.started("go")),
      at(0, Draft.toolStarted("1.0")),
      at(0, Draft.toolStarted("1.1")),
      at(1_000, Draft.toolPaused("1.1")),
      at(2_000, Draft.suspended)
    )
    const text = draw(log, { ...plain, paint: Paint.coloured })
    assert.deepStrictEqual(coloursOf("━", text), ["green", "green"])
  })

  it("leaves room for the answer of a model that said nothing until its end", () => {
    const text = draw(Draft.log(
      at(0, Draft.started("go")),
      at(0, Draft.turnStarted(1)),
      at(1_000, Draft.assistant([])),
      at(1_000, { ...Draft.turnFinished(1), latency: { firstPart: 1_000, model: 1_000, tools: 0 } }),
      at(1_000, Draft.completed())
    ))
    assert.match(text, /\nturn 1 +model +░{26}█ 1\.0 s/)
  })

  it("begins an axis with its drive where a question was asked before that", () => {
    const text = draw(Draft.log(
      at(0, Draft.started("go")),
      at(0, Draft.approvalRequested("1.0")),
      at(0, Draft.suspended),
      at(60_000, Draft.resumed(2)),
      at(62_000, Draft.approvalResolved("1.0")),
      at(64_000, Draft.completed())
    ))
    const [, second] = text.split("drive 2")
    assert.match(second!, /\n {27}0 ms +2\.0 s +4\.0 s\n.* ask: search +┄{14} {14}1 min 2 s approved\n/)
  })
})

describe("a long drive", () => {
  const turns = (n: number) =>
    Array.from({ length: n }, (_, i) => [
      at(i * 1_000, Draft.turnStarted(i + 1)),
      at(i * 1_000 + 900, Draft.assistant([], { turn: i + 1 })),
      at(i * 1_000 + 900, Draft.turnFinished(i + 1))
    ]).flat()

  it("has an axis for every 20 turns, on which each bar is visible", () => {
    const text = draw(Draft.log(at(0, Draft.started("go")), ...turns(50), at(50_000, Draft.completed())))
    const axes = text.split("\n").filter((line) => /^ {27}\d/.test(line))
    assert.deepStrictEqual(axes.map((line) => line.trim().split(/ {2,}/)), [
      ["0 ms", "9.9 s", "19.9 s"],
      ["20.0 s", "29.9 s", "39.9 s"],
      ["40.0 s", "45.0 s", "50.0 s"]
    ])
    assert.strictEqual(text.match(/^turn \d+ /gm)?.length, 50)
  })

  it("keeps no more turns in memory than share an axis", () => {
    let timeline = Timeline.empty
    let state = RenderTimeline.initial
    let most = 0
    for (const event of Draft.log(at(0, Draft.started("go")), ...turns(500))) {
      const [next, entries] = Timeline.step(timeline, event)
      timeline = next
      for (const entry of entries) [state] = RenderTimeline.step(plain, state, entry)
      most = Math.max(most, state.spans.length + timeline.held.length)
    }
    assert.isAtMost(most, RenderTimeline.turnsPerAxis + 1)
  })
})

describe("a turn of many calls", () => {
  const calls = Array.from({ length: 100 }, (_, i) => i)
  const log = Draft.log(
    at(0, Draft.started("go")),
    ...calls.map((i) => at(10, Draft.toolStarted(`1.${i}`))),
    ...calls.map((i) =>
      at(1_000, Draft.settled(`1.${i}`, i < 90 ? "ok" : { _tag: "Failed", result: "" }, { duration: i }))
    ),
    at(1_000, Draft.turnFinished(1)),
    at(1_000, Draft.completed())
  )

  it("shows the first 20, and the others together", () => {
    const text = draw(log)
    assert.strictEqual(text.match(/ search /g)?.length, 20)
    assert.match(text, /\n +and 80 calls +━+ +99 ms 10 failed\n/)
  })

  it("counts calls that run or wait among the others, but not as failed", () => {
    const text = draw(Draft.log(
      at(0, Draft.started("go")),
      ...calls.map((i) => at(10, Draft.toolStarted(`1.${i}`))),
      at(500, Draft.toolPaused("1.98")),
      at(1_000, Draft.settled("1.99", { _tag: "Failed", result: "" }, { duration: 990 })),
      at(1_000, Draft.suspended)
    ))
    assert.match(text, /\n +and 80 calls +━+ … 1 failed\n/)
  })

  it("shows all of them if asked to", () => {
    assert.strictEqual(draw(log, { ...plain, isFull: true }).match(/ search /g)?.length, 100)
  })
})

describe("names and outcomes", () => {
  it("are safe to show", () => {
    const log = Draft.log(
      Draft.started("go"),
      { ...Draft.toolStarted("1.0"), tool: "\u001b[2J" },
      { ...Draft.settled("1.0", "ok"), tool: "\u001b[2J" },
      {
        _tag: "RunFailed",
        totals: Draft.totals,
        error: {
          _tag: "NonRetryableError",
          reason: { _tag: "Unknown", message: "\u001b[2J" }
        }
      }
    )
    assert.notInclude(draw(log), "\u001b")
  })
})
