/**
 * The other side of `http-server.ts`: asks, reads the events of a run as a stream, and comes back to where it was. Works
 * with any `HttpClient` of effect whose base is the server; the tests use it over loopback.
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

/** `id` is that of the last event that had one, as browsers keep it: where to go on. */
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

/** Runs the agent, whoever leaves; its events are for `watch`. */
export const start = (session: string, ask: Ask): Response => post(`${of(session)}/start`, ask)

/** Aborts what runs, waits or was left in the session. */
export const abort = (session: string): Response => HttpClient.del(`${of(session)}/run`)

export const answer = (session: string, ask: Ask): Response => post(`${of(session)}/answer`, ask)

/** Reads along, after the event `lastId`. */
export const watch = (session: string, lastId?: string): Response =>
  HttpClient.get(`${of(session)}/events`, lastId === undefined ? {} : { headers: { "last-event-id": lastId } })

/** What was said so far. */
export const messages = (session: string): Response => HttpClient.get(`${of(session)}/messages`)

/** The events of a response, to the end of the run. */
export const events = (response: Response) =>
  Stream.unwrap(Effect.map(response, (opened) => opened.stream)).pipe(
    Stream.decodeText,
    Stream.pipeThroughChannel(Sse.decode()),
    Stream.map(({ data, id }): Seen => ({ id, event: JSON.parse(data) })),
    Stream.takeUntil(({ event }) => RunEvent.isEnd(event))
  )

/** An id may hold anything, slashes too. */
const of = (session: string) => `/sessions/${encodeURIComponent(session)}`

const post = (path: string, body: object): Response =>
  HttpClient.execute(HttpClientRequest.post(path).pipe(HttpClientRequest.bodyJsonUnsafe(body)))
