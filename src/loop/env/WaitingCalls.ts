/**
 * The calls of a drive that wait for a person: they are told that somebody elsewhere has decided. What was decided is in the log.
 *
 * Does not own what may be decided, nor how that is recorded (`Answering`).
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

export class WaitingCalls {
  /** a decision that is recorded now is taken up by this drive */
  isOpen = true
  readonly #waiting = new Map<string, Deferred.Deferred<void>>()

  /** Completes with the next decision about this call, or at once where `isDecided`. */
  decided(callId: string, isDecided: () => boolean): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (isDecided()) return Effect.void
      const waiting = Deferred.makeUnsafe<void>()
      this.#waiting.set(callId, waiting)
      return Deferred.await(waiting)
    })
  }

  tell(callId: string): void {
    const waiting = this.#waiting.get(callId)
    if (waiting !== undefined) Deferred.doneUnsafe(waiting, Effect.void)
  }

  /** The drive takes up no more decisions. */
  close(): void {
    this.isOpen = false
  }
}
