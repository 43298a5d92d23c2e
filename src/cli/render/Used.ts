/** What runs have used up: in words, and summed. Pure. */
import { count } from "../../run/Quantity.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as Usage from "../../run/Usage.ts"
import { duration } from "./Time.ts"

type Used = Pick<RunEvent.Totals, "duration" | "toolCalls" | "turns" | "usage">

/** What was used up: `2 turns`, `1 tool call`, `15 tokens (10 in, 5 out)`, `cost 0.012`, `120 ms` */
export const words = ({ duration: millis, toolCalls, turns, usage }: Used): ReadonlyArray<string> => [
  count(turns, "turn"),
  count(toolCalls, "tool call"),
  ...spent(usage),
  duration(millis)
]

/** `15 tokens (10 in, 5 out)`, `cost 0.012`; empty where nothing was spent */
export const spent = ({ cost, inputTokens, outputTokens }: Usage.Usage): ReadonlyArray<string> => {
  const tokens = inputTokens + outputTokens
  return [
    ...(tokens === 0 ? [] : [`${tokens} tokens (${inputTokens} in, ${outputTokens} out)`]),
    ...(cost === undefined ? [] : [`cost ${Number(cost.toPrecision(4))}`])
  ]
}

/** What several runs have used together. */
export const sum = (all: Iterable<RunEvent.Totals>): Used => {
  let total: Used = { turns: 0, toolCalls: 0, duration: 0, usage: Usage.zero }
  for (const { duration, toolCalls, turns, usage } of all) {
    total = {
      turns: total.turns + turns,
      toolCalls: total.toolCalls + toolCalls,
      duration: total.duration + duration,
      usage: Usage.add(total.usage, usage)
    }
  }
  return total
}

/** What runs have used, plus what was spent after a run's end, which its totals do not include. */
export const spentAfter = (
  totals: ReadonlyMap<string, RunEvent.Totals>,
  { runId, usage }: { readonly runId: string; readonly usage: Usage.Usage }
): ReadonlyMap<string, RunEvent.Totals> => {
  const known = totals.get(runId)
  return known === undefined ? totals : new Map(totals).set(runId, { ...known, usage: Usage.add(known.usage, usage) })
}
