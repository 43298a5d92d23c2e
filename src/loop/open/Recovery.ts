/**
 * How a session whose drive died with its process is recovered: by appending the end that the drive could not write.
 *
 * Does not own how the run goes on: with that end it is like one that was aborted, with its calls still open, and `Judging`
 * says what they need; nor the outcomes of calls that do not go on (`Unsettled`).
 */
import * as Effect from "effect/Effect"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as RunState from "../../run/RunState.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Env from "../env/Env.ts"
import * as Unsettled from "../round/Unsettled.ts"
import * as Deaths from "./Deaths.ts"

/**
 * Writes the end of a drive that died. Calls stay open for the next drive, or for the new message, to settle; but those of a
 * run that was asked to abort, or that dies again and again and is not to go on (`isCrashLoop`), are settled here. Does nothing where
 * the last drive has its end, so that recovering twice appends nothing more.
 */
export const recover = Effect.fnUntraced(function*(
  env: Env.Env,
  store: SessionStore.Store,
  isCrashLoop: boolean
): Effect.fn.Return<void, SessionStore.StoreError> {
  const { journal, leftBehind } = env
  const state = journal.state
  if (!RunState.isOpen(state)) return
  const ending = endingOf(state, isCrashLoop)
  // time since its last event is not the drive's, even where settling ends a wait for a person
  const { duration } = RunState.totalsAt(state, state.at)
  if (ending.settles !== undefined) yield* settleOpen(env, store, state, ending.settles)
  const end = { ...ending.end, totals: { ...journal.state.totals, duration }, ...leftBehind.named() }
  journal.record(end, state.runId)
  yield* journal.commit
})

/**
 * Settles the open calls of a run that nobody works on. `before` is its state before this drive, if there is one, has begun: one that
 * has no end counts as a death.
 */
export const settleOpen = (
  env: Env.Env,
  store: SessionStore.Store,
  before: RunState.RunState,
  reason: Unsettled.Reason
): Effect.Effect<void, SessionStore.StoreError> =>
  Effect.flatMap(Deaths.mayAsk(store, env.sessionId, before), (mayAsk) => Unsettled.settleAfter(env, reason, mayAsk))

interface Ending {
  readonly end:
    | { readonly _tag: "RunAborted"; readonly reason: RunEvent.AbortedReason }
    | { readonly _tag: "RunLimited"; readonly reason: RunEvent.LimitedReason }
  /** why calls that never started did not run, where they are settled */
  readonly settles?: Unsettled.Reason
}

const endingOf = (state: RunState.RunState, isCrashLoop: boolean): Ending => {
  if (state.abortRequested !== undefined) {
    return { end: { _tag: "RunAborted", reason: state.abortRequested }, settles: "aborted" }
  }
  return isCrashLoop
    ? { end: { _tag: "RunLimited", reason: "crashLoop" }, settles: "limit" }
    : { end: { _tag: "RunAborted", reason: "crashed" } }
}
