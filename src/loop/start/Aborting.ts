/**
 * An abort of a session's last run, wherever that stands: through its drive where it lives in this process, else in its log, so
 * that nobody goes on with it by himself.
 *
 * Does not own how a drive is cut off (`Live`), nor the end of one that died (`Recovery`).
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as RunError from "../../run/RunError.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as RunState from "../../run/RunState.ts"
import * as LeaveBehind from "../../services/LeaveBehind.ts"
import type * as Runs from "../../services/Runs.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Env from "../env/Env.ts"
import * as LeftBehind from "../env/LeftBehind.ts"
import * as Fold from "../log/Fold.ts"
import * as Opening from "../open/Opening.ts"
import * as Unsettled from "../round/Unsettled.ts"
import type * as Pens from "./Pens.ts"
import * as Visit from "./Visit.ts"

/**
 * Ends the last run of a session, durable when it returns; one that is over, or that another one follows by now, stays as it is.
 * `SessionBusy` where another process has the session, or a compaction.
 */
export const abort = Effect.fnUntraced(function*(
  visitor: Visit.Visitor,
  pens: Pens.Pens,
  sessionId: string
): Effect.fn.Return<void, RunError.RunError> {
  const { runs, store } = visitor.services
  let runId: string | undefined
  while (true) {
    const live = yield* runs.inSession(sessionId)
    if (live !== undefined) yield* runId === undefined || live.runId === runId ? live.abort("requested") : tried(live)
    // of a run that was cut off before its first event there may be no session
    const before = yield* live === undefined ? Fold.lastRun(store, sessionId) : ifThere(Fold.lastRun(store, sessionId))
    runId ??= before?.state.runId
    if (before === undefined || before.state.runId !== runId || isOver(before.state)) return
    const ending = yield* Effect.result(pens.with(sessionId, ended(visitor, sessionId, before)))
    if (Result.isSuccess(ending)) return
    const { reason } = ending.failure
    if (reason._tag !== "SessionBusy") return yield* ending.failure
    // what is over may have its session still, and a run may have begun
    if ((live ?? (yield* runs.inSession(sessionId))) === undefined) return yield* inUse(reason)
  }
})

/** It goes on behind the run that is to end, or is refused, or tells what is over. */
const tried = (live: Runs.LiveRun): Effect.Effect<void> => Effect.asVoid(Effect.exit(live.begun))

const ifThere = <A>(
  self: Effect.Effect<A, SessionStore.StoreError>
): Effect.Effect<A | undefined, SessionStore.StoreError> =>
  Effect.catchReason(self, "NonRetryableError", "SessionNotFound", () => Effect.undefined)

const inUse = (reason: Extract<RunError.RunReason, { readonly _tag: "SessionBusy" }>): RunError.RunError =>
  new RunError.RetryableError({
    ...reason,
    message: `session "${reason.sessionId}" is in use: where its run is live, abort it in that process; else try again`
  })

/** Nobody goes on with it by himself; with one that works for a call whoever made that, where nobody wanted it to end. */
const isOver = (state: RunState.RunState): boolean =>
  state.end !== undefined && (state.parent === undefined ? RunEvent.isOver(state.end) : !Opening.isStopped(state))

/** Ends it in its log, unless somebody else is faster. */
const ended = (
  visitor: Visit.Visitor,
  sessionId: string,
  before: Fold.Folded
): Effect.Effect<void, RunError.RunError> =>
  Effect.scoped(
    Effect.flatMap(
      Visit.open(visitor, sessionId, before),
      (env) =>
        env === undefined || env.journal.state.runId !== before.state.runId || isOver(env.journal.state)
          ? Effect.void
          : Effect.provideService(end(env), LeaveBehind.LeaveBehind, LeftBehind.listener(env.leftBehind))
    )
  )

/**
 * As a drive of its own that does nothing else. That it is to end is stored before it is carried out: whoever finds that carries it
 * out.
 */
const end = Effect.fnUntraced(function*(env: Env.Env): Effect.fn.Return<void, RunError.RunError> {
  const { journal, leftBehind } = env
  const { crashes, drive } = journal.state
  journal.record({ _tag: "RunResumed", drive: drive + 1, cause: crashes > 0 ? "recovery" : "resume" })
  journal.record({ _tag: "AbortRequested", reason: "requested" })
  yield* journal.commit
  // a run that died twice in a row may die of what is asked here
  yield* Unsettled.settleBehind(env, "aborted", crashes < 2)
  const names = leftBehind.names()
  const left = names.length === 0 ? {} : { leftBehind: names }
  // nobody worked for it meanwhile
  journal.record({ _tag: "RunAborted", reason: "requested", totals: journal.state.totals, ...left })
  yield* journal.commit
})
