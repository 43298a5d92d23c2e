/** A `Model` over any OpenAI-compatible chat completions API, in one step: the language model, its HTTP client and all. */
import type * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Model from "../services/Model.ts"
import * as LanguageModelOpenAi from "./LanguageModelOpenAi.ts"
import * as ModelLanguageModel from "./ModelLanguageModel.ts"

export interface Options
  extends LanguageModelOpenAi.Options, Pick<ModelLanguageModel.Options, "contextWindow" | "maxOutput">
{}

/** `fetch` by itself follows redirects, as another method and many times. */
const settings: Layer.Layer<FetchHttpClient.RequestInit> = Layer.effect(
  FetchHttpClient.RequestInit,
  Effect.map(Effect.serviceOption(FetchHttpClient.RequestInit), (given): RequestInit => ({
    ...Option.getOrUndefined(given),
    redirect: "manual"
  }))
)

/**
 * Fails when a setting is missing or unusable; the message names it. Over the platform's `fetch`. Redirects are told and
 * not followed.
 */
export const layer = (
  { contextWindow, maxOutput, ...options }: Options
): Layer.Layer<Model.Model, Config.ConfigError> =>
  ModelLanguageModel.layerWith({
    provider: "openai-compatible",
    name: options.model,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(maxOutput === undefined ? {} : { maxOutput })
  }).pipe(
    Layer.provide(LanguageModelOpenAi.layer(options)),
    Layer.provide(FetchHttpClient.layer),
    Layer.provide(settings)
  )
