/**
 * How long the attempt under way may still take: for adapters that wait for what an answer can do without, such as its usage.
 *
 * Does not own the limits (`TimeLimit`).
 */
import * as Context from "effect/Context"

/** Milliseconds until the attempt has taken too long, if nothing more of its answer comes. */
export type TimeLeft = () => number

/** Every attempt provides it to its stream. Default: there is no attempt, and no limit. */
export const TimeLeft = Context.Reference<TimeLeft>("fiberloop/services/attempts/TimeLeft", {
  defaultValue: () => () => Infinity
})
