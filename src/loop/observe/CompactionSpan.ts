/**
 * The span of a compaction, below that of its drive or of the caller who asked for it: what its strategy does is below it.
 *
 * Does not own the calls of its model (`Chat`), nor the events on the span of a drive (`RunSpan`).
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as ContextManager from "../../services/ContextManager.ts"
import * as Conventions from "./Conventions.ts"
import * as Spans from "./Spans.ts"
import type * as Telemetry from "./Telemetry.ts"

type Compacted = Extract<RunEvent.Draft, { _tag: "ContextCompacted" }>
type Failure = ContextManager.CompactionError | RunError.RunError

const compaction: Spans.Kind<ContextManager.Request, Result.Result<Compacted, Failure>> = {
  nameOf: () => "compact_context",
  kind: "internal",
  introduce: (span, request) => {
    const { metadata } = request
    span.attribute(Conventions.conversationId, metadata.sessionId)
    span.attribute(Conventions.runId, metadata.runId)
    span.attribute(Conventions.compactionCause, ContextManager.causeOf(request))
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

/** Runs the compaction in a span of its own, where somebody sees it. */
export const around = (
  telemetry: Telemetry.Telemetry,
  request: ContextManager.Request,
  self: Effect.Effect<Compacted, Failure>
): Effect.Effect<Compacted, Failure> =>
  telemetry.isTraced
    ? Effect.flatMap(Spans.around(compaction, request, Effect.result(self)), Effect.fromResult)
    : self
