/** Settings of single calls, for whoever makes them. Does not own how they are sent (`CallOptions`). */
import type { SharedV4ProviderOptions } from "@ai-sdk/provider"
import * as Context from "effect/Context"
import * as Merged from "../options/Merged.ts"
import type { Settings } from "./CallOptions.ts"

/**
 * The settings of the calls made with this reference in scope; they override `Options.settings`. `headers` are merged by name, and
 * `providerOptions` at every depth. What is `undefined` here takes away what the layer has set.
 */
export const CallSettings = Context.Reference<Settings>("fiberloop/layers/LanguageModelAiSdk/CallSettings", {
  defaultValue: () => ({})
})

/** The settings of a call: the layer's, and over them those of whoever makes it. */
export const over = (layer: Settings = {}, caller: Settings): Settings => {
  const settings = { ...layer, ...caller }
  if (layer.headers !== undefined && caller.headers !== undefined) {
    settings.headers = headers(layer.headers, caller.headers)
  }
  if (layer.providerOptions !== undefined && caller.providerOptions !== undefined) {
    settings.providerOptions = Merged.fields(layer.providerOptions, caller.providerOptions) as SharedV4ProviderOptions
  }
  return settings
}

type Headers = NonNullable<Settings["headers"]>

/** A name is the same in any case, and is sent as the caller writes it. */
const headers = (layer: Headers, caller: Headers): Headers => {
  const named = new Set(Object.keys(caller).map((name) => name.toLowerCase()))
  const others = Object.entries(layer).filter(([name]) => !named.has(name.toLowerCase()))
  return { ...Object.fromEntries(others), ...caller }
}
