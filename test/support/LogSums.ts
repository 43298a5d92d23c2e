/** What a log says was spent, counted again, and compared with its ends and its limits. */
import * as RunEvent from "../../src/run/RunEvent.ts"
import type * as RunPolicy from "../../src/run/RunPolicy.ts"
import * as Usage from "../../src/run/Usage.ts"

type Log = ReadonlyArray<RunEvent.Durable>

/** What the ends of a log say was spent, counted again. */
export const spending = (log: Log): ReadonlyArray<string> => {
  const found: Array<string> = []
  let usage = Usage.zero
  let turns = 0
  for (const event of log) {
    if (event._tag === "RunStarted") [usage, turns] = [Usage.zero, 0]
    else if (event._tag === "AssistantMessage") turns++
    if ("usage" in event && event._tag !== "TurnFinished" && event.usage !== undefined && isOfRun(event)) {
      usage = Usage.add(usage, event.usage)
    }
    if (!RunEvent.isEnd(event)) continue
    const { totals } = event
    if (JSON.stringify(totals.usage) !== JSON.stringify(usage)) {
      found.push(`${event.seq}: spent ${JSON.stringify(usage)}, told ${JSON.stringify(totals.usage)}`)
    }
    if (totals.turns !== turns) found.push(`${event.seq}: ${turns} turns, told ${totals.turns}`)
    if (totals.duration < 0) found.push(`${event.seq}: took ${totals.duration}`)
  }
  return found
}

/** Excludes what was asked for by hand. */
const isOfRun = (event: object): boolean => !("isOfRun" in event)

/** Overshoot is at most one call. */
export const limited = (log: Log): ReadonlyArray<string> => {
  const found: Array<string> = []
  let limits: RunPolicy.Limits = {}
  let [turns, calls, tokens, errors] = [0, new Set<string>(), 0, 0]
  for (const event of log) {
    if (event._tag === "RunStarted") {
      limits = event.input.limits
      ;[turns, calls, tokens, errors] = [0, new Set(), 0, 0]
    }
    if (event._tag === "RunResumed") limits = event.limits ?? limits
    const { maxErrors = Infinity, maxTokens = Infinity, maxToolCalls = Infinity, maxTurns = Infinity } = limits
    const say = (what: string) => found.push(`${event.seq} ${event._tag}: above ${what}`)
    if (event._tag === "AssistantMessage" || event._tag === "AttemptDiscarded") {
      if (turns >= maxTurns) say(`maxTurns ${maxTurns}`)
      if (tokens >= maxTokens) say(`maxTokens ${maxTokens}`)
      if (errors > maxErrors) say(`maxErrors ${maxErrors}`)
    }
    if (event._tag === "AssistantMessage") turns++
    if (event._tag === "AttemptDiscarded") errors++
    if (event._tag === "ToolSettled" && (event.outcome._tag === "Failed" || event.outcome._tag === "TimedOut")) errors++
    if ("usage" in event && event._tag !== "TurnFinished" && event.usage !== undefined && isOfRun(event)) {
      tokens += Usage.total(event.usage)
    }
    if (event._tag === "ToolStarted") calls.add(event.callId)
    if (calls.size > maxToolCalls) say(`maxToolCalls ${maxToolCalls}`)
  }
  return found
}
