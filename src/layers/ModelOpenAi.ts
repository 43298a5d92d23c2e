/** A `Model` over any OpenAI-compatible chat completions API, in one step: the language model, its HTTP client and all. */
import type * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Model from "../services/Model.ts"
import * as LanguageModelOpenAi from "./LanguageModelOpenAi.ts"
import * as ModelLanguageModel from "./ModelLanguageModel.ts"

/** Which model is asked, at which address, what that server takes, and the sizes of the model, which no server says. */
export interface Options
  extends LanguageModelOpenAi.Options, Pick<ModelLanguageModel.Options, "contextWindow" | "maxOutput">
{
  /**
   * What log, `Prices` and `RetryPolicy` call the server at this address. Default: `openai-compatible`, whatever the server is.
   * Another name makes it another model: it is not sent the reasoning that a session holds already.
   */
  readonly provider?: string | undefined
}

/** Loaded on first use, as is the rest. */
const check = Effect.promise(() => import("./openai/OpenAiOptions.ts"))

/** Loaded on first use, with effect's HTTP. */
const client = Layer.unwrap(Effect.promise(async () => (await import("./openai/PlainFetch.ts")).layer))

/**
 * Fails when a setting or an option is missing or unusable, and for an option that it does not have; the message names it. Uses the
 * platform's `fetch`. Redirects are reported, not followed. Built asynchronously: it loads the adapter.
 */
export const layer = (options: Options): Layer.Layer<Model.Model, Config.ConfigError> =>
  Layer.unwrap(Effect.map(
    Effect.flatMap(check, (_) => _.model(options)),
    ({ contextWindow, maxOutput, provider = "openai-compatible", ...options }) =>
      ModelLanguageModel.layerWith({ provider, name: options.model, contextWindow, maxOutput }).pipe(
        Layer.provide(LanguageModelOpenAi.layer(options)),
        Layer.provide(client)
      )
  ))
