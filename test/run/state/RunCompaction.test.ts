/** What compactions leave in the state of a run. */
import { assert, describe, it } from "@effect/vitest"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import * as RunState from "../../../src/run/RunState.ts"
import * as Usage from "../../../src/run/Usage.ts"
import * as Draft from "../../support/Drafts.ts"

const fold = (...drafts: ReadonlyArray<Draft.Placed>) => Draft.log(...drafts).reduce(RunState.evolve, RunState.empty)

const usage = { inputTokens: 5, outputTokens: 1 }
const lost = { retries: 2, lostTime: 3_000 }
const compacted = { ...Draft.compacted(0, []), usage, lost }
const failed = { _tag: "CompactionDiscarded" as const, message: "no", usage, lost }

describe("a compaction", () => {
  it("counts in a row unless somebody asked for it", () => {
    const made = (cause: RunEvent.CompactionCause) => ({ ...compacted, cause })
    const { compactionsInARow, totals } = fold(Draft.started("x"), made("window"), made("manual"))
    assert.deepStrictEqual([compactionsInARow, totals.compactions], [1, 2])
  })

  it("loses what its model's failures lost, as attempts of turns do, also if it failed", () => {
    const discarded = { ...Draft.discarded(1, 1), duration: 30, delay: 1_000 }
    const state = fold(Draft.started("x"), Draft.turnStarted(1), discarded, compacted, failed)
    assert.deepStrictEqual([state.retries, state.lostTime], [5, 7_030])
  })

  it("by hand counts for no run, not even if it failed", () => {
    const byHand = { isOfRun: false as const }
    const { lostTime, retries, totals } = fold(
      Draft.started("x"),
      { ...compacted, cause: "manual" as const, ...byHand },
      { ...failed, ...byHand }
    )
    assert.deepStrictEqual([totals.compactions, totals.usage, retries, lostTime], [0, Usage.zero, 0, 0])
  })
})
