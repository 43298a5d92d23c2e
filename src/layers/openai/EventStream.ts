/**
 * Splits the text of a response into server-sent events (WHATWG HTML, 9.2.6).
 *
 * Owns what `Sse.decode` does not do: it ignores `retry:`, reads a last event without its blank line, and notices a body that
 * is not an event stream at all. Does not own what the events mean (`ChatReader`).
 */
import * as Sse from "effect/encoding/Sse"

interface EventStream {
  /** Adds text; `false` when one event exceeds 10 MiB. */
  readonly push: (text: string) => boolean
  /** Ends the last event. */
  readonly end: () => void
  /** The JSON of the last line outside all events, which is how Ollama and llama.cpp break off. Mostly there is none. */
  readonly strayed: () => string
  /** The body so far, when it starts like a document (HTML, JSON) and not like a list of events. */
  readonly document: () => string | undefined
}

/** A line without a field, or with a field that events do not have. */
const stray = /^(error: ?)?(\{.*\})\s*$/gm

/** How many characters of the body's end are searched for such lines; at times twice as many are kept. */
const tailLength = 16_384

/** How documents start. A line of an event stream starts with a field's name or a colon. */
const documentStart = /^[<{[]/

export const make = (onEvent: (event: Sse.Event) => void): EventStream => {
  const parser = Sse.makeParser((event) => {
    if (event._tag === "Event") onEvent(event)
  })
  let isStarted = false
  let document: string | undefined
  let tail = ""
  return {
    push(text) {
      if (document !== undefined) {
        document += text
        return true
      }
      if (!isStarted) {
        const start = text.trimStart()
        isStarted = start !== ""
        if (documentStart.test(start)) {
          document = start
          return true
        }
      }
      tail += text
      if (tail.length > 2 * tailLength) tail = tail.slice(-tailLength)
      return parser.feed(text) === undefined
    },
    strayed() {
      const [, field, json = ""] = [...tail.matchAll(stray)].at(-1) ?? []
      return field === undefined ? json : `{"error":${json}}`
    },
    end() {
      // The first line feed may be the second half of a CRLF, the next ones end the line and the event.
      parser.feed("\n\n\n")
    },
    document: () => document
  }
}
