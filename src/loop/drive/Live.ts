/** The parts of a run that outlive its drive, and the way to cut the drive off. */
import type * as Deferred from "effect/Deferred"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as RunInput from "../../run/RunInput.ts"
import type * as RunResult from "../../run/RunResult.ts"
import type * as Feed from "../log/Feed.ts"
import type * as Inbox from "./Inbox.ts"

/** Why a run was cut off from outside. */
export type Stop =
  | { readonly _tag: "Abort"; readonly reason: RunEvent.AbortedReason }
  | { readonly _tag: "Duration" }
  | { readonly _tag: "Failed"; readonly error: RunError.RunError }

/** Readers, result, and what a stop needs. */
export interface Live {
  readonly sessionId: string
  readonly feed: Feed.Feed
  readonly inbox: Inbox.Inbox
  readonly accepted: Deferred.Deferred<void, RunError.RunError>
  readonly result: Deferred.Deferred<RunResult.RunResult<unknown>, RunError.RunError>
  /** hears of the result before anyone is told; set while the run is driven */
  observe: ((result: Exit.Exit<unknown, RunError.RunError>) => Effect.Effect<void>) | undefined
  /** the typed answer of a final text */
  readonly output: (text: string) => unknown
  /** the first reason to cut the run off */
  stopped: Stop | undefined
  /** interrupts the phase under way */
  interrupt: (() => void) | undefined
  /** stores that an abort was accepted; set once the run is in the log */
  announce: Effect.Effect<unknown> | undefined
  isAnnounced: boolean
  /** answers a question; set while the run takes turns */
  decide: ((decision: RunInput.DecideInput) => Effect.Effect<boolean, RunError.RunError>) | undefined
}

/** Cuts the run off, in whatever phase it is; the first reason counts. */
export const cutOff = (live: Live, stop: Stop): void => {
  live.stopped ??= stop
  live.interrupt?.()
}
