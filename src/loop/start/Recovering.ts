/**
 * Finds the runs of an agent that nobody drives, and takes each up.
 *
 * Does not own how a run is taken up (`Launch`), nor what a drive that died has left open (`Recovery`).
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type * as InputCheck from "../../run/InputCheck.ts"
import type * as RunError from "../../run/RunError.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as Runs from "../../services/Runs.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Fold from "../log/Fold.ts"
import * as Listing from "../log/Listing.ts"
import * as Questions from "../log/Questions.ts"
import type * as Started from "./Started.ts"

/** What became of them. */
export interface Recovered {
  readonly runs: ReadonlyArray<Runs.LiveRun>
  readonly refused: ReadonlyArray<{ readonly sessionId: string; readonly error: RunError.RunError }>
}

interface Options {
  readonly store: SessionStore.SessionStore["Service"]
  /** the name of the agent */
  readonly agent: string
  readonly input: InputCheck.Recovery
  /** takes a run up, as it was found */
  readonly takeUp: (sessionId: string, folded: Fold.Folded) => Started.Starting
}

export const recover = Effect.fnUntraced(function*(options: Options): Effect.fn.Return<Recovered, RunError.RunError> {
  const { input: { answered, limit }, store } = options
  const runs: Array<Runs.LiveRun> = []
  const refused: Array<Recovered["refused"][number]> = []
  const look = Effect.fnUntraced(function*({ sessionId }: SessionStore.SessionInfo) {
    const taken = yield* Effect.result(takeUp(options, sessionId))
    if (Result.isSuccess(taken)) {
      if (taken.success !== undefined) runs.push(taken.success.run)
    } else if (taken.failure.reason._tag === "ShuttingDown") return yield* taken.failure
    else if (!isElsewhere(taken.failure)) refused.push({ sessionId, error: taken.failure })
    return runs.length < limit
  })
  const ends = answered ? [undefined, "RunSuspended" as const] : [undefined]
  yield* Stream.runForEachWhile(Listing.all(store, { ends, unowned: true }), look)
  return { runs, refused }
})

/** Somebody was faster, to go on with it, or to end or remove it: the next look finds what they left. */
const isElsewhere = ({ reason: { _tag } }: RunError.RunError): boolean =>
  _tag === "SessionBusy" || _tag === "StaleWriter" || _tag === "SessionNotFound" || _tag === "NothingToResume"

const takeUp = Effect.fnUntraced(function*(
  { agent, store, takeUp }: Options,
  sessionId: string
): Effect.fn.Return<Started.Started | undefined, RunError.RunError> {
  const started = yield* Fold.lastStart(store, sessionId)
  // a run that works for a call is asked for where the call is made again
  if (started?.agent !== agent || started.parent !== undefined) return undefined
  const folded = yield* Fold.fold(store, sessionId, Fold.nothing)
  const { state } = folded
  const { end } = state
  const isLeft = end === undefined || RunEvent.isOfProcess(end) ||
    (end._tag === "RunSuspended" && (yield* Questions.waitingIn(store, sessionId, state)).length === 0)
  return isLeft ? yield* takeUp(sessionId, folded) : undefined
})
