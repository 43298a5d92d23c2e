/**
 * The services that every agent needs and that few applications replace.
 *
 * Does not own the model and the store, which every application chooses.
 */
import * as Layer from "effect/Layer"
import * as ContextWindow from "./layers/ContextWindow.ts"
import * as RunsLocal from "./layers/RunsLocal.ts"
import * as ToolExecutorToolkit from "./layers/ToolExecutorToolkit.ts"
import type * as ContextManager from "./services/ContextManager.ts"
import type * as Runs from "./services/Runs.ts"
import type * as ToolExecutor from "./services/ToolExecutor.ts"

/**
 * Tools through effect/ai toolkits, the window strategy for long conversations, and the live runs of this process.
 * `Presets` has the same services with settings for development and for production.
 */
export const layer: Layer.Layer<ToolExecutor.ToolExecutor | ContextManager.ContextManager | Runs.Runs> = Layer.mergeAll(
  ToolExecutorToolkit.layer,
  ContextWindow.layer,
  RunsLocal.layer
)
