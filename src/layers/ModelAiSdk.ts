/** A `Model` over any provider of the Vercel AI SDK, in one step: `ModelAiSdk.layer({ model: anthropic("claude-...") })`. */
import type { LanguageModelV4 } from "@ai-sdk/provider"
import * as Layer from "effect/Layer"
import * as Model from "../services/Model.ts"
import * as EffectAiModel from "./effectai/EffectAiModel.ts"
import * as LanguageModelAiSdk from "./LanguageModelAiSdk.ts"
import type * as ModelLanguageModel from "./ModelLanguageModel.ts"

export interface Options
  extends LanguageModelAiSdk.Options, Pick<ModelLanguageModel.Options, "contextWindow" | "maxOutput">
{
  readonly model: LanguageModelV4
}

/** Named as the SDK names it: the provider, such as "anthropic.messages", and the model's id. */
export const layer = ({ cache, key, model, settings, structuredOutput, ...sizes }: Options): Layer.Layer<Model.Model> =>
  Layer.effect(Model.Model, EffectAiModel.make({ ...sizes, provider: model.provider, name: model.modelId })).pipe(
    Layer.provide(LanguageModelAiSdk.layer(model, { cache, key, settings, structuredOutput }))
  )
