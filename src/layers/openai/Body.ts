/** Settings of single calls, for whoever makes them. Does not own the rest of a body (`ChatRequest`). */
import * as Context from "effect/Context"

/**
 * Fields added to the request bodies of the calls made with this reference in scope; they override `Options.body`, objects member by
 * member at every depth. What is `undefined` here is left out of the body.
 */
export const Body = Context.Reference<Readonly<Record<string, unknown>>>("fiberloop/layers/LanguageModelOpenAi/Body", {
  defaultValue: () => ({})
})
