/** Turns a response with an unsuccessful status into the error that it holds. Does not own what errors mean (`ProviderError`). */
import type * as AiError from "effect/ai/AiError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Stream from "effect/Stream"
import { TimeLeft } from "../../services/attempts/TimeLeft.ts"
import * as AdapterErrors from "../provider/AdapterErrors.ts"
import * as Json from "../provider/Json.ts"
import * as ProviderError from "../provider/ProviderError.ts"
import * as RetryAfter from "../provider/RetryAfter.ts"
import type { Endpoint } from "./Endpoint.ts"

const longestErrorBody = 65_536

/** How long a body is waited for, in milliseconds. */
const longestWait = 5000

/**
 * The text of an error's body: what arrives in time, up to its limit or the end of a JSON object. A body is waited for no longer than
 * half of what is left of the attempt's time, so that the status is told without it.
 */
const readError = (response: HttpClientResponse.HttpClientResponse): Effect.Effect<string> => {
  let text = ""
  const isOpen = () =>
    text.length < longestErrorBody
    && !(text.trimEnd().endsWith("}") && Json.object(Json.parse(text)) !== undefined)
  const read = response.stream.pipe(
    Stream.decodeText(),
    Stream.takeWhile((piece) => {
      text += piece
      return isOpen()
    }),
    Stream.runDrain,
    Effect.ignore
  )
  return TimeLeft.use((timeLeft) => Effect.timeoutOption(read, Math.min(longestWait, timeLeft() / 2))).pipe(
    Effect.map(() => text)
  )
}

/** Whether a response of this status has a body that may be an answer. */
export const isAnswered = (status: number): boolean =>
  status >= 200 && status <= 299 && status !== 204 && status !== 205

/** Fails with what the response says. */
export const fail = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  response: HttpClientResponse.HttpClientResponse
): Effect.fn.Return<never, AiError.AiError> {
  const { headers, status } = response
  if (status < 400) return yield* AdapterErrors.notAnswered(endpoint, status, headers["location"])
  const error = ProviderError.fromAnswer({ body: yield* readError(response), headers })
  const retryAfter = RetryAfter.fromHeaders(headers, yield* Clock.currentTimeMillis)
  return yield* AdapterErrors.fromProvider(endpoint, error, { status, headers, retryAfter })
})
