/**
 * What was said, whole, as a page sees it: an answer as chunks, a user's message as parts.
 *
 * Does not own how much of an answer a page has been shown already (`UiAttempt`).
 */
import * as FileData from "../FileData.ts"
import * as Message from "../Message.ts"
import * as Source from "../Source.ts"
import * as OpenCall from "../state/OpenCall.ts"
import type { Chunk, SourcePart, UserPart } from "./UiChunk.ts"

/**
 * A call's id on a page. The AI SDK looks for a call in the whole chat, where the same event ids occur in many runs: so the run's
 * id is put in front.
 */
export const toolCallId = (runId: string, callId: string): string => `${runId}/${callId}`

/** The call that a page means, by the id that events have. Pages made before this version use that id itself. */
export const callIdOf = (runId: string, toolCallId: string): string =>
  toolCallId.startsWith(`${runId}/`) ? toolCallId.slice(runId.length + 1) : toolCallId

/** A part of an answer, with its id on a page: a result has the id of its call. */
export interface Told {
  readonly id: string
  readonly part: Message.AssistantPart
}

/**
 * The parts of a run's answer that a page sees, in order. Its calls get the ids of events, the provider's own calls those of the
 * provider: the provider's ids of our calls need not be unique. They are added to `calls`, which has those of earlier answers,
 * by the provider's ids: a result may come turns after its call. A result without a call before it is left out.
 */
export const told = (
  runId: string,
  turn: number,
  content: ReadonlyArray<Message.AssistantPart>,
  sendReasoning: boolean,
  calls: Map<string, string> = new Map()
): Array<Told> => {
  let place = 0
  return content.flatMap((part, at): Array<Told> => {
    switch (part.type) {
      case "text":
      case "reasoning":
        return part.text === "" || (part.type === "reasoning" && !sendReasoning) ? [] : [{ id: `${turn}:${at}`, part }]
      case "file":
        return [{ id: `${turn}:${at}`, part }]
      case "tool-call": {
        const callId = part.providerExecuted === true ? `${turn}/${part.id}` : OpenCall.callId(turn, place++)
        const id = toolCallId(runId, callId)
        calls.set(part.id, id)
        return [{ id, part }]
      }
      case "tool-result": {
        const id = calls.get(part.id)
        return id === undefined ? [] : [{ id, part }]
      }
    }
  })
}

/** A whole part. */
export const whole = ({ id, part }: Told): Array<Chunk> => {
  switch (part.type) {
    case "text":
    case "reasoning":
      return [
        { type: `${part.type}-start`, id },
        { type: `${part.type}-delta`, id, delta: part.text },
        { type: `${part.type}-end`, id }
      ]
    case "file":
      return [{ type: "file", mediaType: part.mediaType, url: urlOf(part) }]
    case "tool-call":
      return [{ type: "tool-input-available", toolCallId: id, ...by(part), toolName: part.name, input: part.params }]
    case "tool-result":
      return part.isFailure
        ? [{ type: "tool-output-error", toolCallId: id, ...by(part), errorText: inWords(part.result) }]
        : [{ type: "tool-output-available", toolCallId: id, ...by(part), output: part.result }]
  }
}

const by = ({ providerExecuted }: Message.ToolCallPart | Message.ToolResultPart) =>
  providerExecuted === true ? { providerExecuted } : {}

/**
 * What a turn's answer rests on; none where it names nothing. Ids are unique in a message: the same source may be that of several turns.
 * A log from elsewhere may hold what no run keeps: a page is told of no address that it should not link to.
 */
export const sources = (turn: number, all: ReadonlyArray<Source.Source> = []): Array<SourcePart> =>
  all.filter((source) => Source.bounded(source) !== undefined).map((source) => {
    const sourceId = `${turn}:${Source.key(source)}`
    if (source.type === "url") {
      const { title, url } = source
      return { type: "source-url", sourceId, url, ...(title === undefined ? {} : { title }) }
    }
    const { fileName, mediaType, title } = source
    const filename = fileName === undefined ? {} : { filename: fileName }
    return { type: "source-document", sourceId, mediaType, title, ...filename }
  })

/** The texts of an answer that was cut off. */
export const unfinished = (texts: ReadonlyArray<string>): Array<Chunk> =>
  texts.flatMap((text, at) => whole({ id: `unfinished:${at}`, part: Message.text(text) }))

/** An error result, in words for people. */
export const inWords = (result: unknown): string => typeof result === "string" ? result : JSON.stringify(result)

/** What a user said. */
export const user = ({ content }: Message.UserMessage): Array<UserPart> =>
  content.map((part) =>
    part.type === "text" ? { type: "text", text: part.text } : {
      type: "file",
      mediaType: part.mediaType,
      url: urlOf(part),
      ...(part.fileName === undefined ? {} : { filename: part.fileName })
    }
  )

/** With base64 that browsers read: inputs take more. */
const urlOf = (file: Message.FilePart): string => {
  const data = FileData.normal(file.data)
  return FileData.isAddress(data) ? data : `data:${file.mediaType};base64,${data}`
}
