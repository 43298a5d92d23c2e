/** Whether spans go anywhere: those of effect's own tracer do not, and cost as much as what they are of. */
import type * as Fiber from "effect/Fiber"
import * as Tracer from "effect/Tracer"

/** A tracer that is not effect's own sees the spans of this fiber. */
export const isSeen = ({ cache }: Fiber.Fiber<unknown, unknown>): boolean =>
  cache.tracerEnabled && cache.tracer !== undefined && cache.tracer !== Tracer.nativeTracer
