/** The statistics of runs: a fold of their events, compared with a naive count over whole logs and fixed values. */
import { assert, describe, it } from "@effect/vitest"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunState from "../../src/run/RunState.ts"
import * as RunStats from "../../src/run/RunStats.ts"
import * as Usage from "../../src/run/Usage.ts"
import * as GoldenSession from "../golden/GoldenSession.ts"
import * as Draft from "../support/Drafts.ts"
import * as Logs from "../support/Logs.ts"
import * as NaiveStats from "./NaiveStats.ts"

const statsOf = (logs: ReadonlyArray<Logs.Log>, filter?: RunStats.Filter) =>
  RunStats.summarize(
    logs.reduce((stats, log) => RunStats.endSession(log.reduce(RunStats.evolve, stats)), RunStats.make(filter))
  )

/** What the totals of a log's runs count of their calls: those that were open when they settled. */
const below = (log: Logs.Log): Usage.Usage => {
  let state = RunState.empty
  let sum = Usage.zero
  for (const event of log) {
    const isOpen = event._tag === "ToolSettled" && state.openCalls.some(({ callId }) => callId === event.callId)
    if (isOpen && event.usage !== undefined) sum = Usage.add(sum, event.usage)
    state = RunState.evolve(state, event)
  }
  return sum
}

const check = (seed: string) => ({ arbitrary: { runs: 300, size: 60, seed } })

describe("the statistics of generated sessions", () => {
  it.prop("equal those of a naive count", [Logs.tidy, Logs.tidy], ([a, b]) => {
    assert.deepStrictEqual(statsOf([a.log, b.log]), NaiveStats.of([a.log, b.log]))
  }, check("stats"))

  it.prop("equal it for odd logs with holes, too", [Logs.odd, Logs.seed], ([{ log }, seed]) => {
    const left = Logs.subsequence(log, seed)
    assert.deepStrictEqual(statsOf([left]), NaiveStats.of([left]))
  }, check("stats with holes"))

  it.prop("equal it for the runs that a filter selects", [Logs.tidy, Logs.seed], ([{ log }, seed]) => {
    const since = log[seed % log.length]!.at
    assert.deepStrictEqual(statsOf([log], { since }), NaiveStats.of([log], since))
  }, check("stats since"))

  it.prop("have the turns, compactions and tokens of the runs' totals", [Logs.tidy], ([{ log, totals }]) => {
    const last = totals.filter((_, at) => at === log.length - 1 || log[at + 1]!._tag === "RunStarted")
    const { compactions, tokens, turns } = statsOf([log])
    const sum = (of: (totals: RunEvent.Totals) => number) => last.reduce((all, totals) => all + of(totals), 0)
    // what works for a call has a log of its own, but totals include it
    const ofCalls = below(log)
    assert.deepStrictEqual(
      [turns.total, compactions.total, tokens.input, tokens.output],
      [
        sum((_) => _.turns),
        sum((_) => _.compactions),
        sum(({ usage }) => usage.inputTokens) - ofCalls.inputTokens,
        sum(({ usage }) => usage.outputTokens) - ofCalls.outputTokens
      ]
    )
  }, check("stats and totals"))
})

describe("the statistics of sessions from released versions", () => {
  it.each(GoldenSession.all)("for $name equal those of a naive count", ({ written }) => {
    assert.deepStrictEqual(statsOf([written]), NaiveStats.of([written]))
    assert.isAbove(statsOf([written]).runs, 0)
  })
})

describe("a run", () => {
  const usage: Usage.Usage = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 40, cost: 0.5 }
  const call = Draft.assistant([Draft.call("search"), Draft.call("search")], { usage })
  const finished = { ...Draft.turnFinished(1), latency: { firstPart: 200, model: 900, tools: 50 } }
  const busy = { ...Draft.discarded(1, 1, usage), model: Draft.model, duration: 30, delay: 1_000 }
  const log = Draft.log(
    { ...Draft.started("go"), at: 0 },
    Draft.turnStarted(1),
    busy,
    call,
    { ...Draft.approvalRequested("1.0"), at: 2_000 },
    Draft.toolStarted("1.1"),
    { ...Draft.settled("1.1", { _tag: "TimedOut", limit: 70 }), duration: 70 },
    { ...Draft.approvalResolved("1.0"), at: 5_000 },
    Draft.toolStarted("1.0"),
    { ...Draft.settled("1.0", "ok"), duration: 30 },
    finished,
    Draft.compacted(2, []),
    Draft.completed({ duration: 4_000 })
  )

  it("is counted with everything that happened in it", () => {
    const stats = statsOf([log])
    assert.deepStrictEqual(stats.ends, {
      completed: 1,
      limited: 0,
      suspended: 0,
      failed: 0,
      aborted: 0,
      unfinished: 0
    })
    assert.deepStrictEqual([stats.sessions, stats.runs, stats.drives, stats.successRate], [1, 1, 1, 1])
    assert.deepStrictEqual(stats.retries, { total: 1, mean: 1, p95: 1, max: 1, runs: 1, lostTime: 1_030 })
    assert.deepStrictEqual(stats.compactions, { total: 1, mean: 1, p95: 1, max: 1, runs: 1, perHundredTurns: 100 })
    assert.deepStrictEqual(stats.latency, {
      model: { count: 1, p50: 900, p95: 900, max: 900 },
      firstPart: { count: 1, p50: 200, p95: 200, max: 200 },
      tools: { count: 2, p50: 30, p95: 70, max: 70 },
      approvals: { count: 1, p50: 3_000, p95: 3_000, max: 3_000 },
      runs: { count: 1, p50: 4_000, p95: 4_000, max: 4_000 }
    })
    assert.deepStrictEqual(stats.tools, { search: { count: 2, p50: 30, p95: 70, max: 70, errors: 1 } })
    assert.deepStrictEqual(stats.errors, { attempts: { Overloaded: 1 }, tools: { TimedOut: 1 }, runs: {} })
    assert.deepStrictEqual(stats.tokens, { input: 200, output: 40, cachedInput: 80, cacheWrite: 0, reasoning: 0 })
    assert.deepStrictEqual([stats.cost, stats.unpriced, stats.promptTokens.max], [1, 0, 100])
    assert.deepStrictEqual(stats.models["test/model"], { ...stats.tokens, calls: 1, cost: 1 })
    assert.deepStrictEqual(stats.approvals, { asked: 1, approved: 1, answered: 0, denied: 0 })
    assert.strictEqual(stats.events.max, log.length)
  })

  it("includes the cost of a failed compaction", () => {
    const failed = { _tag: "CompactionDiscarded", message: "it failed", usage } as const
    const stats = statsOf([Draft.log(Draft.started("go"), failed, Draft.completed())])
    assert.deepStrictEqual([stats.tokens.input, stats.cost, stats.compactions.total], [100, 0.5, 0])
  })

  it("counts what its compactions lost to failed calls, but not the retries of those by hand as its own", () => {
    const lost = (retries: number, lostTime: number) => ({ lost: { retries, lostTime } })
    const failed = { _tag: "CompactionDiscarded", message: "it failed", usage: Usage.zero } as const
    const { retries } = statsOf([Draft.log(
      Draft.started("go"),
      { ...Draft.compacted(1, []), ...lost(2, 100) },
      { ...failed, ...lost(1, 20) },
      Draft.completed(),
      { ...Draft.compacted(1, []), isOfRun: false, ...lost(4, 3) },
      { ...failed, isOfRun: false, ...lost(5, 4) }
    )])
    assert.deepInclude(retries, { total: 3, runs: 1, lostTime: 127 })
  })

  it("with several drives is one run, with the end of the last", () => {
    const { drives, ends, runs, successRate } = statsOf([
      Draft.log(Draft.started("go"), Draft.limited(), Draft.resumed(2), Draft.completed())
    ])
    assert.deepStrictEqual([runs, drives, ends.completed, ends.limited, successRate], [1, 2, 1, 0, 1])
  })

  it("that waits or has not ended is not a failure", () => {
    const started = Draft.started("go")
    const { ends, successRate } = statsOf([
      Draft.log(started, Draft.completed()),
      Draft.log(started, Draft.suspended),
      Draft.log(started),
      Draft.log(started, Draft.limited())
    ])
    assert.deepStrictEqual([ends.suspended, ends.unfinished, successRate], [1, 1, 0.5])
  })

  it("that failed is counted by its error", () => {
    const error = { _tag: "NonRetryableError", reason: { _tag: "Authentication", message: "no" } } as const
    const { errors, reasons } = statsOf([
      Draft.log(Draft.started("go"), { _tag: "RunFailed", error, totals: Draft.totals })
    ])
    assert.deepStrictEqual([errors.runs, reasons], [{ Authentication: 1 }, { failed: { Authentication: 1 } }])
  })

  it("of another agent does not count, whatever follows it", () => {
    const other = { ...Draft.started("go"), agent: "other" }
    const { agents, runs, turns } = statsOf([
      Draft.log(other, Draft.assistant([]), Draft.completed(), Draft.started("go"), Draft.completed())
    ], { agent: "assistant" })
    assert.deepStrictEqual([runs, turns.total, agents], [1, 0, { assistant: 1, other: 1 }])
  })

  it("does not include the time of calls that did not run", () => {
    const { errors, latency } = statsOf([
      Draft.log(
        Draft.started("go"),
        call,
        Draft.settled("1.0", { _tag: "NotExecuted", reason: "limit" }),
        Draft.toolStarted("1.1"),
        Draft.settled("1.1", { _tag: "Interrupted" })
      )
    ])
    assert.strictEqual(latency.tools.count, 0)
    assert.deepStrictEqual(errors.tools, { Interrupted: 1, "NotExecuted(limit)": 1 })
  })

  it("has the time of the model call of a turn that a later drive took up, after people answered, but not of its first part", () => {
    const at = <D extends RunEvent.Draft>(at: number, draft: D): D & { readonly at: number } => ({ ...draft, at })
    const later = { ...Draft.turnFinished(1), latency: { firstPart: 0, model: 0, tools: 50 } }
    const asked = [call, Draft.suspended, Draft.resumed(2), later].map((draft) => at(5_300, draft))
    const latencyOf = (...called: ReadonlyArray<Draft.Placed>) =>
      statsOf([Draft.log(at(1_000, Draft.started("go")), ...called, ...asked)]).latency
    const { firstPart, model } = latencyOf(at(5_000, Draft.turnStarted(1)))
    assert.deepStrictEqual([model.count, model.max, firstPart.count], [1, 300, 0])
    const retried = latencyOf(
      at(2_000, Draft.turnStarted(1)),
      at(3_000, { ...Draft.discarded(1, 1), delay: 2_100 })
    )
    assert.deepStrictEqual(retried.model.max, 200)
    assert.strictEqual(latencyOf().model.count, 0)
  })

  it("lists agents, tools and models by use, and those used equally by name", () => {
    const used = ["d", "c", "f", "b", "d", "a", "e"]
    const stats = statsOf(used.map((name, at) =>
      Draft.log(
        { ...Draft.started("go"), agent: name },
        { ...Draft.assistant([]), model: { provider: "p", name } },
        { ...Draft.toolStarted(`${at}.0`), tool: name },
        { ...Draft.settled(`${at}.0`, "ok"), tool: name }
      )
    ))
    const sorted = ["d", "a", "b", "c", "e", "f"]
    assert.deepStrictEqual(
      [Object.keys(stats.agents), Object.keys(stats.tools), Object.keys(stats.models)],
      [sorted, sorted, sorted.map((name) => `p/${name}`)]
    )
  })

  it("keeps a tool of any name", () => {
    const { tools } = statsOf([
      Draft.log(
        Draft.started("go"),
        call,
        { ...Draft.toolStarted("1.0"), tool: "__proto__" },
        { ...Draft.settled("1.0", "ok"), tool: "__proto__" }
      )
    ])
    assert.deepStrictEqual(Object.keys(tools), ["__proto__"])
  })
})

describe("no session", () => {
  it("has zeros, and leaves out what nobody knows", () => {
    const stats = statsOf([])
    assert.deepStrictEqual([stats.runs, stats.successRate, stats.cost], [0, null, null])
    assert.deepStrictEqual(stats.turns, { total: 0, mean: null, p95: null, max: null })
    assert.deepStrictEqual(stats.latency.model, { count: 0, p50: null, p95: null, max: null })
  })
})
