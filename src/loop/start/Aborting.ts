/**
 * Aborts a session's last run: through its drive where it lives in this process, by asking the process that drives it where that
 * is another one, and otherwise in its log, so that no process continues it unasked.
 *
 * Does not own how a drive is cut off (`Live`), nor the end of one that died (`Recovery`).
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as RunError from "../../run/RunError.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as RunState from "../../run/RunState.ts"
import type * as Runs from "../../services/Runs.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Env from "../env/Env.ts"
import * as Fold from "../log/Fold.ts"
import * as Recovery from "../open/Recovery.ts"
import * as Elsewhere from "./Elsewhere.ts"
import type * as SessionLocks from "./SessionLocks.ts"
import * as Visit from "./Visit.ts"

/**
 * Ends the last run of a session; durable when it returns. A run that is over, or that another run has followed since, stays as it
 * is. Fails with `SessionBusy` where the session's holder does not drive its run (a compaction, for one), or cannot be asked.
 */
export const abort = Effect.fnUntraced(function*(
  visitor: Visit.Visitor,
  locks: SessionLocks.SessionLocks,
  sessionId: string
): Effect.fn.Return<void, RunError.RunError> {
  const { runs, store } = visitor.services
  let runId: string | undefined
  const refusals = new Elsewhere.Refusals()
  while (true) {
    const live = yield* runs.inSession(sessionId)
    if (live !== undefined) {
      if (runId !== undefined && live.runId !== runId) yield* begun(live)
      else if (yield* endLive(live)) return
    }
    // a run cut off before its first event may have no session, and a session may be removed meanwhile
    const isNew = live === undefined && runId === undefined
    const before = yield* isNew
      ? Fold.lastRun(store, sessionId)
      : Fold.ifThere(Fold.lastRun(store, sessionId), undefined)
    runId ??= before?.state.runId
    if (before === undefined || before.state.runId !== runId || isOver(before.state)) return
    const busy = yield* locks.with(sessionId, endHere(visitor, sessionId, before))
    if (busy === undefined) return
    // a run that is over may still hold its session, and a new run may have begun
    if (live !== undefined || (yield* runs.inSession(sessionId)) !== undefined) continue
    const became = yield* endElsewhere(store, sessionId, before.state)
    if (became === "over") return
    if (!(yield* refusals.goOn(became === "refused"))) {
      return yield* Elsewhere.inUse(busy, "abort", "cannot be asked to abort")
    }
  }
})

/** Whether the run is over. Where it only stopped, or never began, its log says what became of it. */
const endLive = (live: Runs.LiveRun): Effect.Effect<boolean> =>
  Effect.andThen(
    live.abort("requested"),
    Effect.match(live.result, {
      onFailure: () => false,
      onSuccess: (result) =>
        result._tag === "Completed" || result._tag === "Limited" ||
        (result._tag === "Aborted" && result.reason === "requested")
    })
  )

/**
 * Asks the session's holder to abort the run, and waits for its end, but not long: that process may be dead. `over`: the run has
 * ended, even if somebody continues it by now; `refused`: nobody can be asked; `again`: the caller should look again.
 */
const endElsewhere = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  sessionId: string,
  state: RunState.RunState
): Effect.fn.Return<"over" | "refused" | "again", RunError.RunError> {
  const { runId = "" } = state
  if (store.askToAbort === undefined || !(yield* store.askToAbort(sessionId, runId))) return "refused"
  const end = yield* Fold.ifThere(Elsewhere.news(store, sessionId, state, RunEvent.isEnd), Option.none())
  return Option.isSome(end) && isOver({ ...state, end: end.value }) ? "over" : "again"
})

/** Waits until the run begins: it follows the run that is to end, is refused, or replays one that is over. */
const begun = (live: Runs.LiveRun): Effect.Effect<void> => Effect.asVoid(Effect.exit(live.begun))

/** Whether only `resume` continues the run. One that works for a call is also continued by that call, if nobody wanted its end. */
const isOver = (state: RunState.RunState): boolean =>
  state.end !== undefined && (state.parent === undefined ? RunEvent.isOver(state.end) : !RunEvent.isUnwanted(state.end))

/** Ends the run in its log, unless somebody else is faster; returns `SessionBusy` where the session is held. */
const endHere = (
  visitor: Visit.Visitor,
  sessionId: string,
  before: Fold.Folded
): Effect.Effect<Elsewhere.Busy | undefined, RunError.RunError> =>
  Visit.open(visitor, sessionId, before).pipe(
    Effect.flatMap((env) =>
      env === undefined || env.journal.state.runId !== before.state.runId || isOver(env.journal.state)
        ? Effect.undefined
        : Effect.as(end(env, visitor.services.store), undefined)
    ),
    Effect.scoped,
    Effect.catchReason("RetryableError", "SessionBusy", (busy) => Effect.succeed(busy))
  )

/**
 * Ends the run in a drive of its own that does nothing else. The request is stored before it is carried out, so that the next
 * opening of the session can carry it out.
 */
const end = Effect.fnUntraced(
  function*(env: Env.Env, store: SessionStore.Store): Effect.fn.Return<void, RunError.RunError> {
    const { journal, leftBehind } = env
    const before = journal.state
    const cause = before.crashes > 0 ? "recovery" : "resume"
    journal.record({ _tag: "RunResumed", drive: before.drive + 1, cause })
    journal.record({ _tag: "AbortRequested", reason: "requested" })
    yield* journal.commit
    yield* Recovery.settleOpen(env, store, before, "aborted")
    // nobody worked on the run meanwhile
    journal.record({ _tag: "RunAborted", reason: "requested", totals: journal.state.totals, ...leftBehind.named() })
    yield* journal.commit
  }
)
