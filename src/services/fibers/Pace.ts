/**
 * How work that may never wait lets others go first: at once those whom it woke, and every so often all of the process.
 *
 * Does not own the yields of a fiber that computes for long; those are its scheduler's.
 */
import * as Effect from "effect/Effect"

/** A turn of the event loop costs a fifth of a step that waits for nothing; of these so many take a millisecond or two. */
const mostInARow = 64

/** how often others went first since the event loop had its turn, whoever let them */
let inARow = 0

/**
 * Goes on behind whom this fiber woke by now, such as a reader, and what that does at once, such as to leave. Every 64th time in
 * this process it goes on behind timers, sockets and fibers that wait for their turn as well: nobody waits long for a model that
 * never does.
 */
export const letOthersGo: Effect.Effect<void> = Effect.suspend(() => {
  inARow = (inARow + 1) % mostInARow
  return inARow === 0 ? Effect.yieldNow : behindMicrotasks
})

const behindMicrotasks = Effect.callback<void>((resume) => queueMicrotask(() => resume(Effect.void)))
