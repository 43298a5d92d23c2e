/** The table of run statistics. */
import { assert, describe, it } from "@effect/vitest"
import * as Paint from "../../../src/cli/render/Paint.ts"
import * as RenderStats from "../../../src/cli/render/RenderStats.ts"
import * as TerminalText from "../../../src/cli/render/TerminalText.ts"
import * as RunStats from "../../../src/run/RunStats.ts"
import * as Draft from "../../support/Drafts.ts"
import type * as Logs from "../../support/Logs.ts"

const summaryOf = (...logs: ReadonlyArray<Logs.Log>) =>
  RunStats.summarize(
    logs.reduce((stats, log) => RunStats.endSession(log.reduce(RunStats.evolve, stats)), RunStats.make())
  )

const usage = { inputTokens: 1_000, outputTokens: 50, cachedInputTokens: 600, cost: 0.25 }
const busy = { ...Draft.discarded(1, 1), duration: 30, delay: 1_000 }

const first = Draft.log(
  Draft.started("go"),
  Draft.turnStarted(1),
  busy,
  Draft.assistant([Draft.call("search")], { usage }),
  { ...Draft.approvalRequested("1.0"), at: 1_000 },
  { ...Draft.approvalResolved("1.0"), at: 32_000 },
  Draft.toolStarted("1.0"),
  { ...Draft.settled("1.0", { _tag: "Failed", result: "no" }), duration: 12 },
  { ...Draft.turnFinished(1), latency: { firstPart: 200, model: 1_400, tools: 12 } },
  Draft.compacted(2, []),
  Draft.completed({ duration: 2_500 })
)
const second = Draft.log(Draft.started("go"), Draft.limited())

const plain = { paint: Paint.plain, columns: Infinity }

describe("the statistics of runs", () => {
  it("are a table", () => {
    assert.strictEqual(
      RenderStats.text(summaryOf(first, second, Draft.log(Draft.started("go"), Draft.suspended)), plain),
      `runs                     3  in 3 sessions
  completed              1  stop 1
  limited                1  turns 1
  suspended              1  approval 1
success               50 %  of 2 that are over

of a run             total    mean     p95     max
  turns                  1    0.33       1       1
  retries                1    0.33       1       1  in 1 run, 1.0 s lost to failed attempts
  compactions            1    0.33       1       1  in 1 run, 100 in 100 turns

how long it took     count     p50     p95     max
  a run                  3    0 ms   2.5 s   2.5 s
  the model              1   1.4 s   1.4 s   1.4 s
    its first part       1  200 ms  200 ms  200 ms
  a tool                 1   12 ms   12 ms   12 ms
    search               1   12 ms   12 ms   12 ms  1 error
  an approval            1  31.0 s  31.0 s  31.0 s  of 1 asked, 1 approved, 0 denied

errors
  model attempts         1  Overloaded 1
  tool calls             1  Failed 1

tokens                1050  1000 in (600 cached), 50 out
  sent in a call            mean 1000, p95 1000, max 1000
  test/model          1050  1000 in (600 cached), 50 out, in 1 call, cost 0.25
cost                  0.25
events                  15  of a session mean 5, p95 11, max 11
`
    )
  })

  it("name no part of the runs if all of them are over", () => {
    assert.match(RenderStats.text(summaryOf(first, second), plain), /\nsuccess +50 %\n/)
  })

  it("have three digits, and none after the point from 100 on", () => {
    const mean = (...tokens: ReadonlyArray<number>) => {
      const answers = tokens.map((inputTokens) => Draft.assistant([], { usage: { inputTokens, outputTokens: 0 } }))
      const text = RenderStats.text(summaryOf(Draft.log(Draft.started("go"), ...answers, Draft.completed())), plain)
      return /sent in a call +mean ([\d.]+),/.exec(text)?.[1]
    }
    assert.deepStrictEqual(
      [mean(1, 1, 2), mean(10, 10, 10), mean(12, 12, 13), mean(99, 100, 100), mean(100, 100, 101), mean(333, 333, 334)],
      ["1.33", "10", "12.3", "99.7", "100", "333"]
    )
  })

  it("fit a terminal, with bold headings", () => {
    const text = RenderStats.text(summaryOf(first), { paint: Paint.coloured, columns: 40 })
    assert.include(text, "\u001b[1mruns\u001b[0m ")
    // oxlint-disable-next-line no-control-regex
    const widths = text.replaceAll(/\u001b\[\d+m/g, "").split("\n").map((line) => line.length)
    assert.isAtMost(Math.max(...widths), 41)
  })

  it("cut long names on a terminal, so that all numbers are seen", () => {
    const name = `mcp__${"工具".repeat(40)}`
    const log = Draft.log(
      Draft.started("go"),
      { ...Draft.toolStarted("1.0"), tool: name },
      { ...Draft.settled("1.0", "ok"), tool: name, duration: 12 },
      Draft.completed({ duration: 2_500 })
    )
    const summary = summaryOf(log)
    const lines = RenderStats.text(summary, { paint: Paint.plain, columns: 80 }).split("\n")
    assert.isTrue(lines.every((line) => TerminalText.width(line) <= 80))
    const row = (label: string) => lines.find((line) => line.trim().startsWith(label))!
    assert.match(row("a run"), / 1 +2\.5 s +2\.5 s +2\.5 s$/)
    assert.match(row("mcp__工具"), /^ {4}mcp__(?:工具)+工?… +1 +12 ms +12 ms +12 ms$/)
    assert.include(RenderStats.text(summary, plain), name)
    assert.include(RenderStats.json(summary), name)
  })

  it("name the most used tools, and say that there are more", () => {
    const calls = Array.from({ length: 12 }, (_, at) => [
      { ...Draft.toolStarted(`1.${at}`), tool: `tool-${at}` },
      { ...Draft.settled(`1.${at}`, "ok"), tool: `tool-${at}` }
    ]).flat()
    const text = RenderStats.text(summaryOf(Draft.log(Draft.started("go"), ...calls, Draft.completed())), plain)
    assert.strictEqual(text.match(/tool-\d+/g)?.length, 10)
    assert.include(text, "and 2 more tools: --json")
  })

  it("make names chosen by others safe to show", () => {
    const log = Draft.log(
      Draft.started("go"),
      { ...Draft.toolStarted("1.0"), tool: "\u001b[2J" },
      { ...Draft.settled("1.0", "ok"), tool: "\u001b[2J" },
      Draft.completed()
    )
    assert.notInclude(RenderStats.text(summaryOf(log), plain) + RenderStats.json(summaryOf(log)), "\u001b")
  })
})
