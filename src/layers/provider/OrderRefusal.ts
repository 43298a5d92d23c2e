/**
 * Handles servers that refuse what a user says right after results of tools: Mistral, and its models elsewhere. A refusal is
 * recognised by its words; the server is asked once more with a word of the model in between, and always gets one where that helped.
 *
 * Does not own the transcript, in which that word never is.
 */
import type * as AiError from "effect/ai/AiError"
import type * as Prompt from "effect/ai/Prompt"
import type * as Effect from "effect/Effect"
import * as AdapterErrors from "./AdapterErrors.ts"
import * as Refusal from "./Refusal.ts"

/** What the model says to results that the user did not wait for an answer to. */
export const noted = "I have the results."

/** The messages, with `answer` between results and what the user says next. */
export const answered = <M extends { readonly role: string }>(messages: ReadonlyArray<M>, answer: M): Array<M> =>
  messages.flatMap((message, i) =>
    message.role === "user" && messages[i - 1]?.role === "tool" ? [answer, message] : [message]
  )

/** Whether a conversation has results of tools. */
export const hasResults = ({ content }: Prompt.Prompt): boolean => content.some(({ role }) => role === "tool")

/** Mistral's own words, and those of the chat templates of its models. */
const words = /unexpected role \W{0,3}user\W{0,3} after role \W{0,3}tool|roles must alternate user( and |\/)assistant/i

const isRefused = (error: AiError.AiError): boolean => words.test(AdapterErrors.wordsOfRefusal(error) ?? "")

/**
 * Sends calls as they are until the server refuses their order, but takes one with its results `answered`; then all so. `mayHelp`:
 * whether a call has results at all.
 */
export const untilRefused = <Args extends ReadonlyArray<unknown>, A, R>(
  isKnown: boolean,
  mayHelp: (...args: Args) => boolean,
  send: (answersResults: boolean, ...args: Args) => Effect.Effect<A, AiError.AiError, R>
) =>
  Refusal.untilRefused(
    { isOther: isKnown, mayHelp: (error, args: Args) => isRefused(error) && mayHelp(...args) },
    send
  )
