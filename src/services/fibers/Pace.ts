/**
 * How work that may never wait lets others go first: at once those whom it woke, and every so often all of the process.
 *
 * Does not own the yields of a fiber that computes for long; those are its scheduler's.
 */
import * as Effect from "effect/Effect"

/** A turn of the event loop costs a fifth of a step that waits for nothing; of these so many take a millisecond or two. */
const mostInARow = 64

/** how often others went first in this turn of the event loop, whoever let them */
let inARow = 0

const startAnew = () => {
  inARow = 0
}

/**
 * Goes on after those that this fiber has woken, such as a reader, and what they do at once, such as to leave. After 64 times in
 * one turn of the event loop, all go on in its next one, after timers, sockets and fibers that wait for theirs: nobody waits
 * long for models that never do, however many there are.
 */
export const letOthersGo: Effect.Effect<void> = Effect.suspend(() => {
  if (inARow === mostInARow) return Effect.yieldNow
  inARow++
  // before any that go on in the next turn
  if (inARow === mostInARow) setImmediate(startAnew)
  return afterMicrotasks
})

const afterMicrotasks = Effect.callback<void>((resume) => queueMicrotask(() => resume(Effect.void)))
