/**
 * A span around an effect whose failures are data: the effect's spans are below it, and its status is what the data says.
 *
 * Does not own what a span is of (`Chat`, `ToolSpan`), nor the span of a drive (`RunSpan`).
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Tracer from "effect/Tracer"
import * as RecordContent from "../../services/RecordContent.ts"
import * as Warning from "../../services/Warning.ts"

/** What a span says of a failure: the tag, and the message only where content is recorded. */
class Failure extends Error {
  constructor(tag: string, message: string) {
    super(message)
    this.name = tag
    this.stack = `${tag}: ${message}`
  }
}

export const failureOf = (
  { _tag, message = _tag }: { readonly _tag: string; readonly message?: string },
  hasContent: boolean
): Error => new Failure(_tag, hasContent ? message : _tag)

/** What there is to say of one kind of effect; each is about a `Subject` of its own. */
export interface Kind<in Subject, in A> {
  readonly nameOf: (subject: Subject) => string
  readonly kind: Tracer.SpanKind
  /** Says what the effect is, before it runs. */
  readonly introduce: (span: Tracer.Span, subject: Subject, hasContent: boolean) => void
  /** Says what came of it; the span fails with the error that this returns. */
  readonly describe: (span: Tracer.Span, subject: Subject, value: A, hasContent: boolean) => Error | undefined
}

/**
 * Interrupting it ends the span as interrupted. Where the span breaks, a warning says so, and `self` goes on. For drives whose
 * spans somebody sees; in others `self` runs without a span, and keeps its parent span.
 */
export const around = <Subject, A>(
  kind: Kind<Subject, A>,
  subject: Subject,
  self: Effect.Effect<A>
): Effect.Effect<A> => Effect.withFiber((fiber) => seen(kind, subject, self, fiber))

/** Says that the span of this name broke. */
const warn = (name: string): Effect.Effect<void> => Warning.warn(`the span "${name}" failed and is incomplete`)

/** Uses the span of that name; returns a warning where that broke. */
export const guarded = (name: string, use: () => void): Effect.Effect<void> | undefined => {
  try {
    use()
    return undefined
  } catch {
    return warn(name)
  }
}

const seen = <Subject, A>(
  { describe, introduce, kind, nameOf }: Kind<Subject, A>,
  subject: Subject,
  self: Effect.Effect<A>,
  fiber: Fiber.Fiber<unknown, unknown>
): Effect.Effect<A> => {
  const name = nameOf(subject)
  const hasContent = fiber.getRef(RecordContent.RecordContent)
  const clock = fiber.getRef(Clock.Clock)
  const end = (span: Tracer.Span, exit: Exit.Exit<A>) =>
    guarded(name, () => {
      let failure: Error | undefined
      try {
        failure = Exit.isSuccess(exit) ? describe(span, subject, exit.value, hasContent) : defect(exit)
      } finally {
        // a tracer sees the exit, whose value is content
        const told = Exit.isSuccess(exit) ? Exit.void : exit
        span.end(clock.currentTimeNanosUnsafe(), failure === undefined ? told : Exit.fail(failure))
      }
    })
  return Effect.flatMap(Effect.catchCause(Effect.makeSpan(name, { kind }), () => Effect.undefined), (span) => {
    if (span === undefined) return Effect.andThen(warn(name), self)
    const broken = guarded(name, () => introduce(span, subject, hasContent))
    const below = Effect.provideService(self, Tracer.ParentSpan, span)
    const ended = Effect.onExit(below, (exit) => end(span, exit) ?? Effect.void)
    return broken === undefined ? ended : Effect.andThen(broken, ended)
  })
}

/** A bug, whose own message may say anything and is left out; `undefined` where the effect was interrupted. */
const defect = ({ cause }: Exit.Failure<unknown, never>): Error | undefined =>
  Cause.hasInterruptsOnly(cause) ? undefined : new Failure("Unknown", "Unknown")
