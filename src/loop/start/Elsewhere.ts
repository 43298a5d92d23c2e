/**
 * A session that somebody else has: telling whoever that is, waiting for what the log says of it, looking again, and giving up.
 *
 * Does not own what they are told, nor what is looked at between two tries (`Aborting`, `Deciding`, `Sending`).
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as RunState from "../../run/RunState.ts"
import type * as SessionStore from "../../services/SessionStore.ts"

export type Busy = Extract<RunError.RunReason, { readonly _tag: "SessionBusy" }>

/** `nobody` has the session; `SessionBusy`: whoever has it has it for something else, or cannot be told. */
export type Told = "told" | "nobody" | Busy

/** What came of telling somebody; `isTold` as a store's `send` says it. */
export const told = (isTold: Effect.Effect<boolean, SessionStore.StoreError>): Effect.Effect<Told, RunError.RunError> =>
  Effect.catchReason(
    Effect.map(isTold, (isTold): Told => isTold ? "told" : "nobody"),
    "RetryableError",
    "SessionBusy",
    (busy) => Effect.succeed<Told>(busy)
  )

/** Says what to do about a session whose holder was told in vain, or cannot be told; `why` is about the holder. */
export const inUse = (busy: Busy, act: "abort" | "answer" | "steer", why: string): RunError.RunError =>
  new RunError.RetryableError({
    ...busy,
    message: `session "${busy.sessionId}" is in use, and its holder ${why}: ` +
      `if its run is live, ${act} it in that process; otherwise try again`
  })

/** Whoever refuses once may have the session for a moment, to append to it; who refuses twice in a row is not asked again. */
export class Refusals {
  #wasRefused = false

  /** Returns when it is time to look again; `false`, and at once, where that was the second refusal in a row. */
  goOn(isRefused: boolean): Effect.Effect<boolean> {
    return Effect.suspend(() => {
      const isSecond = isRefused && this.#wasRefused
      this.#wasRefused = isRefused
      if (isSecond) return Effect.succeed(false)
      return isRefused ? Effect.as(pause, true) : Effect.succeed(true)
    })
  }
}

/** What a process is told may be lost with it, so nobody waits long for its answer before looking who has the session now. */
export const answerTime = "5 seconds"

/** Before a session is looked at again whose holder gives it back, or has it for a moment. */
export const pause: Effect.Effect<void> = Effect.sleep("100 millis")

/**
 * The first event after `state` that `is` accepts, once the run's process was told something; `None` where none comes in time. A run
 * that has ended by then is about to give its session back: that is waited for instead.
 */
export const news = <E extends RunEvent.Durable>(
  store: SessionStore.Store,
  sessionId: string,
  { end, seq }: Pick<RunState.RunState, "end" | "seq">,
  is: (event: RunEvent.Durable) => event is E
): Effect.Effect<Option.Option<E>, SessionStore.StoreError> =>
  end === undefined ? awaitEvent(store, sessionId, seq, is) : Effect.as(pause, Option.none())

/** The first event after the `seq` `after` that `is` accepts; `None` where none comes in time. */
const awaitEvent = <E extends RunEvent.Durable>(
  store: SessionStore.Store,
  sessionId: string,
  after: number,
  is: (event: RunEvent.Durable) => event is E
): Effect.Effect<Option.Option<E>, SessionStore.StoreError> =>
  store.watch(sessionId, after + 1).pipe(
    Stream.filter(is),
    Stream.runHead,
    Effect.timeoutOption(answerTime),
    Effect.map(Option.flatten)
  )
