/**
 * Turns the body of a 200 response into arrays of parts, one array for what arrived together.
 *
 * Owns when a call is over: `[DONE]`, a finish reason with usage, a finish reason and no more within a while, or the end of
 * the body. The stream then ends, which closes a connection that the server leaves open. Does not own the request
 * (`LanguageModelOpenAi`).
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
import * as Json from "../provider/Json.ts"
import * as ProviderError from "../provider/ProviderError.ts"
import * as ChatChunk from "./ChatChunk.ts"
import * as ChatResponse from "./ChatResponse.ts"
import * as Closing from "./Closing.ts"
import type { Endpoint } from "./Endpoint.ts"
import * as Errors from "./Errors.ts"
import * as EventStream from "./EventStream.ts"

type Part = Response.StreamPartEncoded

const longestDocument = 65_536

interface Reader {
  readonly push: (text: string) => void
  /** The body ended, or broke off with `error`. */
  readonly end: (error?: AiError.AiError) => void
  /** The model finished: what may still come is usage. */
  readonly isFinished: () => boolean
  /** Takes the parts that were read. */
  readonly take: () => Array<Part>
  /** Once defined, nothing more is read. */
  readonly outcome: () => "settled" | AiError.AiError | undefined
}

const makeReader = (endpoint: Endpoint, contentType: string, model: string): Reader => {
  const response = ChatResponse.make(model)
  let parts: Array<Part> = []
  let outcome: "settled" | AiError.AiError | undefined
  let hasEvents = false
  let isAtEnd = false

  const settle = () => {
    switch (response.end(parts)) {
      case undefined:
        outcome = "settled"
        break
      case "truncated":
        outcome = Errors.truncated(endpoint)
        break
      case "failed":
        outcome = Errors.gaveUp(endpoint)
        break
      case "nameless":
        outcome = Errors.invalidResponse(endpoint, "sent a tool call without a name; try again")
        break
    }
  }

  const read = (name: string, data: string) => {
    hasEvents = true
    if (outcome !== undefined || data.trim() === "") return
    if (data === "[DONE]") return settle()
    const json = Json.parse(data)
    const payload = Json.object(json)
    if (name === "error" || (payload !== undefined && ProviderError.isError(payload))) {
      outcome = Errors.fromProvider(endpoint, ProviderError.read(json ?? data))
    } else if (payload !== undefined) {
      response.push(ChatChunk.read(payload), parts)
      if (response.isComplete()) settle()
    } else if (!isAtEnd) {
      outcome = Errors.invalidResponse(endpoint, "sent an event that is not a JSON object; check the base URL")
    }
  }

  const events = EventStream.make((event) => read(event.event, event.data))

  /** A body that is no event stream: an error that came with status 200, or something else entirely. */
  const readDocument = (document: string, isWhole: boolean) => {
    const payload = document.trimEnd().endsWith("}") ? Json.object(Json.parse(document)) : undefined
    if (payload !== undefined && ProviderError.isError(payload)) {
      outcome = Errors.fromProvider(endpoint, ProviderError.read(payload))
    } else if (isWhole || payload !== undefined || document.startsWith("<") || document.length > longestDocument) {
      outcome = Errors.notAStream(endpoint, document.startsWith("<") ? "a web page" : "a JSON document")
    }
  }

  return {
    push(text) {
      if (outcome !== undefined) return
      if (!events.push(text)) outcome ??= Errors.invalidResponse(endpoint, "sent an event of more than 10 MiB")
      const document = events.document()
      if (document !== undefined) readDocument(document, false)
    },
    end(error) {
      isAtEnd = true
      const document = events.document()
      if (document !== undefined && error === undefined) return readDocument(document, true)
      events.end()
      if (outcome !== undefined) return
      if (error !== undefined && !response.isFinished()) outcome = error
      else if (hasEvents || contentType === "" || contentType.includes("event-stream")) settle()
      else outcome = Errors.notAStream(endpoint, contentType)
    },
    isFinished: response.isFinished,
    take() {
      const taken = parts
      parts = []
      return taken
    },
    outcome: () => outcome
  }
}

/** How long usage may come behind the finish reason, and what was read last. */
const usageWait = 2000

/**
 * Parts come as they arrive; those read before a failure come before it. Tool calls come only when the model finished:
 * a body that ends or breaks off earlier fails with an error that `Errors.isTruncated` recognises. When the connection breaks
 * after the finish reason, or stays open, the answer is whole, and only its usage may be missing.
 */
export const parts = (
  body: Stream.Stream<Uint8Array, HttpClientError.HttpClientError>,
  endpoint: Endpoint,
  contentType: string,
  model: string
): Stream.Stream<Part, AiError.AiError> => {
  const texts = body.pipe(
    Stream.decodeText,
    Stream.mapError((error) => Errors.inAnswer(endpoint, Errors.network(endpoint, error)))
  )
  return Stream.transformPull(texts, (pull) =>
    Effect.sync(() => {
      const reader = makeReader(endpoint, contentType, model)
      let quietSince: number | undefined
      let isLeft = false
      /** The body's end, from a while after the finish reason on: the answer is whole, whatever else a server sends. */
      const onward = Effect.suspend(() => {
        if (!reader.isFinished()) return pull
        quietSince ??= performance.now()
        const left = quietSince + usageWait - performance.now()
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
          quietSince = undefined
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
