/**
 * When a strategy breaks: its compaction has then failed, as if it had said so, and whatever follows that strategy is next.
 *
 * Does not own when it takes too long (`CompactionTime`).
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as ContextManager from "../ContextManager.ts"
import * as Warning from "../Warning.ts"

type Making = Effect.Effect<ContextManager.Compaction, ContextManager.CompactionError>

/** A strategy, named `who` when it throws or dies. The log has none of its words; a warning says where it broke. */
export const contained = (who: string, compact: () => Making): Making =>
  Effect.catchCause(Effect.suspend(compact), (cause) =>
    Cause.hasDies(cause)
      ? Effect.andThen(
        Warning.warn(`${who} ${Warning.howOf(cause)}; so its compaction has failed`),
        Effect.fail(new ContextManager.CompactionError({ message: `${who} failed unexpectedly` }))
      )
      : Effect.failCause(cause))
