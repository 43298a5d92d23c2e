/** What a run may spend, on its own: what runs that work for very many of its calls spend. */
import { assert, describe, it } from "@effect/vitest"
import * as Budget from "../../../src/loop/env/Budget.ts"
import * as RunState from "../../../src/run/RunState.ts"
import type * as OpenCall from "../../../src/run/state/OpenCall.ts"

const [sessionId, runId] = ["s", "r"]
const n = 300

/** A run with `n` calls under way, each of which has a run below it that has spent a token; `looks` counts looks at calls. */
const fanOut = () => {
  const seen = { looks: 0 }
  const openCalls = Array.from({ length: n }, (_, place): OpenCall.OpenCall => {
    const call = { turn: 1, callId: "", tool: "ask", params: {}, phase: "started" as const }
    return Object.defineProperty(call, "callId", { get: () => (seen.looks++, `1.${place}`) })
  })
  const log = { state: { ...RunState.empty, sessionId, runId, openCalls } }
  const budget = new Budget.Budget({ sessionId, runId })
  budget.follow(log)
  const spend = (callId: string, inputTokens: number) =>
    budget.tell({ sessionId, runId, callId }, { sessionId: callId, runId: callId }, { inputTokens, outputTokens: 0 })
  for (let place = 0; place < n; place++) spend(`1.${place}`, 1)
  return { budget, log, openCalls, seen, spend }
}

describe("what is spent below a run", () => {
  it("is added up with one look at each call, however many are under way", () => {
    const { budget, seen } = fanOut()
    seen.looks = 0
    assert.strictEqual(budget.spent().inputTokens, n)
    assert.isAtMost(seen.looks, 2 * n)
  })

  it("counts while its call is under way, and no longer once that has an outcome", () => {
    const { budget, log, openCalls, spend } = fanOut()
    log.state = { ...log.state, openCalls: openCalls.slice(n - 2) }
    assert.strictEqual(budget.spent().inputTokens, 2)
    spend("1.0", 5)
    spend(`1.${n - 1}`, 5)
    assert.strictEqual(budget.spent().inputTokens, 6)
    assert.deepStrictEqual(budget.spentIn(`1.${n - 1}`), { inputTokens: 5, outputTokens: 0 })
  })

  it("is of the run that the log is about, not of the one before it", () => {
    const { budget, log, spend } = fanOut()
    log.state = { ...log.state, runId: "next" }
    spend("1.0", 5)
    assert.strictEqual(budget.spent().inputTokens, 0)
    assert.isUndefined(budget.spentIn("1.0"))
    assert.deepStrictEqual(budget.runsFor("1.0"), [])
  })
})
