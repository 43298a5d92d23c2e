/** A span around an effect whose failures are data: its child spans are the effect's, its status is what the data says. */
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"
import * as RecordContent from "../../services/RecordContent.ts"

/** What a span says of a failure: the tag, and only where content is recorded the words. */
export class Failure extends Error {
  constructor(tag: string, message = tag) {
    super(message)
    this.name = tag
    this.stack = `${tag}: ${message}`
  }
}

export const failureOf = (
  { _tag, message }: { readonly _tag: string; readonly message: string },
  hasContent: boolean
): Failure => new Failure(_tag, hasContent ? message : _tag)

export interface Options<A> {
  readonly name: string
  readonly kind: Tracer.SpanKind
  readonly attributes: Record<string, unknown>
  /** Says more of what came out of it; what it gives is what the span fails with. `hasContent`: content is recorded. */
  readonly describe: (span: Tracer.Span, value: A, hasContent: boolean) => Failure | undefined
}

/** `make` gets the span, which is not to be ended. Interrupting it ends the span as interrupted. */
export const around = <A>(
  { attributes, describe, kind, name }: Options<A>,
  make: (span: Tracer.Span) => Effect.Effect<A>
): Effect.Effect<A> =>
  Effect.suspend(() => {
    let given: { readonly value: A } | undefined
    const spanned = Effect.useSpan(name, { kind, attributes }, (span) =>
      Effect.flatMap(Effect.provideService(make(span), Tracer.ParentSpan, span), (value) =>
        Effect.flatMap(RecordContent.RecordContent, (hasContent) => {
          given = { value }
          const failure = describe(span, value, hasContent)
          return failure === undefined ? Effect.void : Effect.fail(failure)
        })))
    return Effect.map(Effect.ignore(spanned), () =>
      given!.value)
  })
