/**
 * When an attempt at a model call has taken too long: as a whole, before its first part, or between two parts.
 *
 * Does not own how long that is (`Patience`), nor how the attempt is cut off then (`Leavable`).
 */
import * as Effect from "effect/Effect"
import * as RunError from "../../run/RunError.ts"
import type * as Leavable from "../fibers/Leavable.ts"
import type { Incoming } from "./Incoming.ts"
import type * as Patience from "./Patience.ts"

/** The shortest time between two looks at a gap that has not begun, in milliseconds; a shorter gap is not looked at more often. */
const shortestWait = 100

/** Fails when the whole call, the first part or the gap between two parts takes too long. */
export const of = (
  incoming: Incoming,
  { call, firstPart, gap }: Patience.Patience
): Leavable.Limit<never, RunError.ModelError> => {
  const over = () => {
    const { collector, firstPartAt, lastPartAt, startedAt } = incoming
    if (collector.finish !== undefined) return Infinity
    const at = incoming.now()
    const scope = firstPartAt === undefined ? "firstPart" as const : "gap" as const
    const limit = scope === "firstPart" ? firstPart : gap
    const left = limit - (at - lastPartAt)
    const callLeft = call - (at - startedAt)
    if (callLeft <= 0) return () => Effect.fail(timedOut("call", call))
    if (left <= 0) return () => Effect.fail(timedOut(scope, limit))
    // the first part may come meanwhile, and nothing else looks at the gap that begins with it
    return Math.min(left, callLeft, Math.max(gap, shortestWait))
  }
  return { millis: Math.min(firstPart, gap, call), over }
}

const scopes = {
  call: "the whole answer",
  firstPart: "the first part of the answer",
  gap: "the next part of the answer"
}

const timedOut = (scope: keyof typeof scopes, limit: number) =>
  new RunError.RetryableError({
    _tag: "TimedOut" as const,
    scope,
    message: `the model took more than ${limit} ms for ${scopes[scope]} (change timeouts.${scope} to allow more)`
  })
