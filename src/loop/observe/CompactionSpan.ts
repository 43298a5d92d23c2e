/**
 * The span of a compaction, below that of its drive or of the caller who asked for it: what its strategy does is below it.
 *
 * Does not own the calls of its model (`Chat`), nor the events on the span of a drive (`RunSpan`).
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as ContextManager from "../../services/ContextManager.ts"
import * as Conventions from "./Conventions.ts"
import * as Spans from "./Spans.ts"

/** The run whose context it is, and what was too much. */
interface Subject {
  readonly metadata: ContextManager.View["metadata"]
  readonly cause: RunEvent.CompactionCause
}

type Compacted = Extract<RunEvent.Draft, { _tag: "ContextCompacted" }>
type Failure = ContextManager.CompactionError | RunError.RunError

const compaction: Spans.Kind<Subject, Result.Result<Compacted, Failure>> = {
  nameOf: () => "compact_context",
  kind: "internal",
  introduce: (span, { cause, metadata }) => {
    span.attribute(Conventions.conversationId, metadata.sessionId)
    span.attribute(Conventions.runId, metadata.runId)
    span.attribute(Conventions.compactionCause, cause)
  },
  describe: (span, _, result, hasContent) => {
    if (Result.isFailure(result)) {
      const reason = reasonOf(result.failure)
      span.attribute(Conventions.errorType, reason._tag)
      return Spans.failureOf(reason, hasContent)
    }
    const { after, before, strategy } = result.success
    span.attribute(Conventions.compactionStrategy, strategy)
    span.attribute(Conventions.compactionBefore, before)
    span.attribute(Conventions.compactionAfter, after)
    return undefined
  }
}

const reasonOf = (failure: Failure) =>
  failure._tag === "CompactionError" ? { _tag: "CompactionFailed", message: failure.message } : failure.reason

/** Runs the compaction in a span of its own; for drives whose spans somebody sees. */
export const around = (
  subject: Subject,
  self: Effect.Effect<Compacted, Failure>
): Effect.Effect<Compacted, Failure> =>
  Effect.flatMap(Spans.around(compaction, subject, Effect.result(self)), Effect.fromResult)
