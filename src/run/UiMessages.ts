/**
 * Runs for pages built with the AI SDK's `useChat`: a run's events as its UI message stream, the messages of a log, and what
 * its transport requests. Version 7 of that protocol: https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol.
 *
 * Does not own how events become chunks (`ui/UiWriter`), nor who may read which session.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as RunError from "./RunError.ts"
import type * as RunEvent from "./RunEvent.ts"
import type { Chunk } from "./ui/UiChunk.ts"
import { Conversation } from "./ui/UiConversation.ts"
import type { UiMessage } from "./ui/UiMessage.ts"
import * as UiRequest from "./ui/UiRequest.ts"
import { type Options, UiWriter } from "./ui/UiWriter.ts"

export type { Chunk } from "./ui/UiChunk.ts"
export type { UiMessage } from "./ui/UiMessage.ts"
export type { Options as RequestOptions, Request } from "./ui/UiRequest.ts"
export { type Options, runIdOf } from "./ui/UiWriter.ts"

/** Headers for a response whose body `encode` makes. */
export const headers: Readonly<Record<string, string>> = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
  "x-vercel-ai-ui-message-stream": "v1"
}

type Told = RunEvent.RunEvent | { readonly _tag: "Broken"; readonly error: RunError.RunError }

/**
 * The events of a run as chunks: one message per run, one step per turn. What an attempt that does not count has shown is
 * taken back. A failure is the last chunk, and the stream does not fail; `onError` decides what the chunk says.
 */
export const stream =
  (options: Options = {}) =>
  <R>(events: Stream.Stream<RunEvent.RunEvent, RunError.RunError, R>): Stream.Stream<Chunk, never, R> =>
    events.pipe(
      Stream.catch((error): Stream.Stream<Told> => Stream.make({ _tag: "Broken", error })),
      Stream.mapAccum(
        () => new UiWriter(options),
        (writer, told): readonly [UiWriter, ReadonlyArray<Chunk>] => [
          writer,
          told._tag === "Broken" ? writer.broken(told.error) : writer.take(told)
        ],
        { onHalt: (writer) => writer.over() }
      )
    )

/** Chunks as server-sent events, followed by the protocol's end marker. */
export const encode = <E, R>(chunks: Stream.Stream<Chunk, E, R>): Stream.Stream<string, E, R> =>
  Stream.concat(Stream.map(chunks, (chunk) => `data: ${JSON.stringify(chunk)}\n\n`), Stream.make("data: [DONE]\n\n"))

/** What a request of the chat transport asks for, from its JSON body: see `ui/UiRequest`. */
export const request: (
  body: unknown,
  options?: UiRequest.Options
) => Effect.Effect<UiRequest.Request, RunError.RunError> = UiRequest.read

/** Everything that was said in a session, as the messages that a page begins with; their ids are those that `stream` uses. */
export const messages =
  (options: Pick<Options, "sendReasoning" | "messageMetadata"> = {}) =>
  <E, R>(events: Stream.Stream<RunEvent.Durable, E, R>): Effect.Effect<Array<UiMessage>, E, R> =>
    Effect.map(
      Stream.runFold(events, () => new Conversation(options), (conversation, event) => conversation.take(event)),
      (conversation) => conversation.end()
    )
