/**
 * An abort of a session's last run, wherever that stands: through its drive where it lives in this process, by the process that it
 * lives in where that is another one, else in its log, so that nobody goes on with it by himself.
 *
 * Does not own how a drive is cut off (`Live`), nor the end of one that died (`Recovery`).
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
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
 * `SessionBusy` where whoever has the session does not drive its run, as a compaction, or cannot be asked.
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
    const busy = yield* pens.with(sessionId, endHere(visitor, sessionId, before))
    if (busy === undefined) return
    // what is over may have its session still, and a run may have begun
    const isHere = live !== undefined || (yield* runs.inSession(sessionId)) !== undefined
    if (!isHere) yield* endElsewhere(store, before.state, busy)
  }
})

type Busy = Extract<RunError.RunReason, { readonly _tag: "SessionBusy" }>

/** Asks whoever has the session, and waits for what comes of it; not much longer than its process may be dead. */
const endElsewhere = Effect.fnUntraced(function*(
  store: SessionStore.SessionStore["Service"],
  { end, runId = "", seq }: RunState.RunState,
  busy: Busy
): Effect.fn.Return<void, RunError.RunError> {
  const { sessionId } = busy
  if (store.askToAbort === undefined || !(yield* store.askToAbort(sessionId, runId))) return yield* inUse(busy)
  // what has ended gives its session back
  if (end !== undefined) return yield* Effect.sleep("100 millis")
  const nextEnd = store.watch(sessionId, seq + 1).pipe(Stream.filter(RunEvent.isEnd), Stream.take(1))
  yield* Effect.timeoutOption(Stream.runDrain(nextEnd), "5 seconds")
})

/** It goes on behind the run that is to end, or is refused, or tells what is over. */
const tried = (live: Runs.LiveRun): Effect.Effect<void> => Effect.asVoid(Effect.exit(live.begun))

const ifThere = <A>(
  self: Effect.Effect<A, SessionStore.StoreError>
): Effect.Effect<A | undefined, SessionStore.StoreError> =>
  Effect.catchReason(self, "NonRetryableError", "SessionNotFound", () => Effect.undefined)

const inUse = (busy: Busy): RunError.RunError =>
  new RunError.RetryableError({
    ...busy,
    message:
      `session "${busy.sessionId}" is in use, by nobody who can be asked to abort its run: where that is live, abort it in that ` +
      `process; else try again`
  })

/** Only `resume` goes on with it; or, of a run that works for a call, it did not stop where nobody wanted it to end. */
const isOver = (state: RunState.RunState): boolean =>
  state.end !== undefined && (state.parent === undefined ? RunEvent.isOver(state.end) : !Opening.isStopped(state))

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
        : Effect.as(
          Effect.provideService(end(env), LeaveBehind.LeaveBehind, LeftBehind.listener(env.leftBehind)),
          undefined
        )
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
