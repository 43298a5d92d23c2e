/**
 * Answers and aborts that are written to a session which no drive has: in one process one after the other, in the order in which they
 * come. Sessions do not wait for each other, and a compaction by hand does not wait here: it takes its session itself.
 *
 * Does not own what is written, nor that other processes write: a store refuses one of two.
 */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"

interface Pen {
  readonly turn: Semaphore.Semaphore
  /** that have it, or wait for it: without any it is forgotten */
  users: number
}

export class Pens {
  readonly #pens = new Map<string, Pen>()

  /** Runs `self` once all are done that came before. */
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
