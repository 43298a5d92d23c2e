/**
 * An abort of a session's last run, wherever that stands: through its drive where it lives in this process, by the process that it
 * lives in where that is another one, else in its log, so that nobody goes on with it by himself.
 *
 * Does not own how a drive is cut off (`Live`), nor the end of one that died (`Recovery`).
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as RunError from "../../run/RunError.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as RunState from "../../run/RunState.ts"
import type * as Runs from "../../services/Runs.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Env from "../env/Env.ts"
import * as Fold from "../log/Fold.ts"
import * as Unsettled from "../round/Unsettled.ts"
import type * as Pens from "./Pens.ts"
import * as Visit from "./Visit.ts"

/**
 * Ends the last run of a session, durable when it returns; one that is over, or that another one follows by now, stays as it is.
 * `SessionBusy` where whoever has the session does not drive its run, as a compaction, or cannot be asked.
 */
export const abort = Effect.fnUntraced(function*(
  visitor: Visit.Visitor,
  pens: Pens.Pens,
  sessionId: string
): Effect.fn.Return<void, RunError.RunError> {
  const { runs, store } = visitor.services
  let runId: string | undefined
  let isRefused = false
  while (true) {
    const live = yield* runs.inSession(sessionId)
    if (live !== undefined) {
      if (runId !== undefined && live.runId !== runId) yield* begun(live)
      else if (yield* endLive(live)) return
    }
    // what was cut off before its first event may have no session, and another one may be removed meanwhile
    const isNew = live === undefined && runId === undefined
    const before = yield* isNew ? Fold.lastRun(store, sessionId) : ifThere(Fold.lastRun(store, sessionId))
    runId ??= before?.state.runId
    if (before === undefined || before.state.runId !== runId || isOver(before.state)) return
    const busy = yield* pens.with(sessionId, endHere(visitor, sessionId, before))
    if (busy === undefined) return
    // what is over may have its session still, and a run may have begun
    if (live !== undefined || (yield* runs.inSession(sessionId)) !== undefined) continue
    const told = yield* endElsewhere(store, sessionId, before.state)
    if (told === "over") return
    // who had the session may have let go of it since
    if (told === "refused" && isRefused) return yield* inUse(busy)
    isRefused = told === "refused"
  }
})

type Busy = Extract<RunError.RunReason, { readonly _tag: "SessionBusy" }>

/** Whether it is over; what stopped only, or never began, its log tells of. */
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
 * Asks whoever has the session to abort the run, and waits for its end; not much longer than its process may be dead. Whether it is
 * over, also where somebody goes on with it by then; nobody can be asked; or somebody should look again.
 */
const endElsewhere = Effect.fnUntraced(function*(
  store: SessionStore.SessionStore["Service"],
  sessionId: string,
  state: RunState.RunState
): Effect.fn.Return<"over" | "refused" | "again", RunError.RunError> {
  const { runId = "" } = state
  if (store.askToAbort === undefined || !(yield* store.askToAbort(sessionId, runId))) return "refused"
  if (state.end !== undefined) {
    // what has ended gives its session back
    yield* Effect.sleep("100 millis")
    return "again"
  }
  const end = yield* store.watch(sessionId, state.seq + 1).pipe(
    Stream.filter(RunEvent.isEnd),
    Stream.runHead,
    Effect.timeoutOption("5 seconds"),
    ifThere
  )
  const isEnd = end !== undefined && Option.isSome(end) && Option.isSome(end.value)
  return isEnd && isOver({ ...state, end: end.value.value }) ? "over" : "again"
})

/** It goes on after the run that is to end, or is refused, or tells what is over. */
const begun = (live: Runs.LiveRun): Effect.Effect<void> => Effect.asVoid(Effect.exit(live.begun))

const ifThere = <A>(
  self: Effect.Effect<A, SessionStore.StoreError>
): Effect.Effect<A | undefined, SessionStore.StoreError> =>
  Effect.catchReason(self, "NonRetryableError", "SessionNotFound", () => Effect.undefined)

const inUse = (busy: Busy): RunError.RunError =>
  new RunError.RetryableError({
    ...busy,
    message:
      `session "${busy.sessionId}" is in use, and whoever has it cannot be asked to abort its run: where that is live, ` +
      `abort it in that process; else try again`
  })

/** Only `resume` goes on with it; or, of a run that works for a call, it did not stop where nobody wanted it to end. */
const isOver = (state: RunState.RunState): boolean =>
  state.end !== undefined && (state.parent === undefined ? RunEvent.isOver(state.end) : !RunEvent.isUnwanted(state.end))

/** Ends it in its log, unless somebody else is faster; gives who has the session, where somebody has. */
const endHere = (
  visitor: Visit.Visitor,
  sessionId: string,
  before: Fold.Folded
): Effect.Effect<Busy | undefined, RunError.RunError> =>
  Visit.open(visitor, sessionId, before).pipe(
    Effect.flatMap((env) =>
      env === undefined || env.journal.state.runId !== before.state.runId || isOver(env.journal.state)
        ? Effect.undefined
        : Effect.as(end(env), undefined)
    ),
    Effect.scoped,
    Effect.catchReason("RetryableError", "SessionBusy", (busy) => Effect.succeed(busy))
  )

/**
 * As a drive of its own that does nothing else. That it is to end is stored before it is carried out: whoever finds that carries it
 * out.
 */
const end = Effect.fnUntraced(function*(env: Env.Env): Effect.fn.Return<void, RunError.RunError> {
  const { journal, leftBehind } = env
  const { crashes, drive } = journal.state
  const mayAsk = Unsettled.mayAsk(journal.state)
  journal.record({ _tag: "RunResumed", drive: drive + 1, cause: crashes > 0 ? "recovery" : "resume" })
  journal.record({ _tag: "AbortRequested", reason: "requested" })
  yield* journal.commit
  yield* Unsettled.settleAfter(env, "aborted", mayAsk)
  // nobody worked for it meanwhile
  journal.record({ _tag: "RunAborted", reason: "requested", totals: journal.state.totals, ...leftBehind.named() })
  yield* journal.commit
})
