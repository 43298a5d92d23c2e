/**
 * The span of a drive, and what its events say on it.
 *
 * Does not own the spans of model calls and tools below it (`Chat`, `ToolSpan`).
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import * as Message from "../../run/Message.ts"
import type * as Pointer from "../../run/Pointer.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import * as Usage from "../../run/Usage.ts"
import * as RecordContent from "../../services/RecordContent.ts"
import * as Chat from "./Chat.ts"
import * as Conventions from "./Conventions.ts"
import * as Ends from "./Ends.ts"
import * as Sink from "./Sink.ts"
import * as Spans from "./Spans.ts"

/** The span of a drive; where somebody sees it, the sink puts on it what happens besides model calls and tools, and ends it. */
export interface RunSpan {
  readonly span: Tracer.Span
  readonly sink: Sink.Sink | undefined
}

/**
 * Begins the span of a drive, below the caller's. Where nobody sees spans, it still exists, as a parent and for the ids in logs,
 * but keeps nothing of what happens: it begins as `unseen` did.
 */
export const make = (
  drive: Sink.Drive,
  model: Message.ModelRef,
  clock: Clock.Clock,
  unseen: Tracer.Span | undefined
): Effect.Effect<RunSpan> => {
  if (unseen === undefined) return seen(drive, model, clock)
  const span = unseen instanceof Tracer.NativeSpan ? new Unseen(unseen, clock.currentTimeNanosUnsafe()) : unseen
  return Effect.succeed({ span, sink: undefined })
}

const seen = (drive: Sink.Drive, model: Message.ModelRef, clock: Clock.Clock): Effect.Effect<RunSpan> =>
  Effect.withFiber((fiber) =>
    Effect.flatMap(spanOf(drive.agent), (span) => {
      const broken = Spans.guarded(spanNameOf(drive.agent), () => {
        Chat.tellModel(span, model, "invoke_agent")
        span.attribute(Conventions.agentName, drive.agent)
        span.attribute(Conventions.conversationId, drive.sessionId)
        span.attribute(Conventions.runId, drive.runId)
      })
      const close = closing(span, clock, fiber.getRef(RecordContent.RecordContent))
      const made = { span, sink: { name: "spans", see: see(span, drive, clock), close } }
      return broken === undefined ? Effect.succeed(made) : Effect.as(broken, made)
    })
  )

/** The ids of a span that somebody will see. */
export const traceOf = ({ sink, span: { sampled, spanId, traceId } }: RunSpan): Pointer.Trace | undefined =>
  sink !== undefined && sampled && areIds(traceId, spanId) ? { traceId, spanId } : undefined

/**
 * Links the span of a drive to that of the drive before it, which may be in another trace. The log may be from elsewhere: if its ids
 * are not valid, a collector would refuse all that is sent with them.
 */
export const follow = (span: Tracer.Span, before: Pointer.Trace): void => {
  if (!areIds(before.traceId, before.spanId)) return
  span.addLinks([{ span: Tracer.externalSpan({ ...before, sampled: true }), attributes: {} }])
}

/** As W3C Trace Context has them, or B3, whose trace ids may be half as long. */
const areIds = (traceId: string, spanId: string): boolean =>
  /^(?:[\da-f]{16}){1,2}$/.test(traceId) && /^[\da-f]{16}$/.test(spanId)

/** Begins the span of a drive of this agent; where nobody sees spans, later ones begin as this one does. */
export const spanOf = (agent: string): Effect.Effect<Tracer.Span> => Effect.makeSpan(spanNameOf(agent))

const spanNameOf = (agent: string): string => `invoke_agent ${agent}`

/** Keeps no events: effect's logger puts each logged line on the current span, and a long drive has many. */
class Unseen extends Tracer.NativeSpan {
  constructor({ annotations, kind, links, name, parent, sampled }: Tracer.NativeSpan, startTime: bigint) {
    super({ annotations, kind, links: links.slice(), name, parent, sampled, startTime })
  }
  override event(): void {}
}

const closing = (span: Tracer.Span, clock: Clock.Clock, hasContent: boolean): Sink.Close => (result) => {
  const error = Option.map(Exit.findErrorOption(result), ({ reason }) => reason)
  try {
    if (Option.isSome(error)) span.attribute(Conventions.errorType, error.value._tag)
  } finally {
    const exit = Option.isSome(error) ? Exit.fail(Spans.failureOf(error.value, hasContent)) : Exit.void
    span.end(clock.currentTimeNanosUnsafe(), exit)
  }
}

const see = (span: Tracer.Span, drive: Sink.Drive, clock: Clock.Clock): Sink.See => {
  let usage = Usage.zero
  const tell = (name: string, attributes: Record<string, unknown>) =>
    span.event(`fiberloop.${name}`, clock.currentTimeNanosUnsafe(), attributes)

  const one = (event: RunEvent.RunEvent) => {
    const spent = RunEvent.spentBy(event)
    if (spent !== undefined) usage = Usage.add(usage, spent)
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
          from: Message.modelName(event.from),
          to: Message.modelName(event.to)
        })
      case "ContextCompacted":
        return tell("compacted", { strategy: event.strategy, before: event.before, after: event.after })
      case "CompactionDiscarded":
        return tell("compaction_failed", {
          [Conventions.inputTokens]: event.usage.inputTokens,
          [Conventions.outputTokens]: event.usage.outputTokens
        })
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
        Chat.tellUsage(span, usage)
        return undefined
      }
      default:
        return undefined
    }
  }
  return (events) => events.forEach(one)
}
