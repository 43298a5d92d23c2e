/**
 * Handles servers that miss what only their model attaches to an answer in the answers of another one, with which it goes on: DeepSeek's
 * models want reasoning, Gemini signatures of calls. A refusal is recognised by its words; the server is asked once more with something
 * that it takes in place of that, and always gets it where that helped.
 *
 * Does not own what that is, nor where it goes (`ChatMessages`).
 */
import type * as AiError from "effect/ai/AiError"
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Effect from "effect/Effect"
import * as AdapterErrors from "../provider/AdapterErrors.ts"
import * as Refusal from "../provider/Refusal.ts"
import type * as ChatMessages from "./ChatMessages.ts"
import * as ReasoningRefusal from "./ReasoningRefusal.ts"

type StandIn = ChatMessages.Options["standIn"]
type Call = LanguageModel.ProviderOptions

const isSignatureMissed = (error: AiError.AiError): boolean =>
  /missing an? \W?thought_signature/i.test(AdapterErrors.wordsOfRefusal(error) ?? "")

const hasAnswers = ({ prompt }: Call): boolean => prompt.content.some(({ role }) => role === "assistant")

/**
 * Sends calls as they are until the server misses something in their answers, but takes a call with a stand-in; then all so. `mayReason`:
 * whether reasoning is sent at all.
 */
export const untilMissed = <Format, A, R>(
  mayReason: boolean,
  send: (standIn: StandIn, call: Call, format: Format) => Effect.Effect<A, AiError.AiError, R>
) => {
  const signed = Refusal.untilRefused(
    {
      isOther: false,
      mayHelp: (error, [, call]: readonly [StandIn, Call, Format]) => isSignatureMissed(error) && hasAnswers(call)
    },
    (isSigned: boolean, standIn: StandIn, call: Call, format: Format) =>
      send(isSigned ? "signature" : standIn, call, format)
  )
  return Refusal.untilRefused(
    {
      isOther: false,
      mayHelp: (error, [call]: readonly [Call, Format]) =>
        mayReason && ReasoningRefusal.isMissed(error) && hasAnswers(call)
    },
    (isReasoned: boolean, call: Call, format: Format) => signed(isReasoned ? "reasoning" : undefined, call, format)
  )
}
