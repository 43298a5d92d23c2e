/**
 * Servers that refuse the reasoning that they gave, because a gateway renamed it or a model of theirs takes none: told by
 * their words, asked once more without it, and not again with it.
 *
 * Does not own which reasoning is sent (`ChatMessages`).
 */
import type * as AiError from "effect/ai/AiError"
import * as Effect from "effect/Effect"
import type * as ChatMessages from "./ChatMessages.ts"

/** DeepSeek says with the same name that it misses it. */
const isRefused = ({ reason }: AiError.AiError): boolean => {
  if (reason._tag !== "InvalidRequestError") return false
  const said = `${reason.parameter} ${reason.description}`
  return /reasoning_(content|details)/.test(said) && !/must be|miss|requir|passed back/i.test(said)
}

type Sending = ChatMessages.Options["sendReasoning"]

/** Sends calls with their reasoning until the server refuses it; from then on without. */
export const untilRefused = <Args extends ReadonlyArray<unknown>, A, R>(
  asked: Sending,
  send: (sendReasoning: Sending, ...args: Args) => Effect.Effect<A, AiError.AiError, R>
) => {
  let sending = asked
  return (...args: Args): Effect.Effect<A, AiError.AiError, R> =>
    Effect.suspend(() => {
      if (sending === false) return send(false, ...args)
      return Effect.catchIf(send(sending, ...args), isRefused, () => {
        sending = false
        return send(false, ...args)
      })
    })
}
