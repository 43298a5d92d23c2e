/**
 * Where the spans and measurements of drives go. The same for all drives started in one context, so it is determined once.
 *
 * Does not own what is said there of a drive (`Observing`), of a model call (`Chat`) or of a tool call (`ToolSpan`).
 */
import * as Effect from "effect/Effect"
import type * as Tracer from "effect/Tracer"
import * as Tracing from "../../services/fibers/Tracing.ts"
import * as Family from "./Family.ts"
import * as RunSpan from "./RunSpan.ts"

export interface Telemetry {
  /** Somebody may see spans. */
  readonly isTraced: boolean
  readonly metrics: Family.Target
  /** what the span of a drive begins as, where nobody sees it */
  readonly unseen: Tracer.Span | undefined
}

/** For an agent's drives in the context of the fiber that asks. */
export const make = (agent: string): Effect.Effect<Telemetry> =>
  Effect.withFiber((fiber) => {
    const isTraced = Tracing.isSeen(fiber)
    const metrics = Family.targetOf(fiber.context)
    return Effect.map(
      isTraced ? Effect.undefined : RunSpan.spanOf(agent),
      (unseen): Telemetry => ({ isTraced, metrics, unseen })
    )
  })
