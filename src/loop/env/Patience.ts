/**
 * How long an attempt at a model call may take: the time limits of a run, worked out once for all its turns.
 *
 * Does not own their defaults (`RunPolicy`), nor when one is over (`TimeLimit`).
 */
import * as Duration from "effect/Duration"
import type * as RunPolicy from "../../run/RunPolicy.ts"

/** in milliseconds */
export type Patience = Readonly<Record<"call" | "firstPart" | "gap", number>>

export const of = ({ call, firstPart, gap }: RunPolicy.Timeouts): Patience => ({
  call: Duration.toMillis(call),
  firstPart: Duration.toMillis(firstPart),
  gap: Duration.toMillis(gap)
})
