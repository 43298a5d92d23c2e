/**
 * Settings that go together, as layers to use instead of `Fiberloop.layer`: one for trying things out, where a run that
 * goes wrong should stop soon, and one for a product.
 *
 * |                                  | development | production | `Fiberloop.layer`                           |
 * |----------------------------------|-------------|------------|---------------------------------------------|
 * | turns of a run                   | 5           | 20         | 20                                          |
 * | compaction at more messages than | 10          | 50         | a known window holds, or the provider takes |
 * | retries of a model call          | 2           | 3          | 3                                           |
 * | one attempt at a model call      | 10 s        | 30 s       | 120 s                                       |
 *
 * An agent's options, a run's input and the caller's References come before these.
 */
import * as Layer from "effect/Layer"
import * as ContextWindow from "./layers/ContextWindow.ts"
import * as RunsLocal from "./layers/RunsLocal.ts"
import * as ToolExecutorToolkit from "./layers/ToolExecutorToolkit.ts"
import type * as ContextManager from "./services/ContextManager.ts"
import * as Limits from "./services/Limits.ts"
import * as RetryPolicy from "./services/RetryPolicy.ts"
import type * as Runs from "./services/Runs.ts"
import * as Timeouts from "./services/Timeouts.ts"
import type * as ToolExecutor from "./services/ToolExecutor.ts"

interface Numbers {
  readonly maxTurns: number
  readonly compactThreshold: number
  readonly maxRetries: number
  readonly call: `${number} seconds`
}

const preset = ({ call, compactThreshold, maxRetries, maxTurns }: Numbers) =>
  Layer.mergeAll(
    ToolExecutorToolkit.layer,
    ContextWindow.layerWith({ compactThreshold }),
    RunsLocal.layer,
    Layer.succeed(Limits.Limits, { maxTurns }),
    Layer.succeed(Timeouts.Timeouts, { call }),
    Layer.succeed(RetryPolicy.RetryPolicy, RetryPolicy.make({ maxRetries }))
  )

type Services = ToolExecutor.ToolExecutor | ContextManager.ContextManager | Runs.Runs

/** For trying things out: a run that goes wrong stops soon. */
export const development: Layer.Layer<Services> = preset({
  maxTurns: 5,
  compactThreshold: 10,
  maxRetries: 2,
  call: "10 seconds"
})

/**
 * For a product: a model call that hangs is noticed within half a minute. An answer that takes longer never comes: the agent of a
 * reasoning model needs `timeouts` of its own.
 */
export const production: Layer.Layer<Services> = preset({
  maxTurns: 20,
  compactThreshold: 50,
  maxRetries: 3,
  call: "30 seconds"
})
