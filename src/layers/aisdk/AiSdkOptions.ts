/**
 * Whether the options for a model of the AI SDK are what they are meant to be: its packages ignore what they do not know.
 *
 * Does not own whether the model is one (`ModelCheck`), nor what its provider takes, which its answer says.
 */
import * as InputCheck from "../../run/InputCheck.ts"
import type * as LanguageModelAiSdk from "../LanguageModelAiSdk.ts"
import * as OptionCheck from "../options/OptionCheck.ts"
import type { Settings } from "./CallOptions.ts"

const settingNames: Record<keyof Settings, true> = {
  maxOutputTokens: true,
  temperature: true,
  stopSequences: true,
  topP: true,
  topK: true,
  presencePenalty: true,
  frequencyPenalty: true,
  seed: true,
  reasoning: true,
  headers: true,
  providerOptions: true
}

const mark =
  `"ephemeral", or a mark by provider, such as { anthropic: { cacheControl: { type: "ephemeral", ttl: "1h" } } }`

/** Throws a `RangeError` for a value of another type, and for a setting of calls that the SDK does not have. */
export const check = ({ cache, key, settings, structuredOutput }: LanguageModelAiSdk.Options): void => {
  OptionCheck.taken(InputCheck.fields("settings", settings, "an object, such as { temperature: 0 }"))
  OptionCheck.taken(InputCheck.noOthers("settings", settings ?? {}, settingNames, "settings."))
  OptionCheck.taken(InputCheck.text("key", key))
  OptionCheck.taken(InputCheck.flag("structuredOutput", structuredOutput))
  if (cache !== "ephemeral") OptionCheck.taken(InputCheck.fields("cache", cache, mark))
}
