/**
 * Keeps arguments out of spans, since `Toolkit.handle`, or a handler, writes them into the current one.
 *
 * Does not own the span of a call, which holds what may be said (`ToolSpan`).
 */
import * as Context from "effect/Context"
import * as Tracer from "effect/Tracer"

/** A context whose current span is an external one with the same parent: what is written to it is dropped. */
export const over = (context: Context.Context<never>): Context.Context<never> => {
  const span = Context.getOrUndefined(context, Tracer.ParentSpan)
  if (span === undefined || span._tag === "ExternalSpan") return context
  const { sampled, spanId, traceId } = span
  return Context.add(context, Tracer.ParentSpan, Tracer.externalSpan({ spanId, traceId, sampled }))
}
