/** What runs spent while working for one call: a sum over runs, each once, at no more cost for those that are over. */
import { assert, describe, it } from "@effect/vitest"
import * as Below from "../../../src/loop/env/Below.ts"
import type * as Usage from "../../../src/run/Usage.ts"
import * as Logs from "../../support/Logs.ts"
import { dice } from "../../support/Odd.ts"

const call = { sessionId: "root", runId: "root", callId: "1.0" }

const tokens = (inputTokens: number): Usage.Usage => ({ inputTokens, outputTokens: 0 })

/** A run that has spent this much by now, and how often it was asked. */
const runOf = (runId: string, inputTokens = 0) => {
  const run = { sessionId: "s", runId, inputTokens, asked: 0, spent: () => (run.asked++, tokens(run.inputTokens)) }
  return run
}

describe("what is spent for a call", () => {
  it("is asked only of runs that are still live", () => {
    const below = new Below.Below(call)
    const runs = Array.from({ length: 100 }, (_, at) => runOf(`${at}`, 1))
    for (const run of runs) {
      below.add(run)
      below.spent()
      below.end(run, tokens(1))
    }
    assert.strictEqual(below.spent().inputTokens, 100)
    assert.deepStrictEqual(new Set(runs.map(({ asked }) => asked)), new Set([1]))
  })

  it("is reported by the live drive, and not by the end of the one before it", () => {
    const below = new Below.Below(call)
    const [before, now] = [runOf("one", 1), runOf("one", 2)]
    below.add(before)
    below.add(now)
    below.end(before, tokens(1))
    now.inputTokens = 5
    assert.strictEqual(below.spent().inputTokens, 5)
  })

  it.prop("is the sum of what each run reported last", [Logs.seed], ([seed]) => {
    const die = dice(seed)
    const below = new Below.Below(call)
    const live = new Map<string, ReturnType<typeof runOf>>()
    const told = new Map<string, number>()
    for (let step = 0; step < 60; step++) {
      const runId = `${die.int(5)}`
      const run = live.get(runId)
      if (run === undefined) {
        const begun = runOf(runId, told.get(runId) ?? 0)
        live.set(runId, begun)
        below.add(begun)
      } else if (die.int(2) === 0) {
        run.inputTokens += die.int(9)
      } else {
        live.delete(runId)
        below.end(run, run.spent())
      }
      for (const { inputTokens, runId } of live.values()) told.set(runId, inputTokens)
      assert.strictEqual(below.spent().inputTokens, told.values().reduce((sum, each) => sum + each, 0))
    }
  })
})
