/**
 * Handles servers that refuse the format of an answer. A refusal is recognised by its words; the server is asked once more
 * without the format, and no longer gets one where that helped.
 *
 * Does not own how a format is sent (`ResponseFormat`).
 */
import type * as AiError from "effect/ai/AiError"
import * as Effect from "effect/Effect"
import * as AdapterErrors from "./AdapterErrors.ts"
import { OutputSchema } from "./OutputSchema.ts"
import * as Refusal from "./Refusal.ts"
import * as ResponseFormat from "./ResponseFormat.ts"

/** What OpenAI, Anthropic, Google and compatible servers call the field in which a schema is sent. */
const field = new RegExp(
  [
    "response_format|json_schema|structured output|text\\.format",
    "output_(config|format)|output format",
    "response_?(json_?schema|schema|mime_?type)|response mime type|json mode|the specified schema"
  ].join("|"),
  "i"
)

/** Whether a server says that it does not know the field, or does not take it with this model, these tools or this schema. */
const isRefused = (error: AiError.AiError): boolean => field.test(AdapterErrors.wordsOfRefusal(error) ?? "")

/** Sends calls with the format of their answer, where one is asked for, until the server refuses it; then without. */
export const untilRefused = <Call, A, R>(
  isKnown: boolean,
  send: (call: Call, format: ResponseFormat.ResponseFormat | undefined) => Effect.Effect<A, AiError.AiError, R>
) => {
  const formatted = Refusal.untilRefused(
    // words that only quote the conversation can name the field too; such a call is refused again without the format
    { isOther: !isKnown, mayHelp: isRefused },
    (isWithout: boolean, call: Call, format: ResponseFormat.ResponseFormat) =>
      send(call, isWithout ? undefined : format)
  )
  return Effect.fnUntraced(function*(call: Call) {
    const output = yield* OutputSchema
    const format = isKnown && output !== undefined ? ResponseFormat.ofAnswer(output) : undefined
    return yield* format === undefined ? send(call, undefined) : formatted(call, format)
  })
}
