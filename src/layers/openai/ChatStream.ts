/**
 * Turns the body of a 200 response into arrays of parts, one array for what arrived together.
 *
 * Owns when a call is over: `[DONE]`, a finish reason with all of its usage, a finish reason followed by silence for a while, or the
 * end of the body. The stream then ends, which closes a connection that the server leaves open. Does not own the request
 * (`ChatModel`), nor what the body says (`ChatReader`).
 */
import type * as AiError from "effect/ai/AiError"
import type * as Response from "effect/ai/Response"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as HttpClientError from "effect/http/HttpClientError"
import * as Pull from "effect/Pull"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { TimeLeft } from "../../services/attempts/TimeLeft.ts"
import * as AdapterErrors from "../provider/AdapterErrors.ts"
import * as Closing from "../provider/Closing.ts"
import * as NetworkErrors from "../provider/NetworkErrors.ts"
import * as ChatReader from "./ChatReader.ts"
import type { Endpoint } from "./Endpoint.ts"

type Part = Response.StreamPartEncoded

/** How long, in milliseconds, to wait for usage after the finish reason and after the last thing read. */
const usageWait = 2000

/** The same where content has followed a finish reason: more of it may come. */
const contentWait = 20_000

/** How much of the time that is left such a wait may take: an answer that is whole is not to fail for want of its usage. */
const share = 0.9

/**
 * Parts come as they arrive; those read before a failure come before it. Tool calls come only when the model finished:
 * a body that ends or breaks off earlier fails with an error that `AdapterErrors.isTruncated` recognises. When the
 * connection breaks after the finish reason, or stays open, the answer is whole; only its usage may be missing. One that breaks after
 * content that followed a finish reason is not. One that stays open is left before the attempt's time is over (`TimeLeft`).
 */
export const parts = (
  body: Stream.Stream<Uint8Array, HttpClientError.HttpClientError>,
  endpoint: Endpoint,
  contentType: string,
  model: string
): Stream.Stream<Part, AiError.AiError> => {
  const texts = body.pipe(
    Stream.decodeText,
    Stream.mapError((error) => AdapterErrors.inAnswer(endpoint, NetworkErrors.fromHttpClient(endpoint, error)))
  )
  return Stream.transformPull(texts, (pull) =>
    Effect.map(TimeLeft, (timeLeft) => {
      const reader = ChatReader.make(endpoint, contentType, model)
      /** since when nothing has come, and for how long that may go on at most */
      let quiet: { readonly since: number; readonly most: number } | undefined
      let isLeft = false
      /** Ends the body a while after the finish reason: the answer is whole, whatever else the server sends. */
      const onward = Effect.suspend(() => {
        if (!reader.isFinished()) return pull
        const now = performance.now()
        quiet ??= { since: now, most: timeLeft() * share }
        const left = quiet.since + Math.min(reader.isEarly() ? contentWait : usageWait, quiet.most) - now
        const leave = Effect.suspend(() => {
          isLeft = true
          return Cause.done()
        })
        return left <= 0 ? leave : Effect.raceFirst(pull, Effect.flatMap(Closing.wait(left), () => leave))
      })
      const next: Pull.Pull<Arr.NonEmptyReadonlyArray<Part>, AiError.AiError> = Effect.suspend(() => {
        const taken = reader.take()
        const outcome = reader.outcome()
        if (Arr.isArrayNonEmpty(taken)) {
          quiet = undefined
          return outcome === "settled" && !isLeft ? Effect.as(Closing.drain(pull), taken) : Effect.succeed(taken)
        }
        if (outcome === "settled") return Cause.done()
        if (outcome !== undefined) return Effect.fail(outcome)
        return Pull.matchEffect(onward, {
          onSuccess: (pieces) => {
            for (const piece of pieces) reader.push(piece)
            return next
          },
          onDone: () => {
            reader.end()
            return next
          },
          onFailure: (cause) => {
            const error = Cause.findError(cause)
            if (Result.isFailure(error)) return Effect.failCause(error.failure)
            reader.end(error.success)
            return next
          }
        })
      })
      return next
    }))
}
