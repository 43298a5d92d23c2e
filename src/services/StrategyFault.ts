/**
 * When a strategy breaks, or takes too long: its compaction has then failed, as if it had said so, and whatever follows that
 * strategy is next.
 *
 * Does not own how long it may take (`Timeouts`), nor how it is cut off (`Leavable`).
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Foreign from "../run/Foreign.ts"
import * as RunPolicy from "../run/RunPolicy.ts"
import * as ContextManager from "./ContextManager.ts"
import * as Leavable from "./fibers/Leavable.ts"
import * as LeaveBehind from "./LeaveBehind.ts"
import * as Timeouts from "./Timeouts.ts"
import * as Warning from "./Warning.ts"

type Making = Effect.Effect<ContextManager.Compaction, ContextManager.CompactionError>

/** What a strategy makes of a request: it dies where the strategy throws or returns no effect. */
export const asked = (
  manager: Pick<ContextManager.ContextManager["Service"], "compact">,
  request: ContextManager.Request
): Making => Effect.suspend(() => made(manager.compact(request)))

const made = (given: Making): Making => Foreign.isEffect(given) ? given : noEffect

const noEffect = Effect.die("it returned no Effect")

/**
 * A strategy, named `who` when it dies, interrupts itself or fails with another error. The log has none of its words; a warning
 * says where it broke. On a fiber of its own it may even interrupt that.
 */
export const contained = (who: string, self: Making): Making =>
  // after an interruption from outside nothing is caught
  Effect.catchCause(self, (cause) =>
    Cause.hasInterruptsOnly(cause) || cause.reasons.some(isBroken)
      ? Effect.andThen(
        Warning.warn(`${who} ${Warning.howOf(cause)}; so its compaction has failed`),
        failed(`${who} ${Cause.hasInterruptsOnly(cause) ? "interrupted itself" : "failed unexpectedly"}`)
      )
      : Effect.failCause(cause))

const isBroken = (reason: Cause.Reason<ContextManager.CompactionError>): boolean =>
  Cause.isDieReason(reason) || (Cause.isFailReason(reason) && !isOwn(reason.error))

const isOwn = (error: ContextManager.CompactionError): boolean =>
  Foreign.look(() => error._tag === "CompactionError", false)

/** A strategy, named `who` when it fails: it is cut off once its time is over. */
export const limited = (
  who: string,
  { compaction = RunPolicy.defaultTimeouts.compaction }: RunPolicy.TimeoutsInput,
  self: Making
): Making => {
  const duration = Duration.fromInputUnsafe(compaction)
  const message = `${who} took longer than ${Duration.format(duration)}, the limit of timeouts.compaction`
  return Effect.timeoutOrElse(self, { duration, orElse: () => failed(message) })
}

/** What one of several strategies returns, within the time that it has, and contained. */
export const within = (who: string, self: Making): Making =>
  Effect.flatMap(
    Timeouts.Timeouts,
    (timeouts) => limited(who, timeouts, contained(who, Leavable.run(self, leave)))
  )

const leave = Effect.flatMap(LeaveBehind.LeaveBehind, (leave) => leave("compaction"))

const failed = (message: string) => Effect.fail(new ContextManager.CompactionError({ message }))
