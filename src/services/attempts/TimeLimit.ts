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
  patience: Patience.Patience
): Leavable.Limit<never, RunError.ModelError> => {
  const { call, firstPart, gap } = patience
  const over = () => {
    if (incoming.collector.finish !== undefined) return Infinity
    const { callLeft, partLeft, scope } = leftOf(incoming, patience)
    if (callLeft <= 0) return () => Effect.fail(timedOut("call", call))
    if (partLeft <= 0) return () => Effect.fail(timedOut(scope, patience[scope]))
    // the first part may come meanwhile, and nothing else looks at the gap that begins with it
    return Math.min(partLeft, callLeft, Math.max(gap, shortestWait))
  }
  return { millis: Math.min(firstPart, gap, call), over }
}

/** Milliseconds until it fails, if no part comes. */
export const left = (incoming: Incoming, patience: Patience.Patience): number => {
  const { callLeft, partLeft } = leftOf(incoming, patience)
  return Math.min(callLeft, partLeft)
}

const leftOf = (incoming: Incoming, patience: Patience.Patience) => {
  const at = incoming.now()
  const scope = incoming.firstPartAt === undefined ? "firstPart" as const : "gap" as const
  return {
    scope,
    partLeft: patience[scope] - (at - incoming.lastPartAt),
    callLeft: patience.call - (at - incoming.startedAt)
  }
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
