/** Whether spans go anywhere: those of effect's own tracer do not, and cost as much as the work that they cover. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { identity } from "effect/Function"
import * as Tracer from "effect/Tracer"

/** A tracer that is not effect's own sees the spans of this fiber. */
export const isSeen = ({ cache }: Fiber.Fiber<unknown, unknown>): boolean =>
  cache.tracerEnabled && cache.tracer !== undefined && cache.tracer !== Tracer.nativeTracer

/** What `self` returns, in a span of this name if that is seen. Spans that it makes are beside this one. */
export const around = <A, E, R>(name: string, self: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => isSeen(fiber) ? Effect.useSpan(name, self) : self())

/** Puts what goes on after a span below what the span is below, where it is not below one that is over. */
export type Beyond = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * Runs what `self` returns in a span of this name if that is seen; otherwise without any span, also of what it is made of. `beyond` is for
 * what it begins, or leaves to a scope, that goes on after the span.
 */
export const spanned = <A, E, R>(
  name: string,
  self: (beyond: Beyond) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    if (!isSeen(fiber)) return Effect.withTracerEnabled(self(identity), false)
    const above = Context.getOption(fiber.context, Tracer.ParentSpan)
    const outside = Context.addOrOmit(Tracer.ParentSpan, above)
    return Effect.withSpan(self((later) => Effect.updateContext(later, outside as <R>(_: R) => R)), name)
  })
