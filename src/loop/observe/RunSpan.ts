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
import type * as RunError from "../../run/RunError.ts"
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
      const sink = new Seeing(span, drive, clock, fiber.getRef(RecordContent.RecordContent))
      const made = { span, sink }
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

/** Puts on the span what the drive publishes, and ends it with the drive. */
class Seeing implements Sink.Sink {
  readonly name = "spans"
  readonly #span: Tracer.Span
  readonly #drive: Sink.Drive
  readonly #clock: Clock.Clock
  readonly #hasContent: boolean
  #usage = Usage.zero

  constructor(span: Tracer.Span, drive: Sink.Drive, clock: Clock.Clock, hasContent: boolean) {
    this.#span = span
    this.#drive = drive
    this.#clock = clock
    this.#hasContent = hasContent
  }

  see(events: ReadonlyArray<RunEvent.RunEvent>): void {
    for (const event of events) this.#one(event)
  }

  close(result: Exit.Exit<unknown, RunError.RunError>, lost: string | undefined): void {
    const error = Option.map(Exit.findErrorOption(result), ({ reason }) => reason)
    try {
      if (Option.isSome(error)) this.#span.attribute(Conventions.errorType, error.value._tag)
      if (lost !== undefined) this.#ended(Ends.lost(lost))
    } finally {
      const exit = Option.isSome(error) ? Exit.fail(Spans.failureOf(error.value, this.#hasContent)) : Exit.void
      this.#span.end(this.#clock.currentTimeNanosUnsafe(), exit)
    }
  }

  #ended({ end, reason }: ReturnType<typeof Ends.of>): void {
    this.#span.attribute(Conventions.end, end)
    this.#span.attribute(Conventions.endReason, reason)
    Chat.tellUsage(this.#span, this.#usage)
  }

  #tell(name: string, attributes: Record<string, unknown>): void {
    this.#span.event(`fiberloop.${name}`, this.#clock.currentTimeNanosUnsafe(), attributes)
  }

  #one(event: RunEvent.RunEvent): void {
    const spent = RunEvent.spentBy(event)
    if (spent !== undefined) this.#usage = Usage.add(this.#usage, spent)
    switch (event._tag) {
      case "RetryScheduled":
        return this.#tell("retry", {
          [Conventions.turn]: event.turn,
          [Conventions.attempt]: event.attempt,
          [Conventions.errorType]: event.error._tag,
          "fiberloop.retry.delay": event.delay,
          "fiberloop.retry.source": event.source
        })
      case "ModelSwitched":
        return this.#tell("model_switched", {
          [Conventions.turn]: event.turn,
          from: Message.modelName(event.from),
          to: Message.modelName(event.to)
        })
      case "ContextCompacted":
        return this.#tell("compacted", { strategy: event.strategy, before: event.before, after: event.after })
      case "CompactionDiscarded":
        return this.#tell("compaction_failed", {
          [Conventions.inputTokens]: event.usage.inputTokens,
          [Conventions.outputTokens]: event.usage.outputTokens
        })
      case "NoticeAdded":
        return this.#tell("notice", { kind: event.kind })
      case "ApprovalRequested":
        return this.#tell("approval_requested", {
          [Conventions.toolName]: Sink.toolName(this.#drive, event.tool),
          [Conventions.callId]: event.callId
        })
      case "ApprovalResolved":
        return this.#tell("approval_resolved", { [Conventions.callId]: event.callId, approved: event.approved })
      case "AbortRequested":
        return this.#tell("abort_requested", { reason: event.reason })
      case "RunCompleted":
      case "RunLimited":
      case "RunSuspended":
      case "RunFailed":
      case "RunAborted":
        return this.#ended(Ends.of(event))
      default:
        return undefined
    }
  }
}
