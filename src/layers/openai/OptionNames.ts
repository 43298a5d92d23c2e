/**
 * Whether the options of a layer are its own: a `baseURL` that is none would send the conversation to another server.
 *
 * Does not own where requests go, nor with which key (`Endpoint`).
 */
import type * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as InputCheck from "../../run/InputCheck.ts"
import type * as LanguageModelOpenAi from "../LanguageModelOpenAi.ts"
import type * as ModelOpenAi from "../ModelOpenAi.ts"
import * as Endpoint from "./Endpoint.ts"

const ofLanguageModel: Record<keyof LanguageModelOpenAi.Options, true> = {
  model: true,
  baseUrl: true,
  apiKey: true,
  body: true,
  sendReasoning: true,
  structuredOutput: true
}

const ofModel: Record<keyof ModelOpenAi.Options, true> = {
  ...ofLanguageModel,
  provider: true,
  contextWindow: true,
  maxOutput: true
}

const checking = <O extends LanguageModelOpenAi.Options>(of: string, names: Record<keyof O & string, true>) =>
(
  options: O
): Effect.Effect<O, Config.ConfigError> => {
  const others = InputCheck.noOthers(of, options, names)
  if (Result.isFailure(others)) return Endpoint.refuse(others.failure.message)
  // untyped code may give none
  const { model }: Partial<LanguageModelOpenAi.Options> = options ?? {}
  return typeof model === "string" && model.trim() !== ""
    ? Effect.succeed(options)
    : Endpoint.refuse(
      `The option model of ${of} must be the name of a model, as its server calls it; it is ${
        typeof model === "string" ? "blank" : String(model)
      }`
    )
}

/** Fails for an option that `LanguageModelOpenAi` does not have, and where no model is named. */
export const languageModel = checking<LanguageModelOpenAi.Options>("LanguageModelOpenAi", ofLanguageModel)

/** The same for `ModelOpenAi`. */
export const model = checking<ModelOpenAi.Options>("ModelOpenAi", ofModel)
