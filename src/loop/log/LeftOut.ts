/**
 * What is left of recorded events when a store does not hold one of them: it goes, and what follows from it. Pure.
 */
import * as Bounds from "../../run/log/Bounds.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import * as RunState from "../../run/RunState.ts"
import * as Transcript from "../../run/Transcript.ts"
import type * as Fold from "./Fold.ts"

export interface Rest extends Fold.Folded {
  readonly recorded: Array<RunEvent.RunEvent>
  /** the live status before what was left out; `undefined` where it is the same */
  readonly status: RunEvent.Status | undefined
}

/**
 * `stored` and `events` without what has more than `limit` bytes of JSON and what comes behind it, but for the outcomes
 * of other calls, which stand by themselves. Without all of them where none is found to be too large.
 */
export const rest = (stored: Fold.Folded, events: ReadonlyArray<RunEvent.RunEvent>, limit: number): Rest => {
  const isTooLarge = (event: RunEvent.RunEvent) => RunEvent.isDurable(event) && Bounds.above(event, limit) !== undefined
  const at = events.findIndex(isTooLarge)
  const recorded = events.slice(0, Math.max(0, at))
  let { state, transcript } = stored
  const fold = (event: RunEvent.Durable) => {
    state = RunState.evolve(state, event)
    transcript = Transcript.append(transcript, event)
  }
  for (const event of recorded) if (RunEvent.isDurable(event)) fold(event)
  const behind = events.slice(recorded.length)
  for (const event of at < 0 ? [] : behind) {
    if (event._tag !== "ToolSettled" || isTooLarge(event)) continue
    if (!state.openCalls.some((call) => call.callId === event.callId)) continue
    const outcome = { ...event, seq: state.seq + 1 }
    fold(outcome)
    recorded.push(outcome)
  }
  return { state, transcript, recorded, status: behind.find((event) => event._tag === "StatusChanged")?.from }
}
