/** A `Model` over any OpenAI-compatible chat completions API, in one step: the language model, its HTTP client and all. */
import type * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Model from "../services/Model.ts"
import * as LanguageModelOpenAi from "./LanguageModelOpenAi.ts"
import * as ModelLanguageModel from "./ModelLanguageModel.ts"

export interface Options
  extends LanguageModelOpenAi.Options, Pick<ModelLanguageModel.Options, "contextWindow" | "maxOutput">
{
  /**
   * What log, `Prices` and `RetryPolicy` call whoever is behind the address. Default: `openai-compatible`, whoever that is. Under
   * another name it is another model: reasoning that stands in a session already is not sent to it.
   */
  readonly provider?: string | undefined
}

/** Loaded when it is used, with effect's HTTP. */
const client = Layer.unwrap(Effect.promise(async () => (await import("./openai/PlainFetch.ts")).layer))

/**
 * Fails when a setting is missing or unusable; the message names it. Over the platform's `fetch`. Redirects are told and
 * not followed. Built asynchronously: it loads the adapter.
 */
export const layer = (
  { contextWindow, maxOutput, provider = "openai-compatible", ...options }: Options
): Layer.Layer<Model.Model, Config.ConfigError> =>
  ModelLanguageModel.layerWith({ provider, name: options.model, contextWindow, maxOutput }).pipe(
    Layer.provide(LanguageModelOpenAi.layer(options)),
    Layer.provide(client)
  )
