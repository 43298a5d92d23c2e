/**
 * What is told of a run once it is over here: its result, to those who wait for it, for its first event or for what becomes of an
 * input, and the end of its events, to its readers.
 *
 * Does not own the end itself: it is already written (`Ending`), or there is none.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as RunError from "../../run/RunError.ts"
import * as RunResult from "../../run/RunResult.ts"
import type * as RunState from "../../run/RunState.ts"
import type * as Fold from "../log/Fold.ts"
import type * as Live from "./Live.ts"

export type Result = Exit.Exit<RunResult.RunResult<unknown>, RunError.RunError>

/** What the log says of a run that has its end. */
export const resultIn = (live: Live.Live, state: RunState.RunState): Result => {
  const { end } = state
  if (end === undefined) return Exit.die(new Error("fiberloop: a run without an end has no result"))
  if (end._tag === "RunFailed") return Exit.fail(RunError.fromStored(end.error))
  if (end._tag === "RunSuspended" && state.openCalls.length > 0) live.waiting = state
  try {
    return Exit.succeed(RunResult.fromState(live.sessionId, state, end, live.decodeOutput))
  } catch (error) {
    // an answer of an older schema, read back from the log
    return Exit.fail(RunError.invalidOutput(error instanceof Error ? error.message : "it cannot be decoded"))
  }
}

/** The run never began; its caller learns why. */
export const refuse = (live: Live.Live, error: RunError.RunError) => Effect.suspend(() => tell(live, Exit.fail(error)))

/** The run is in the log: its readers get its events from there, and its result is what it was. */
export const replay = (live: Live.Live, past: Fold.Past) =>
  Effect.suspend(() => {
    live.feed.replay(past.from, past.to)
    Deferred.doneUnsafe(live.firstEvent, Exit.void)
    return tell(live, resultIn(live, past.state))
  })

/** Tells those who wait, also for the first event where that has not come. */
export const tell = (live: Live.Live, result: Result): Effect.Effect<void> =>
  Effect.mapEager(live.observing?.end(result) ?? Effect.void, () => {
    live.feed.end(Exit.asVoid(result))
    if (Exit.isFailure(result)) live.inbox.fail(RunError.fromCause(result.cause))
    live.agentRuns.all.delete(live)
    Deferred.doneUnsafe(live.ended, result)
    Deferred.doneUnsafe(live.firstEvent, Exit.asVoid(result))
  })
