/**
 * The `LanguageModel` of an adapter that always streams: an answer that is wanted whole is collected.
 *
 * Does not own a call, nor when its answer is over (`LanguageModelAiSdk`, `ChatModel`).
 */
import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Closing from "./Closing.ts"
import * as WholeParts from "./WholeParts.ts"

type Parts = Stream.Stream<Response.StreamPartEncoded, AiError.AiError>

/** Sends a call; what that acquires lives as long as its answer is read. */
type Open = (call: LanguageModel.ProviderOptions) => Effect.Effect<Parts, AiError.AiError, Scope.Scope>

/** An interrupted call, or one whose stream is left, ends only once its server could see the close. */
export const make = (
  open: Open,
  options: Pick<Parameters<typeof LanguageModel.make>[0], "codecTransformer"> = {}
): Effect.Effect<LanguageModel.LanguageModel> => {
  const streamText = (call: LanguageModel.ProviderOptions): Parts =>
    Stream.unwrap(Effect.andThen(Closing.awaited, open(call)))
  return LanguageModel.make({
    ...options,
    streamText,
    generateText: (call) => Effect.map(Stream.runCollect(streamText(call)), WholeParts.collect)
  })
}
