/** A `Model` over any provider of the Vercel AI SDK, in one step: `ModelAiSdk.layer({ model: anthropic("claude-...") })`. */
import type { LanguageModelV4 } from "@ai-sdk/provider"
import * as Layer from "effect/Layer"
import type * as Model from "../services/Model.ts"
import * as LanguageModelAiSdk from "./LanguageModelAiSdk.ts"
import * as ModelLanguageModel from "./ModelLanguageModel.ts"

export interface Options
  extends LanguageModelAiSdk.Options, Pick<ModelLanguageModel.Options, "contextWindow" | "maxOutput">
{
  readonly model: LanguageModelV4
}

/** Named as the SDK names it: provider "anthropic.messages", say, and the model's id. */
export const layer = ({ cache, key, model, settings, structuredOutput, ...sizes }: Options): Layer.Layer<Model.Model> =>
  ModelLanguageModel.layerWith({ ...sizes, provider: model.provider, name: model.modelId }).pipe(
    Layer.provide(LanguageModelAiSdk.layer(model, { cache, key, settings, structuredOutput }))
  )
