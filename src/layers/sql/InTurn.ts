/** What is done one at a time, in the order in which it came; at once where nothing is under way. */
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"

/** Uninterruptible, also while it waits. What `next` does before it returns is done when its turn comes. */
export type InTurn = <A, E>(next: () => Effect.Effect<A, E>) => Effect.Effect<A, E>

export const make = (): InTurn => {
  let isBusy = false
  const waiting: Array<Latch.Latch> = []

  const over = () => {
    const turn = waiting.shift()
    if (turn === undefined) isBusy = false
    // behind what runs now, or those that wait would be a stack
    else queueMicrotask(() => turn.openUnsafe())
  }

  const ending = <A, E>(self: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.matchCauseEffect(self, {
      onFailure: (cause) => {
        over()
        return Effect.failCause(cause)
      },
      onSuccess: (value) => {
        over()
        return Effect.succeed(value)
      }
    })

  return (next) =>
    Effect.uninterruptibleMask(() => {
      if (isBusy) {
        const turn = Latch.makeUnsafe(false)
        waiting.push(turn)
        return ending(Effect.flatMap(turn.await, next))
      }
      // where it throws, nothing is under way
      const first = next()
      isBusy = true
      return ending(first)
    })
}
