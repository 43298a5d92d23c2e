/**
 * The schema that an answer has to fit, passed from whoever asks to the adapter of a provider that can enforce one. effect/ai
 * has a response format for `generateObject` only, which does not stream.
 */
import * as Context from "effect/Context"
import type * as Model from "../../services/Model.ts"

/** The schema for the answers of the calls made with this reference in scope. An adapter may ignore it. */
export const OutputSchema = Context.Reference<Model.Output | undefined>("fiberloop/layers/OutputSchema", {
  defaultValue: () => undefined
})
