/**
 * Any effect/ai `LanguageModel` as a `Model`: its own tool resolution is off, its errors become reasons, and an error inside
 * the stream counts as a failure of the stream.
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Model from "../services/Model.ts"

/** What effect/ai does not say about a model. Default: what `effect/ai/Model` says, else "effect/ai" and "unknown". */
export interface Options {
  readonly provider?: string | undefined
  readonly name?: string | undefined
  /** tokens, at least 1: less is a defect when the model is made; `undefined` where it is not known */
  readonly contextWindow?: number | undefined
  /** tokens, likewise */
  readonly maxOutput?: number | undefined
}

/** Loaded on first use, with effect's language models. */
const adapter = Effect.promise(() => import("./effectai/EffectAiModel.ts"))

/** Asynchronous: it loads the adapter. An option that it does not have is a defect. */
export const make = (
  options: Options = {}
): Effect.Effect<Model.Model["Service"], never, LanguageModel.LanguageModel> =>
  Effect.flatMap(adapter, (_) => _.make(options))

/** With what the `LanguageModel` does not say of itself; see `make`. */
export const layerWith = (options: Options): Layer.Layer<Model.Model, never, LanguageModel.LanguageModel> =>
  Layer.effect(Model.Model, make(options))

/** Named as the `LanguageModel` names itself, with a window that nobody knows: `ContextWindow` then acts on what the provider refuses. */
export const layer: Layer.Layer<Model.Model, never, LanguageModel.LanguageModel> = layerWith({})
