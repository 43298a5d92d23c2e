/** What a page of the AI SDK makes of chunks, computed by the AI SDK itself. */
import {
  asSchema,
  readUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
  uiMessageChunkSchema,
  validateUIMessages
} from "ai"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as RunError from "../../src/run/RunError.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as UiMessages from "../../src/run/UiMessages.ts"

/** All states of the page's message, and the errors the page is told. */
export const read = (chunks: ReadonlyArray<UiMessages.Chunk>, message?: UIMessage) =>
  Effect.promise(async () => {
    const states: Array<UIMessage> = []
    const errors: Array<string> = []
    const stream = new ReadableStream<UIMessageChunk>({
      start: (controller) => {
        for (const chunk of chunks) controller.enqueue(chunk)
        controller.close()
      }
    })
    const onError = (error: unknown) => errors.push(error instanceof Error ? error.message : String(error))
    // the reader continues with the message it is given
    const given = message === undefined ? {} : { message: structuredClone(message) }
    for await (const state of readUIMessageStream({ stream, onError, ...given })) states.push(structuredClone(state))
    return { states, last: states.at(-1), errors }
  })

/** Fails the test if the AI SDK does not accept a message that a page has. */
export const accepted = (message: UIMessage | undefined): Effect.Effect<void> =>
  message === undefined ? Effect.void : Effect.promise(() => validateUIMessages({ messages: [message] }))

/** Fails the test if the AI SDK does not accept a chunk that a page is sent. */
export const acceptedChunks = (chunks: ReadonlyArray<UiMessages.Chunk>): Effect.Effect<void> =>
  Effect.promise(async () => {
    const schema = asSchema(uiMessageChunkSchema)
    for (const chunk of chunks) {
      const read = await schema.validate?.(chunk)
      if (read?.success !== true) throw new Error(`not a chunk: ${JSON.stringify(chunk)}`)
    }
  })

/** The chunks of a run's events, collected. */
export const chunksOf = (
  events: Stream.Stream<RunEvent.RunEvent, RunError.RunError>,
  options?: UiMessages.Options
): Effect.Effect<ReadonlyArray<UiMessages.Chunk>> => Stream.runCollect(UiMessages.stream(options)(events))

/** A message as JSON has it, without undefined fields. */
export const plain = (message: unknown): unknown => JSON.parse(JSON.stringify(message))

/** The parts of a message, briefly. */
export const brief = (message: unknown): Array<string> => {
  const { parts } = message as UIMessage
  return parts.map((part) => {
    if (part.type === "text" || part.type === "reasoning") return `${part.type}: ${part.text}`
    if ("toolCallId" in part) {
      const end = part.output === undefined ? part.errorText : JSON.stringify(part.output)
      return `${part.type} ${JSON.stringify(part.input)} ${part.state}${end === undefined ? "" : ` ${end}`}`
    }
    if (part.type === "source-url" || part.type === "source-document") {
      const { sourceId, title } = part
      const told = part.type === "source-url" ? [part.url, title] : [part.mediaType, title, part.filename]
      return [part.type, sourceId, ...told].filter((word) => word !== undefined).join(" ")
    }
    return part.type === "file" ? `file ${part.mediaType} ${part.url}` : part.type
  })
}

/** What a page begins with for this log, which the AI SDK accepts. */
export const opened = (
  log: ReadonlyArray<RunEvent.Durable>,
  options?: Pick<UiMessages.Options, "sendReasoning" | "messageMetadata">
): Effect.Effect<Array<UiMessages.UiMessage>> =>
  Effect.tap(
    UiMessages.messages(options)(Stream.fromIterable(log)),
    (messages) => messages.length === 0 ? Effect.void : Effect.promise(() => validateUIMessages({ messages }))
  )
