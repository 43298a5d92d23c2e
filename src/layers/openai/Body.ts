import * as Context from "effect/Context"

/** Fields added to the request bodies of the calls made with it, over those of `Options.body`: settings of one call. */
export const Body = Context.Reference<Readonly<Record<string, unknown>>>("fiberloop/layers/LanguageModelOpenAi/Body", {
  defaultValue: () => ({})
})
