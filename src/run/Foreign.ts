/**
 * Looks at what foreign code threw, failed with or returned. Even a look may throw: a revoked proxy cannot be asked what it is.
 *
 * Does not own what such a value means, nor what is said of it (`Warning`).
 */
import * as Effect from "effect/Effect"

/** What the look finds; `otherwise` where it throws. */
export const look = <A, B>(at: () => A, otherwise: B): A | B => {
  try {
    return at()
  } catch {
    return otherwise
  }
}

/**
 * What untyped code returns may be no effect. Nobody waits for a promise that it returns instead: one that fails does so unheard, and ends
 * no process.
 */
export const isEffect = (returned: unknown): returned is Effect.Effect<any, any, any> => {
  if (look(() => Effect.isEffect(returned), false)) return true
  look(() => {
    if (returned instanceof Promise) returned.catch(() => {})
  }, undefined)
  return false
}
