/**
 * When a strategy takes too long: its compaction has then failed, and whatever follows that strategy is next.
 *
 * Does not own how long that is (`Timeouts`), nor how a strategy is cut off (`Leavable`).
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as RunPolicy from "../../run/RunPolicy.ts"
import * as ContextManager from "../ContextManager.ts"
import * as LeaveBehind from "../LeaveBehind.ts"
import * as Timeouts from "../Timeouts.ts"
import * as Leavable from "./Leavable.ts"

type Making = Effect.Effect<ContextManager.Compaction, ContextManager.CompactionError>

/** A strategy, named `who` when it fails: it is cut off once its time is over. */
export const limited = (
  who: string,
  { compaction = RunPolicy.defaultTimeouts.compaction }: RunPolicy.TimeoutsInput,
  self: Making
): Making => {
  const duration = Duration.fromInputUnsafe(compaction)
  const message = `${who} took longer than ${Duration.format(duration)}, the limit of timeouts.compaction`
  return Effect.timeoutOrElse(self, {
    duration,
    orElse: () => Effect.fail(new ContextManager.CompactionError({ message }))
  })
}

/** What one of several strategies returns, within the time that it has. */
export const within = (who: string, self: Making): Making =>
  Effect.flatMap(Timeouts.Timeouts, (timeouts) => limited(who, timeouts, Leavable.run(self, leave)))

const leave = Effect.flatMap(LeaveBehind.LeaveBehind, (leave) => leave("compaction"))
