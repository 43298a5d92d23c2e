/** A `Model` over any OpenAI-compatible chat completions API, in one step: the language model, its HTTP client and all. */
import type * as Config from "effect/Config"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import type * as Model from "../services/Model.ts"
import * as LanguageModelOpenAi from "./LanguageModelOpenAi.ts"
import * as ModelLanguageModel from "./ModelLanguageModel.ts"

export type Options = LanguageModelOpenAi.Options

/** Fails when a setting is missing or unusable; the message names it. Over the platform's `fetch`. */
export const layer = (options: Options): Layer.Layer<Model.Model, Config.ConfigError> =>
  ModelLanguageModel.layerWith({
    provider: "openai-compatible",
    name: options.model
  }).pipe(
    Layer.provide(LanguageModelOpenAi.layer(options)),
    Layer.provide(FetchHttpClient.layer)
  )
