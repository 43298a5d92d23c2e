/**
 * What follows where the work of a drive was cut short, by a failure or from outside: whether its run had begun by then, and how
 * it ends, or why it never began.
 *
 * Does not own the end itself (`Ending`), nor how work is cut off (`Stoppable`).
 */
import * as Cause from "effect/Cause"
import * as RunError from "../../run/RunError.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as Env from "../env/Env.ts"
import type * as Opening from "../open/Opening.ts"
import type * as Ending from "./Ending.ts"
import type * as Live from "./Live.ts"
import * as Stop from "./Stop.ts"

/** What a drive that has its session works with, and the session as it was found. */
export interface Taken {
  readonly env: Env.Env
  readonly found: Opening.Ready
}

type Failure = Cause.Cause<RunError.RunError>

/** A run that is to have an end. */
interface Begun {
  readonly env: Env.Env
  /** its first event is stored, and who waits for that is still to be told */
  readonly isUntold: boolean
}

/**
 * What is to end, by how far the first event of a run got: those who wait for it were told; it is stored, and the drive was cut off
 * before the store said so; or the store may have it or not. Nothing where it is nowhere.
 */
export const begunOf = ({ env }: Live.Live, taken: Taken | undefined, cause: Failure): Begun | undefined => {
  if (env !== undefined) return { env, isUntold: false }
  if (taken === undefined) return undefined
  const { env: { journal }, found: { session, state } } = taken
  if (session.head() > state.seq) return { env: taken.env, isUntold: true }
  const { drive, runId } = journal.state
  const isRecorded = runId !== state.runId || drive > state.drive
  return isRecorded && Cause.hasInterruptsOnly(cause) ? { env: taken.env, isUntold: false } : undefined
}

/** Why a run never began. */
export const refusalOf = ({ runId, stopped }: Live.Live, cause: Failure): RunError.RunError => {
  if (!Cause.hasInterruptsOnly(cause)) return RunError.fromCause(cause)
  const isShutdown = stopped !== undefined && RunEvent.leftBy(stopped) === "process"
  return isShutdown ? RunError.shuttingDown : RunError.abortedBeforeStart(runId)
}

/** How a drive ends whose turns did not end by themselves: by what broke them, or by what cut them off. */
export const endingOf = ({ journal }: Env.Env, { stopped }: Live.Live, cause: Failure): Ending.Ending => {
  const { abortRequested } = journal.state
  const failed = (error: RunError.RunError): Ending.Ending => {
    // what its store ends goes on by itself: not where somebody wanted the end
    const wanted = RunError.isStoreAway(error) ? abortRequested ?? Stop.wanted(stopped) : undefined
    return wanted === undefined ? { _tag: "RunFailed", error } : { _tag: "RunAborted", reason: wanted }
  }
  // an interruption that nobody here asked for came from inside: a model interrupted itself
  if (!Cause.hasInterruptsOnly(cause) || stopped === undefined) return failed(RunError.fromCause(cause))
  if (stopped._tag === "RunFailed") return failed(stopped.error)
  // an abort that was announced is what happened, even if another reason came before it was carried out
  return stopped._tag === "RunAborted" ? { ...stopped, reason: abortRequested ?? stopped.reason } : stopped
}
