/** A `Model` over any provider of the Vercel AI SDK, in one step: `ModelAiSdk.layer({ model: anthropic("claude-...") })`. */
import type { LanguageModelV4 } from "@ai-sdk/provider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Model from "../services/Model.ts"
import * as ModelCheck from "./aisdk/ModelCheck.ts"
import * as EffectAiModel from "./effectai/EffectAiModel.ts"
import * as LanguageModelAiSdk from "./LanguageModelAiSdk.ts"
import type * as ModelLanguageModel from "./ModelLanguageModel.ts"
import * as OptionCheck from "./options/OptionCheck.ts"

export interface Options
  extends LanguageModelAiSdk.Options, Pick<ModelLanguageModel.Options, "contextWindow" | "maxOutput">
{
  readonly model: LanguageModelV4
}

const optionNames: Record<keyof Options, true> = {
  model: true,
  contextWindow: true,
  maxOutput: true,
  settings: true,
  key: true,
  structuredOutput: true,
  cache: true
}

/**
 * Named as the SDK names it: the provider, such as "anthropic.messages", and the model's id. An option that it does not have, and
 * what is no model, such as the id of a gateway, is a defect when the layer is built.
 */
export const layer = (options: Options): Layer.Layer<Model.Model> =>
  Layer.unwrap(Effect.sync(() => {
    OptionCheck.options("ModelAiSdk", options, optionNames)
    const { cache, contextWindow, key, maxOutput, model, settings, structuredOutput } = options
    ModelCheck.isModel("ModelAiSdk", model)
    const info = { provider: model.provider, name: model.modelId, contextWindow, maxOutput }
    return Layer.effect(Model.Model, EffectAiModel.make(info)).pipe(
      Layer.provide(LanguageModelAiSdk.layer(model, { cache, key, settings, structuredOutput }))
    )
  }))
