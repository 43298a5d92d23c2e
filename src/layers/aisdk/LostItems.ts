/**
 * Handles items that OpenAI's Responses no longer keep, or keep for another account: later calls only refer to them, and are refused. Such
 * a call is sent once more without what its provider attached: reasoning, and what the provider executed itself, are left out then, all
 * else is written out. Other sessions may have items that are kept, so each call is sent in full first.
 *
 * Does not own what is sent (`Messages`).
 */
import type * as AiError from "effect/ai/AiError"
import * as Effect from "effect/Effect"
import * as AdapterErrors from "../provider/AdapterErrors.ts"

const words = /\bitem with id\b.*\bnot found\b/i

const isLost = (error: AiError.AiError): boolean => words.test(AdapterErrors.wordsOfRefusal(error) ?? "")

/** Sends each call with what its provider attached, and once more without it where that refers to an item that is not there. */
export const leftOut = <Args extends ReadonlyArray<unknown>, A, R>(
  send: (hasAttached: boolean, ...args: Args) => Effect.Effect<A, AiError.AiError, R>
) =>
(...args: Args): Effect.Effect<A, AiError.AiError, R> =>
  Effect.catchIf(send(true, ...args), isLost, () => send(false, ...args))
