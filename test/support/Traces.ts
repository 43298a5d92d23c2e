/** A tracer that keeps its spans, and a short form of them for comparison. */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"

export interface Traces {
  readonly tracer: Tracer.Tracer
  /** in the order in which they began */
  readonly spans: ReadonlyArray<Tracer.NativeSpan>
  readonly named: (name: string) => Tracer.NativeSpan
}

export const make = (): Traces => {
  const spans: Array<Tracer.NativeSpan> = []
  return {
    tracer: Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    }),
    spans,
    named: (name) => {
      const span = spans.find((span) => span.name === name)
      if (span === undefined) throw new Error(`no span "${name}" in: ${spans.map(({ name }) => name).join(", ")}`)
      return span
    }
  }
}

/** The names of a span's parents, nearest first; a parent known only by its id is looked up. */
export const above = (traces: Traces, span: Tracer.NativeSpan): ReadonlyArray<string> => {
  const parent = Option.getOrUndefined(span.parent)
  const found = traces.spans.find(({ spanId }) => spanId === parent?.spanId)
  return found === undefined ? [] : [found.name, ...above(traces, found)]
}

/** `ok`, `interrupted`, or what it failed with. */
export const stateOf = ({ status }: Tracer.NativeSpan): string => {
  if (status._tag === "Started") return "open"
  if (Exit.isSuccess(status.exit)) return "ok"
  return Cause.hasInterruptsOnly(status.exit.cause) ? "interrupted" : String(Cause.squash(status.exit.cause))
}

/** milliseconds */
export const durationOf = ({ status }: Tracer.NativeSpan): number =>
  status._tag === "Started" ? NaN : Number(status.endTime - status.startTime) / 1_000_000
