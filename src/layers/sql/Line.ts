/** A line: one effect at a time, in the order in which they came. Who finds nobody in it pays for no wait. */
import * as Effect from "effect/Effect"

export interface Line {
  /** Runs what `self` gives when it is its turn, uninterruptible, as is the wait for that. */
  readonly within: <A, E>(self: () => Effect.Effect<A, E>) => Effect.Effect<A, E>
}

export const make = (): Line => {
  let isTaken = false
  const waiting: Array<() => void> = []

  const leave = () => {
    const next = waiting.shift()
    if (next === undefined) isTaken = false
    // behind what runs now, or those who wait would be a stack
    else queueMicrotask(next)
    return undefined
  }

  const enter = Effect.callback<void>((resume) => {
    // it may be free by now: between the look at it and the wait the fiber may have yielded
    if (isTaken) waiting.push(() => resume(Effect.void))
    else resume(Effect.void)
    isTaken = true
  })

  const go = <A, E>(self: () => Effect.Effect<A, E>): Effect.Effect<A, E> => {
    try {
      return Effect.onExitPrimitive(self(), leave)
    } catch (cause) {
      leave()
      throw cause
    }
  }

  return {
    within: (self) =>
      Effect.uninterruptibleMask(() => {
        if (isTaken) return Effect.flatMap(enter, () => go(self))
        isTaken = true
        return go(self)
      })
  }
}
