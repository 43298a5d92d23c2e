/** The span of a drive, and what its events say on it. */
import type * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Tracer from "effect/Tracer"
import type * as Message from "../../run/Message.ts"
import type * as RunError from "../../run/RunError.ts"
import * as Usage from "../../run/Usage.ts"
import type * as Env from "../drive/Env.ts"
import type * as Live from "../drive/Live.ts"
import * as Chat from "./Chat.ts"
import * as Conventions from "./Conventions.ts"
import * as Ends from "./Ends.ts"
import * as Sink from "./Sink.ts"
import * as Spans from "./Spans.ts"

/** Runs the drive in a span of its own; the run's result is there when `make` has ended. */
export const around = (
  { model }: Pick<Env.Services, "model">,
  { brief, runId, sessionId }: Env.Request,
  live: Pick<Live.Live, "result">,
  make: (span: Tracer.Span) => Effect.Effect<void>
): Effect.Effect<void> =>
  Effect.asVoid(Spans.around({
    name: `invoke_agent ${brief.agent}`,
    kind: "internal",
    attributes: {
      ...Chat.attributesOf(model.info),
      [Conventions.operationName]: "invoke_agent",
      [Conventions.agentName]: brief.agent,
      [Conventions.conversationId]: sessionId,
      [Conventions.runId]: runId
    },
    describe: (span, result: Result.Result<unknown, RunError.RunError>, hasContent) => {
      if (Result.isSuccess(result)) return undefined
      const { reason } = result.failure
      span.attribute(Conventions.errorType, reason._tag)
      return new Spans.Failure(reason._tag, hasContent ? reason.message : undefined)
    }
  }, (span) => Effect.andThen(make(span), Effect.result(Deferred.await(live.result)))))

/** Puts what happens besides model calls and tools on the span, and at the end what it came to. */
export const sink = (span: Tracer.Span, drive: Sink.Drive, clock: Clock.Clock): Sink.Sink => {
  let usage = Usage.zero
  const tell = (name: string, attributes: Record<string, unknown>) =>
    span.event(`fiberloop.${name}`, clock.currentTimeNanosUnsafe(), attributes)

  const see: Sink.Sink["see"] = (event) => {
    if ("usage" in event && event._tag !== "TurnFinished" && event._tag !== "ToolSettled") {
      usage = Usage.add(usage, event.usage)
    }
    switch (event._tag) {
      case "RetryScheduled":
        return tell("retry", {
          [Conventions.turn]: event.turn,
          [Conventions.attempt]: event.attempt,
          [Conventions.errorType]: event.error._tag,
          "fiberloop.retry.delay": event.delay,
          "fiberloop.retry.source": event.source
        })
      case "ModelSwitched":
        return tell("model_switched", {
          [Conventions.turn]: event.turn,
          from: nameOf(event.from),
          to: nameOf(event.to)
        })
      case "ContextCompacted":
        return tell("compacted", { strategy: event.strategy, before: event.before, after: event.after })
      case "NoticeAdded":
        return tell("notice", { kind: event.kind })
      case "ApprovalRequested":
        return tell("approval_requested", {
          [Conventions.toolName]: Sink.toolName(drive, event.tool),
          [Conventions.toolCallId]: event.callId
        })
      case "ApprovalResolved":
        return tell("approval_resolved", { [Conventions.toolCallId]: event.callId, approved: event.approved })
      case "AbortRequested":
        return tell("abort_requested", { reason: event.reason })
      case "RunCompleted":
      case "RunLimited":
      case "RunSuspended":
      case "RunFailed":
      case "RunAborted": {
        const { end, reason } = Ends.of(event)
        span.attribute(Conventions.end, end)
        span.attribute(Conventions.endReason, reason)
        for (const [key, value] of Chat.usageOf(usage)) span.attribute(key, value)
        return undefined
      }
      default:
        return undefined
    }
  }
  return { see }
}

const nameOf = ({ name, provider }: Message.ModelRef): string => `${provider}/${name}`
