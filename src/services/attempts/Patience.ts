/**
 * How long an attempt at a model call may take, worked out from the time limits of single steps.
 *
 * Does not own their defaults (`RunPolicy`), nor when one is over (`TimeLimit`).
 */
import * as Duration from "effect/Duration"
import * as RunPolicy from "../../run/RunPolicy.ts"

/** in milliseconds */
export type Patience = Readonly<Record<"call" | "firstPart" | "gap", number>>

/** What is left out has its default. */
export const of = ({ call, firstPart, gap }: RunPolicy.TimeoutsInput): Patience => ({
  call: millis(call ?? RunPolicy.defaultTimeouts.call),
  firstPart: millis(firstPart ?? RunPolicy.defaultTimeouts.firstPart),
  gap: millis(gap ?? RunPolicy.defaultTimeouts.gap)
})

const millis = (time: Duration.Input): number => Duration.toMillis(Duration.fromInputUnsafe(time))
