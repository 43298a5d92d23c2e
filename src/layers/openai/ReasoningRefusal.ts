/**
 * Servers that refuse the reasoning that they gave, because a gateway renamed it or a model of theirs takes none: told by
 * their words, asked once more without it, and not again with it where that was the remedy.
 *
 * Does not own which reasoning is sent (`ChatMessages`).
 */
import type * as AiError from "effect/ai/AiError"
import * as Effect from "effect/Effect"
import * as AdapterErrors from "../provider/AdapterErrors.ts"
import type * as ChatMessages from "./ChatMessages.ts"

/** What a server says of reasoning in a request that it does not take; DeepSeek says with the same name that it misses it. */
const saysOfReasoning = (error: AiError.AiError): "refused" | "missed" | undefined => {
  const said = AdapterErrors.refusal(error) ?? ""
  if (!/reasoning_(content|details)/.test(said)) return undefined
  // Groq: what "must be satisfied" is that the field is not there
  return /must be (?!satisfied)|miss|requir|passed back/i.test(said) ? "missed" : "refused"
}

const isRefused = (error: AiError.AiError): boolean => saysOfReasoning(error) === "refused"

type Sending = ChatMessages.Options["sendReasoning"]

/** Sends calls with their reasoning until the server refuses it, and takes them without; from then on without. */
export const untilRefused = <Args extends ReadonlyArray<unknown>, A, R>(
  asked: Sending,
  send: (sendReasoning: Sending, ...args: Args) => Effect.Effect<A, AiError.AiError, R>
) => {
  let sending = asked
  const stop = Effect.sync(() => {
    sending = false
  })
  const without = (refused: AiError.AiError, args: Args) =>
    send(false, ...args).pipe(
      Effect.tap(stop),
      // it wants reasoning, and not this one
      Effect.mapError((error) => saysOfReasoning(error) === "missed" ? refused : error)
    )
  return (...args: Args): Effect.Effect<A, AiError.AiError, R> =>
    Effect.suspend(() =>
      sending === false
        ? send(false, ...args)
        : Effect.catchIf(send(sending, ...args), isRefused, (refused) => without(refused, args))
    )
}
