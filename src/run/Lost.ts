/**
 * What is lost to attempts at model calls that do not count.
 *
 * Does not own how much a run may lose; that is a setting (`RetryPolicy`).
 */
import * as Schema from "effect/Schema"

export const Lost = Schema.Struct({
  /** how often the same model was tried again */
  retries: Schema.Finite,
  /** milliseconds that the attempts took, and the waits after them */
  lostTime: Schema.Finite
})
export type Lost = typeof Lost.Type

export const nothing: Lost = { retries: 0, lostTime: 0 }

/** An attempt that took so many milliseconds; `delay` is the wait before the next one at the same model, if there is one. */
export const attempt = (duration: number, delay: number | undefined): Lost => ({
  retries: delay === undefined ? 0 : 1,
  lostTime: duration + (delay ?? 0)
})

export const add = (self: Lost, other: Lost): Lost => ({
  retries: self.retries + other.retries,
  lostTime: self.lostTime + other.lostTime
})
