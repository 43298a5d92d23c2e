/**
 * Waiting for another process that drives a session's run: for what its log says of it, and for the process to give the session back.
 *
 * Does not own what that process is told (`Aborting`, `Deciding`, `Sending`).
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as RunState from "../../run/RunState.ts"
import type * as SessionStore from "../../services/SessionStore.ts"

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
