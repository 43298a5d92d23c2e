/**
 * How work that may never wait lets others go first: those that it woke at once, the whole process every so often.
 *
 * Does not own the yields of a fiber that computes for long; its scheduler does.
 */
import * as Effect from "effect/Effect"

/** A turn of the event loop costs a fifth of a step that waits for nothing; this many steps take a millisecond or two. */
const mostInARow = 64

const settled = Promise.resolve()

/** Calls `then` once what runs now is over. Node's `queueMicrotask` would make an asynchronous resource for each. */
export const soon = (then: () => void): void => {
  void settled.then(then)
}

/** how often others went first in this turn of the event loop, whichever fiber let them */
let inARow = 0

const startAnew = () => {
  inARow = 0
}

/**
 * Goes on after those that this fiber has woken, such as a reader, and what they do at once, such as leaving. After 64 times in
 * one turn of the event loop, all go on in its next turn, after timers, sockets and the fibers that wait for them: nobody waits
 * long for models that never wait, however many there are.
 */
export const letOthersGo: Effect.Effect<void> = Effect.suspend(() => {
  if (inARow === mostInARow) return Effect.yieldNow
  inARow++
  // before any fiber that goes on in the next turn
  if (inARow === mostInARow) setImmediate(startAnew)
  return afterMicrotasks
})

const afterMicrotasks = Effect.callback<void>((resume) => soon(() => resume(Effect.void)))
