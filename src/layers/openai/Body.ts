/** Settings of one call, for whoever makes it. Does not own what stands in a body (`ChatRequest`). */
import * as Context from "effect/Context"

/** Fields added to the request bodies of the calls made with it, over those of `Options.body`. */
export const Body = Context.Reference<Readonly<Record<string, unknown>>>("fiberloop/layers/LanguageModelOpenAi/Body", {
  defaultValue: () => ({})
})
