/**
 * Orders the answers and aborts that this process writes to a session that no drive has: one after the other, as they come.
 * Sessions do not wait for each other, and a compaction by hand does not wait here: it takes its session itself.
 *
 * Does not own what is written, nor what other processes write: of two writers the store refuses one.
 */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"

interface Pen {
  readonly turn: Semaphore.Semaphore
  /** how many have it or wait for it; a pen without any is forgotten */
  users: number
}

export class Pens {
  readonly #pens = new Map<string, Pen>()

  /** Runs `self` once all that came before it are done. */
  with<A, E, R>(sessionId: string, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      Effect.sync(() => this.#take(sessionId)),
      ({ turn }) => turn.withPermit(self),
      (pen) =>
        Effect.sync(() => {
          if (--pen.users === 0) this.#pens.delete(sessionId)
        })
    )
  }

  #take(sessionId: string): Pen {
    const pen = this.#pens.get(sessionId) ?? { turn: Semaphore.makeUnsafe(1), users: 0 }
    pen.users++
    this.#pens.set(sessionId, pen)
    return pen
  }
}
