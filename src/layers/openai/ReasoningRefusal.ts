/**
 * Handles servers that refuse the reasoning that they sent, because a gateway renamed it or their model takes none. A refusal
 * is recognised by its words; the server is asked once more without reasoning, and no longer gets any where that helped.
 *
 * Does not own which reasoning is sent (`ChatMessages`).
 */
import type * as AiError from "effect/ai/AiError"
import type * as Effect from "effect/Effect"
import * as AdapterErrors from "../provider/AdapterErrors.ts"
import * as Refusal from "../provider/Refusal.ts"
import type * as ChatMessages from "./ChatMessages.ts"

/** What a server says of reasoning in a request that it refuses; DeepSeek uses the same name to say that it is missing. */
const saysOfReasoning = (error: AiError.AiError): "refused" | "missed" | undefined => {
  const said = AdapterErrors.wordsOfRefusal(error) ?? ""
  if (!/reasoning_(content|details)/.test(said)) return undefined
  // Groq: "must be satisfied" means that the field must not be there
  return /must be (?!satisfied)|miss|requir|passed back/i.test(said) ? "missed" : "refused"
}

const isRefused = (error: AiError.AiError): boolean => saysOfReasoning(error) === "refused"

/** Whether a server says that reasoning is missing in what it was sent. */
export const isMissed = (error: AiError.AiError): boolean => saysOfReasoning(error) === "missed"

type Sending = ChatMessages.Options["sendReasoning"]

/** Sends calls with their reasoning until the server refuses it but takes a call without; after that, always without. */
export const untilRefused = <Args extends ReadonlyArray<unknown>, A, R>(
  asked: Sending,
  send: (sendReasoning: Sending, ...args: Args) => Effect.Effect<A, AiError.AiError, R>
) =>
  Refusal.untilRefused(
    {
      isOther: asked === false,
      mayHelp: isRefused,
      // it wants reasoning, but not this reasoning
      told: (refused, later) => isMissed(later) ? refused : later
    },
    (isWithout: boolean, ...args: Args) => send(isWithout ? false : asked, ...args)
  )
