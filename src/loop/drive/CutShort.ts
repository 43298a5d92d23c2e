/**
 * What follows where the work of a drive was cut short, by a failure or from outside: how its run ends, or why it never began.
 *
 * Does not own the end itself (`Ending`), nor how work is cut off (`Phase`).
 */
import * as Cause from "effect/Cause"
import * as RunError from "../../run/RunError.ts"
import type * as RunState from "../../run/RunState.ts"
import type * as Env from "../env/Env.ts"
import type * as Journal from "../log/Journal.ts"
import type * as Opening from "../open/Opening.ts"
import type * as Ending from "./Ending.ts"
import type * as Live from "./Live.ts"

/** How far the work came. */
interface Work {
  readonly live: Live.Live
  /** the session as it was found, once it is this drive's */
  readonly opened: Opening.Ready | undefined
  readonly env: Env.Env | undefined
}

type Failure = Cause.Cause<RunError.RunError>

/** What a run was begun with; cut off before the store has answered, it may have begun all the same. */
export const begunWith = ({ env, live, opened }: Work, cause: Failure): Env.Env | undefined => {
  if (live.env !== undefined || env === undefined || opened === undefined) return live.env
  if (opened.session.head() > opened.state.seq) {
    live.begin(env)
    return env
  }
  // its end stands behind that answer
  return isPending(cause, env.journal, opened.state) ? env : undefined
}

/** The first event is with the store, which has not said yet what became of it. */
const isPending = (cause: Failure, journal: Journal.Journal, before: RunState.RunState) => {
  const { drive, runId } = journal.state
  return Cause.hasInterruptsOnly(cause) && (runId !== before.runId || drive > before.drive)
}

/** Why a run that never began did not. */
export const refusalOf = ({ runId, stopped }: Live.Live, cause: Failure): RunError.RunError => {
  if (!Cause.hasInterruptsOnly(cause)) return RunError.fromCause(cause)
  const isShutdown = stopped?._tag === "Abort" && stopped.reason === "shutdown"
  return isShutdown ? RunError.shuttingDown : RunError.abortedBeforeStart(runId)
}

/** How a drive ends whose turns did not: what broke them, or who cut them off. */
export const endingOf = ({ journal }: Env.Env, { stopped }: Live.Live, cause: Failure): Ending.Ending => {
  // an interruption that nobody here asked for came from inside: a model or a strategy interrupted itself
  if (!Cause.hasInterruptsOnly(cause) || stopped === undefined) {
    return { _tag: "RunFailed", error: RunError.fromCause(cause) }
  }
  if (stopped._tag === "Failed") return { _tag: "RunFailed", error: stopped.error }
  if (stopped._tag === "Duration") return { _tag: "RunLimited", reason: "duration" }
  // one that was announced is what happened, also where another reason came before it was carried out
  return { _tag: "RunAborted", reason: journal.state.abortRequested ?? stopped.reason }
}
