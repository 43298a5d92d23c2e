/**
 * The messages of a session that a page begins with, from its log, run by run.
 *
 * Does not own what a message is made of (`UiMessage`), nor which chunks make it (`UiWriter`).
 */
import type * as Message from "../Message.ts"
import type * as RunEvent from "../RunEvent.ts"
import type { Chunk } from "./UiChunk.ts"
import * as UiContent from "./UiContent.ts"
import { Answer, type UiMessage } from "./UiMessage.ts"
import { messageIdOf, type Options, UiWriter } from "./UiWriter.ts"

export class Conversation {
  readonly #options: Options
  readonly #messages: Array<UiMessage> = []
  #writer: UiWriter | undefined
  #answer = new Answer()
  #runId = ""

  constructor(options: Options) {
    this.#options = options
  }

  take(event: RunEvent.Durable): this {
    if (event._tag === "RunStarted") {
      this.#close(true)
      this.#runId = event.runId
      this.#writer = new UiWriter(this.#options)
      const { history = [], messages } = event.input
      const before = history.map((message, at) => said(`${event.runId}:history:${at}`, message))
      const now = messages.map((message, at) =>
        said(at === messages.length - 1 ? event.runId : `${event.runId}:${at}`, message)
      )
      // the AI SDK does not accept a message without parts
      this.#messages.push(...[...before, ...now].filter(({ parts }) => parts.length > 0))
    }
    this.#put(this.#writer?.take(event))
    return this
  }

  end(): Array<UiMessage> {
    this.#close()
    return this.#messages
  }

  #put(chunks: ReadonlyArray<Chunk> = []): void {
    for (const chunk of chunks) this.#answer.put(chunk)
  }

  /** The answer of the run is whole, as far as the log has it. */
  #close(isFollowed = false): void {
    this.#put(this.#writer?.over(isFollowed))
    const { metadata, parts } = this.#answer
    if (parts.some(({ type }) => type !== "step-start")) {
      const id = messageIdOf(this.#runId)
      this.#messages.push({ id, role: "assistant", parts, ...(metadata === undefined ? {} : { metadata }) })
    }
    this.#answer = new Answer()
  }
}

/** A message that a run began with. */
const said = (id: string, message: Message.UserMessage | Message.AssistantMessage): UiMessage => {
  if (message.role === "user") return { id, role: "user", parts: UiContent.user(message) }
  const answer = new Answer()
  for (const chunk of UiContent.told(id, 0, message.content, true).flatMap(UiContent.whole)) answer.put(chunk)
  return { id, role: "assistant", parts: answer.parts }
}
