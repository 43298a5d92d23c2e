/**
 * How a run comes about in this process: started, attached to where it lives, or told again where it has ended.
 *
 * Does not own how it is driven (`Drive`), nor which runs live here (`Runs`).
 */
import * as Effect from "effect/Effect"
import * as RunError from "../../run/RunError.ts"
import type * as Runs from "../../services/Runs.ts"
import * as Drive from "../drive/Drive.ts"
import * as Ending from "../drive/Ending.ts"
import type * as Env from "../drive/Env.ts"
import * as Live from "../drive/Live.ts"
import * as Opening from "./Opening.ts"

/** A run that was started, or one that was there already and is attached to: that one is somebody else's to abort. */
export interface Started {
  readonly run: Runs.LiveRun
  readonly isAttached: boolean
}

/**
 * Starts a drive in the scope of `Runs` and returns once its first event is stored. A run that is live or in the log
 * with equal input is attached to instead; one that lives is not resumed. Interrupted before that, it aborts the run.
 */
export const start = (
  services: Env.Services,
  request: Env.Request
): Effect.Effect<Started, RunError.RunError> =>
  Effect.suspend(() => {
    const { begin, runId, sessionId } = request
    const run = new Live.Live(services, request)
    const tracked = (forget: Effect.Effect<void>) =>
      Effect.suspend(() => {
        request.track.add(run)
        const untrack = Effect.sync(() => request.track.delete(run))
        return Effect.ensuring(Drive.drive(services, request, run, forget), untrack)
      })
    const isResume = begin._tag === "Resume"
    const busy = () => RunError.sessionBusy(sessionId, runId)
    // no moment between the start and the wait in which an interruption could leave the run to itself
    return Effect.uninterruptible(
      Effect.flatMap(services.runs.start(run, tracked), (known): Effect.Effect<Started, RunError.RunError> => {
        // limits and data of its own are nothing to attach with
        if (isResume && known !== run) return Effect.fail(busy())
        const accepted = Effect.interruptible(known.accepted)
        return known === run
          ? Effect.as(Effect.onInterrupt(accepted, () => run.abort("consumer")), { run, isAttached: false })
          : Effect.as(accepted, { run: known, isAttached: true })
      }).pipe(
        Effect.catch((failure) => {
          const error = isResume && failure.reason._tag === "RunConflict" ? busy() : failure
          return error.reason._tag === "SessionBusy"
            ? Effect.interruptible(replay(services, request, error))
            : Effect.fail(error)
        })
      )
    )
  })

/** A run that has ended is told also while another one has the session. */
const replay = Effect.fnUntraced(function*(
  services: Env.Services,
  request: Env.Request,
  busy: RunError.RunError
): Effect.fn.Return<Started, RunError.RunError> {
  const past = yield* Opening.past(services.store, request.sessionId, request.runId, request.begin)
  if (past === undefined) return yield* busy
  const run = new Live.Live(services, request)
  yield* Ending.replay(run, { _tag: "Replay", past })
  return { run, isAttached: true }
})
