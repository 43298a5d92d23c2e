/**
 * An abort of a session's last run, wherever that stands: through its drive where it lives in this process, else in its log, so
 * that nobody goes on with it by himself.
 *
 * Does not own how a drive is cut off (`Live`), nor what becomes of calls that nothing is at work for any more (`Recovery`).
 */
import * as Effect from "effect/Effect"
import type * as Semaphore from "effect/Semaphore"
import * as RunError from "../../run/RunError.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import * as RunState from "../../run/RunState.ts"
import type * as Runs from "../../services/Runs.ts"
import type * as Env from "../env/Env.ts"
import * as Fold from "../log/Fold.ts"
import * as Recovery from "../open/Recovery.ts"
import * as Visit from "./Visit.ts"

/**
 * Ends the last run of a session, durable when it returns; one that is over stays as it is. `SessionBusy` where another process
 * has the session, or a compaction. Those that share a `pen` wait for each other where no drive has it.
 */
export const abort = Effect.fnUntraced(function*(
  visitor: Visit.Visitor,
  pen: Semaphore.Semaphore,
  sessionId: string
): Effect.fn.Return<void, RunError.RunError> {
  const { runs } = visitor.services
  const live = yield* runs.inSession(sessionId)
  if (live !== undefined) yield* live.abort("requested")
  yield* Effect.catchReason(
    pen.withPermit(stored(visitor, sessionId, live)),
    "RetryableError",
    "SessionBusy",
    (reason) =>
      // a run began meanwhile, or what is over had its session still
      Effect.flatMap(runs.inSession(sessionId), (begun) =>
        (live ?? begun) === undefined ? Effect.fail(inUse(reason)) : abort(visitor, pen, sessionId))
  )
})

const inUse = (reason: Extract<RunError.RunReason, { readonly _tag: "SessionBusy" }>): RunError.RunError =>
  new RunError.RetryableError({
    ...reason,
    message: `session "${reason.sessionId}" is in use: where its run is live, abort it in that process; else try again`
  })

/** Of a run that was live until now its log has the end, but for one that its store did not take. */
const stored = Effect.fnUntraced(function*(
  visitor: Visit.Visitor,
  sessionId: string,
  live: Runs.LiveRun | undefined
): Effect.fn.Return<void, RunError.RunError> {
  const { store } = visitor.services
  const info = yield* store.info(sessionId)
  // a run that was cut off before its first event leaves nothing, or the one before it
  if (live !== undefined && info === undefined) return
  if (info?.end !== undefined && info.end !== "RunSuspended") return
  const before = yield* Fold.lastRun(store, sessionId)
  if (live !== undefined && live.runId !== before.state.runId) return
  yield* Effect.scoped(
    Effect.flatMap(
      Visit.take(visitor, sessionId, before),
      (env) => env === undefined || isOver(env.journal.state) ? Effect.void : end(env)
    )
  )
})

/** Also where somebody else was faster. */
const isOver = ({ end }: RunState.RunState): boolean => end !== undefined && RunEvent.isOver(end)

/** The abort is stored before it is carried out, as that of a drive: whoever finds it carries it out. */
const end = Effect.fnUntraced(function*(env: Env.Env): Effect.fn.Return<void, RunError.RunError> {
  const { journal } = env
  const { drive } = journal.state
  if (!RunState.isOpen(journal.state)) journal.record({ _tag: "RunResumed", drive: drive + 1, cause: "resume" })
  if (journal.state.abortRequested === undefined) journal.record({ _tag: "AbortRequested", reason: "requested" })
  yield* journal.commit
  yield* Recovery.recover(env, false)
})
