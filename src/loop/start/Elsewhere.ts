/**
 * Waiting for another process that drives a session's run: for what its log says of it, and for the process to give the session back.
 *
 * Does not own what that process is told (`Aborting`, `Deciding`, `Sending`).
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as SessionStore from "../../services/SessionStore.ts"

/** What a process is told may be lost with it, so nobody waits long for its answer before looking who has the session now. */
export const answerTime = "5 seconds"

/** Before a session is looked at again whose holder gives it back, or has it for a moment. */
export const pause: Effect.Effect<void> = Effect.sleep("100 millis")

/** The first event after the `seq` `after` that `is` accepts; `None` where none comes in time. */
export const awaitEvent = <E extends RunEvent.Durable>(
  store: SessionStore.SessionStore["Service"],
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
