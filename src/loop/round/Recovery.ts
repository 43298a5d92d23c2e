/**
 * What a drive leaves behind when its process dies, and how it is mended by appending: the end that it could not write,
 * and what a call that it started needs.
 *
 * Does not own how the run goes on: behind its end it is like one that was aborted, with its calls still open; nor what calls
 * are settled as that do not go on (`Unsettled`), nor how the application is asked about a call (`Reconciling`).
 */
import * as Effect from "effect/Effect"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as RunState from "../../run/RunState.ts"
import type * as OpenCall from "../../run/state/OpenCall.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Env from "../env/Env.ts"
import type * as CallStep from "./CallStep.ts"
import * as Reconciling from "./Reconciling.ts"
import * as Unsettled from "./Unsettled.ts"

/** A run that died so often in a row, with nothing finished between, is not gone on with by itself. */
const mostCrashes = 5

/**
 * Writes the end of a drive that died. Calls stay open for the next drive, or for the new message, to settle; but those of a
 * run that was asked to abort, or that dies again and again, are settled here. Does nothing where the last drive has its end,
 * so that recovering twice appends nothing more.
 */
export const repair = Effect.fnUntraced(function*(
  env: Env.Env,
  isResumed: boolean
): Effect.fn.Return<void, SessionStore.StoreError> {
  const { journal } = env
  const state = journal.state
  if (!RunState.isOpen(state)) return
  const ending = endingOf(state, isResumed)
  // what passed since its last event is not the drive's, also where settling ends a wait for a person
  const { duration } = RunState.totalsAt(state, state.at)
  if (ending.settles !== undefined) yield* Unsettled.settleBehind(env, ending.settles)
  journal.record({ ...ending.end, totals: { ...journal.state.totals, duration } }, state.runId)
  yield* journal.commit
})

interface Ending {
  readonly end:
    | { readonly _tag: "RunAborted"; readonly reason: RunEvent.AbortedReason }
    | { readonly _tag: "RunLimited"; readonly reason: RunEvent.LimitedReason }
  /** what calls that never started are settled as, where they are */
  readonly settles?: Unsettled.Reason
}

const endingOf = (state: RunState.RunState, isResumed: boolean): Ending => {
  if (state.abortRequested !== undefined) {
    return { end: { _tag: "RunAborted", reason: state.abortRequested }, settles: "aborted" }
  }
  return isResumed && state.crashes + 1 >= mostCrashes
    ? { end: { _tag: "RunLimited", reason: "crashLoop" }, settles: "limit" }
    : { end: { _tag: "RunAborted", reason: "crashed" } }
}

/** What a call that a drive before this one started needs: to run again, or the outcome that is known of it. */
export const judge = (env: Env.Env, call: OpenCall.OpenCall): CallStep.Judged => {
  const isOffered = env.tools.some((tool) => tool.name === call.tool)
  if (isOffered && env.executor.isRepeatable(env.handlers, call.tool)) return { _tag: "Run" }
  const verdict = Effect.map(Reconciling.ask(env, call), (known): CallStep.Verdict =>
    known !== undefined
      ? { _tag: "Settle", outcome: known }
      : isOffered
      ? { _tag: "Run" }
      : { _tag: "Settle", outcome: { _tag: "NotExecuted", reason: "stopped" } })
  return { _tag: "Wait", verdict }
}
