/**
 * The client of `http-server.ts`: asks, reads the events of a run as a stream, and reconnects where it left off. Works with
 * any effect `HttpClient` whose base URL is the server; the tests use it over loopback.
 */
import { Effect, Stream } from "effect"
import { Sse } from "effect/encoding"
import { HttpClient, type HttpClientError, HttpClientRequest, type HttpClientResponse } from "effect/http"
import { RunEvent } from "fiberloop"

export type Response = Effect.Effect<
  HttpClientResponse.HttpClientResponse,
  HttpClientError.HttpClientError,
  HttpClient.HttpClient
>

/** `id` is that of the last event that had one, as in browsers: where to continue. */
export interface Seen {
  readonly id: string | undefined
  readonly event: RunEvent.RunEvent
}

export interface Ask {
  readonly text: string
  readonly runId?: string
}

/** Runs the agent; leaving the response aborts the run. */
export const stream = (session: string, ask: Ask): Response => post(`${of(session)}/stream`, ask)

/** Runs the agent even if this client leaves; read its events with `watch`. */
export const start = (session: string, ask: Ask): Response => post(`${of(session)}/start`, ask)

/** Aborts a run that is live, waiting or left behind in the session. */
export const abort = (session: string): Response => HttpClient.del(`${of(session)}/run`)

export const answer = (session: string, ask: Ask): Response => post(`${of(session)}/answer`, ask)

/** Reads along, from the event after `lastId`. */
export const watch = (session: string, lastId?: string): Response =>
  HttpClient.get(`${of(session)}/events`, lastId === undefined ? {} : { headers: { "last-event-id": lastId } })

/** The conversation so far. */
export const messages = (session: string): Response => HttpClient.get(`${of(session)}/messages`)

/** The server goes on with what ended only with its process, or its store. */
const isLast = (event: RunEvent.RunEvent) => RunEvent.isEnd(event) && !RunEvent.isLeft(event)

/** The events of a response, up to the end of the run. */
export const events = (response: Response) =>
  Stream.unwrap(Effect.map(response, (opened) => opened.stream)).pipe(
    Stream.decodeText,
    Stream.pipeThroughChannel(Sse.decode()),
    Stream.map(({ data, id }): Seen => ({ id, event: JSON.parse(data) })),
    Stream.takeUntil(({ event }) => isLast(event))
  )

/** An id may contain anything, even slashes. */
const of = (session: string) => `/sessions/${encodeURIComponent(session)}`

const post = (path: string, body: object): Response =>
  HttpClient.execute(HttpClientRequest.post(path).pipe(HttpClientRequest.bodyJsonUnsafe(body)))
