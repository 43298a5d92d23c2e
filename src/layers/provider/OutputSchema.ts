/**
 * The schema that an answer has to fit, from who asks for it to the adapter of a provider that can hold an answer to one.
 * effect/ai has a response format for `generateObject` only, which does not stream.
 */
import * as Context from "effect/Context"
import type * as Model from "../../services/Model.ts"

/** What the answers of the calls made with it have to fit. An adapter may leave it out. */
export const OutputSchema = Context.Reference<Model.Output | undefined>("fiberloop/layers/OutputSchema", {
  defaultValue: () => undefined
})
