/**
 * Reads the text of a 200 response: its events, or the document sent instead of them.
 *
 * Owns what a body says, up to the answer or the error that it becomes. Does not own the connection, nor when it is closed
 * (`ChatStream`).
 */
import type * as AiError from "effect/ai/AiError"
import type * as Response from "effect/ai/Response"
import * as AdapterErrors from "../provider/AdapterErrors.ts"
import * as Json from "../provider/Json.ts"
import * as ProviderError from "../provider/ProviderError.ts"
import * as Attached from "./Attached.ts"
import * as ChatChunk from "./ChatChunk.ts"
import * as ChatResponse from "./ChatResponse.ts"
import type { Endpoint } from "./Endpoint.ts"
import * as EventStream from "./EventStream.ts"

type Part = Response.StreamPartEncoded

const longestDocument = 65_536

interface ChatReader {
  readonly push: (text: string) => void
  /** The body ended, or broke off with `error`. */
  readonly end: (error?: AiError.AiError) => void
  /** Whether the model finished, and whether more may come all the same (`ChatResponse`). */
  readonly isFinished: () => boolean
  readonly isEarly: () => boolean
  /** Takes the parts read so far, with the usage so far last: once for all chunks that arrived together. */
  readonly take: () => Array<Part>
  /** Once defined, nothing more is read. */
  readonly outcome: () => "settled" | AiError.AiError | undefined
}

const notAStream = (endpoint: Endpoint, what: string): AiError.AiError =>
  AdapterErrors.notTheApi(
    endpoint,
    `answered with ${what} instead of an event stream; check that the base URL is that of an OpenAI-compatible API `
      + `(most end in /v1) and that the model can stream`
  )

const endless = "sent more than 64 MiB of reasoning details and calls, which no answer may have; ask for less at once"

/** Whether a text is the data of several events without blank lines between them. */
const isUnparted = (data: string): boolean => Json.object(Json.parse(data.split("\n", 1)[0]!)) !== undefined

/** Whether an event is no part of the API: it has a name of its own, and not even the beginning of an object as its data. */
const isForeign = (name: string, data: string): boolean =>
  name !== "" && name !== "message" && !/error/i.test(name) && !data.startsWith("{")

/** The reader of a body of this content type, answered by the model of this name. */
export const make = (endpoint: Endpoint, contentType: string, model: string): ChatReader => {
  const response = ChatResponse.make(Attached.source(endpoint.hostname, model))
  let parts: Array<Part> = []
  let outcome: "settled" | AiError.AiError | undefined
  let hasEvents = false
  let isAtEnd = false

  /** The last payload, where its words may be those of an error. */
  let said: Json.JsonObject | undefined

  /** The error of a stream that broke off, where it reports one outside its events, or in words alone. */
  const strayed = (): AiError.AiError | undefined => {
    const error = ProviderError.errorIn(Json.parse(events.strayed())) ?? said
    return error === undefined ? undefined : AdapterErrors.fromProvider(endpoint, ProviderError.read(error))
  }

  const settle = () => {
    switch (response.end(parts)) {
      case undefined:
        outcome = "settled"
        break
      case "truncated":
        outcome = strayed() ?? AdapterErrors.truncated(endpoint)
        break
      case "failed":
        outcome = AdapterErrors.gaveUp(endpoint)
        break
      case "nameless":
        outcome = AdapterErrors.invalidResponse(endpoint, "sent a tool call without a name; try again")
        break
    }
  }

  const isOver = () => response.isFinished() && !response.isEarly()

  /** Ends with the error of an event, unless the answer before it is whole. */
  const fail = (error: AiError.AiError) => {
    if (isOver()) settle()
    if (outcome !== "settled") outcome = error
  }

  const read = (name: string, data: string) => {
    hasEvents = true
    const text = data.trim()
    if (outcome !== undefined || text === "") return
    if (text === "[DONE]") return settle()
    const json = Json.parse(data)
    if (json === undefined && isUnparted(text)) {
      const lines = text.split("\n")
      // the name belongs to the last line
      return lines.forEach((line, i) => read(i === lines.length - 1 ? name : "", line))
    }
    const payload = Json.object(json)
    if (name === "error" || ProviderError.errorIn(json) !== undefined) {
      fail(AdapterErrors.fromProvider(endpoint, ProviderError.read(json ?? data)))
    } else if (payload !== undefined) {
      said = ProviderError.saidIn(payload)
      response.push(ChatChunk.read(payload), parts)
      if (response.isTooLarge()) fail(AdapterErrors.invalidResponse(endpoint, endless))
      else if (response.isComplete()) settle()
    } else if (!isAtEnd && json !== null && !isForeign(name, text)) {
      fail(AdapterErrors.invalidResponse(endpoint, "sent an event that is not a JSON object; check the base URL"))
    }
  }

  const events = EventStream.make((event) => read(event.event, event.data))

  /** A body that is no event stream: an error that came with status 200, or something else entirely. */
  const readDocument = (document: string, isWhole: boolean) => {
    const payload = /[}\]]\s*$/.test(document) ? Json.parse(document) : undefined
    const error = ProviderError.errorIn(payload) ?? ProviderError.saidIn(payload)
    if (error !== undefined) {
      outcome = AdapterErrors.fromProvider(endpoint, ProviderError.read(error))
    } else if (isWhole || payload !== undefined || document.startsWith("<") || document.length > longestDocument) {
      outcome = notAStream(endpoint, document.startsWith("<") ? "a web page" : "a JSON document")
    }
  }

  return {
    push(text) {
      if (outcome !== undefined) return
      if (!events.push(text) && outcome === undefined) {
        fail(
          AdapterErrors.invalidResponse(
            endpoint,
            "sent an event of more than 10 MiB, which is too long; ask for less at once"
          )
        )
      }
      const document = events.document()
      if (document !== undefined) readDocument(document, false)
    },
    end(error) {
      isAtEnd = true
      const document = events.document()
      if (document !== undefined && error === undefined) return readDocument(document, true)
      events.end()
      if (outcome !== undefined) return
      if (error !== undefined && !isOver()) outcome = strayed() ?? error
      else if (hasEvents || contentType === "" || contentType.includes("event-stream")) settle()
      else outcome = notAStream(endpoint, contentType)
    },
    isFinished: response.isFinished,
    isEarly: response.isEarly,
    take() {
      if (outcome !== "settled") response.count(parts)
      const taken = parts
      parts = []
      return taken
    },
    outcome: () => outcome
  }
}
