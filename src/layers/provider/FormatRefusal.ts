/**
 * Servers that refuse the format of an answer: told by their words, asked once more without it, and not again with it where
 * that was the remedy.
 *
 * Does not own what is sent of a format (`ResponseFormat`).
 */
import type * as AiError from "effect/ai/AiError"
import * as Effect from "effect/Effect"
import * as AdapterErrors from "./AdapterErrors.ts"
import { OutputSchema } from "./OutputSchema.ts"
import * as ResponseFormat from "./ResponseFormat.ts"

/** What OpenAI, Anthropic, Google and those who speak as they do call the field in which a schema is sent. */
const field = new RegExp(
  [
    "response_format|json_schema|structured output|text\\.format",
    "output_(config|format)|output format",
    "response_?(json_?schema|schema|mime_?type)|response mime type|json mode|the specified schema"
  ].join("|"),
  "i"
)

/** A server's word that it does not know the field, or does not take it with this model, these tools or this schema. */
const isRefused = (error: AiError.AiError): boolean => field.test(AdapterErrors.refusal(error) ?? "")

/** Sends calls with the format of their answer, where one is asked for, until the server refuses it; from then on without. */
export const untilRefused = <Call, A, R>(
  isKnown: boolean,
  send: (call: Call, format: ResponseFormat.ResponseFormat | undefined) => Effect.Effect<A, AiError.AiError, R>
) => {
  let sendsFormat = isKnown
  return Effect.fnUntraced(function*(call: Call) {
    const output = yield* OutputSchema
    const format = sendsFormat && output !== undefined ? ResponseFormat.ofAnswer(output) : undefined
    if (format === undefined) return yield* send(call, undefined)
    // words that only quote the conversation name the field too: without it, that is refused again
    const without = Effect.tap(send(call, undefined), () => Effect.sync(() => void (sendsFormat = false)))
    return yield* Effect.catchIf(send(call, format), isRefused, () => without)
  })
}
