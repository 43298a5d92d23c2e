/** Whether spans go anywhere: those of effect's own tracer do not, and cost as much as the work that they cover. */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Tracer from "effect/Tracer"

/** A tracer that is not effect's own sees the spans of this fiber. */
export const isSeen = ({ cache }: Fiber.Fiber<unknown, unknown>): boolean =>
  cache.tracerEnabled && cache.tracer !== undefined && cache.tracer !== Tracer.nativeTracer

/** What `self` returns, in a span of this name if that is seen. Spans that it makes are beside this one. */
export const around = <A, E, R>(name: string, self: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => isSeen(fiber) ? Effect.useSpan(name, self) : self())

/** Runs `self` in a span of this name if that is seen; otherwise without any span, also of what `self` is made of. */
export const spanned = <A, E, R>(name: string, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => isSeen(fiber) ? Effect.withSpan(self, name) : Effect.withTracerEnabled(self, false))
