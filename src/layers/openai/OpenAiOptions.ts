/**
 * Whether the options of a layer are its own, and of their type: a `baseURL` that is none would send the conversation to another
 * server, and `"false"` is true.
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
  const checked = Result.all([InputCheck.noOthers(of, options, names), ...values(options ?? {})])
  if (Result.isFailure(checked)) return Endpoint.refuse(checked.failure.message)
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

/** Not their model, address and key, which `Endpoint` reads. */
const values = (
  { body, contextWindow, maxOutput, provider, sendReasoning, structuredOutput }: Partial<ModelOpenAi.Options>
): ReadonlyArray<InputCheck.Checked<unknown>> => [
  InputCheck.fields("body", body, "an object, such as { temperature: 0 }"),
  sendReasoning === "auto" || Result.isSuccess(InputCheck.flag("sendReasoning", sendReasoning))
    ? Result.succeed(undefined)
    : InputCheck.refuse("sendReasoning", "sendReasoning must be true, false or \"auto\""),
  InputCheck.flag("structuredOutput", structuredOutput),
  InputCheck.text("provider", provider),
  ...Object.entries({ contextWindow, maxOutput }).map(([name, size]) =>
    InputCheck.number(name, size, (size) => size >= 1, "a number of at least 1")
  )
]

/** Fails for an option of `LanguageModelOpenAi` that it does not have, or not of its type, and where no model is named. */
export const languageModel = checking<LanguageModelOpenAi.Options>("LanguageModelOpenAi", ofLanguageModel)

/** The same for `ModelOpenAi`. */
export const model = checking<ModelOpenAi.Options>("ModelOpenAi", ofModel)
