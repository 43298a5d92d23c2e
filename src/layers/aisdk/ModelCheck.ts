/**
 * Whether what a program gives as a model of the AI SDK is one: the SDK's own functions also take the id of one, for its gateway.
 *
 * Does not own whether the model's version fits, which its first call says (`LanguageModelAiSdk`).
 */
import * as Warning from "../../services/Warning.ts"

/** Throws a `RangeError` for what is no model; `layer` names who was given it. */
export const isModel = (layer: string, given: unknown): void => {
  const isOne = (typeof given === "object" || typeof given === "function") && given !== null &&
    "doStream" in given && typeof given.doStream === "function"
  if (isOne) return
  throw new RangeError(
    `fiberloop: model of ${layer} must be a model of an AI SDK package, such as anthropic("claude-sonnet-4-5"), not ` +
      `${
        Warning.whatIs(given)
      }; the id of a gateway is no model, but gateway("anthropic/claude-sonnet-4.5") of @ai-sdk/gateway is`
  )
}
