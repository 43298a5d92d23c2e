/**
 * Orders the answers and aborts that this process writes to a session that no drive has: one after the other, as they come.
 * Sessions do not wait for each other, and a compaction by hand does not wait here: it takes its session itself.
 *
 * Does not own what is written, nor what other processes write: of two writers the store refuses one.
 */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"

interface Lock {
  readonly semaphore: Semaphore.Semaphore
  /** how many hold it or wait for it; a lock without any is forgotten */
  users: number
}

export class SessionLocks {
  readonly #locks = new Map<string, Lock>()

  /** Runs `self` once all that came before it are done. */
  with<A, E, R>(sessionId: string, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      Effect.sync(() => this.#take(sessionId)),
      ({ semaphore }) => semaphore.withPermit(self),
      (lock) =>
        Effect.sync(() => {
          if (--lock.users === 0) this.#locks.delete(sessionId)
        })
    )
  }

  #take(sessionId: string): Lock {
    const lock = this.#locks.get(sessionId) ?? { semaphore: Semaphore.makeUnsafe(1), users: 0 }
    lock.users++
    this.#locks.set(sessionId, lock)
    return lock
  }
}
