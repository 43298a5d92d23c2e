/**
 * One attempt at an answer as a page was shown it: its deltas as they come, and what the settled message adds or takes back.
 *
 * Does not own which attempt counts; the events say that.
 */
import * as Message from "../Message.ts"
import type * as RunEvent from "../RunEvent.ts"
import * as OpenCall from "../state/OpenCall.ts"
import type { Chunk } from "./UiChunk.ts"
import * as UiContent from "./UiContent.ts"

interface Block {
  readonly type: "text" | "reasoning"
  readonly id: string
  text: string
}

export class UiAttempt {
  readonly turn: number
  readonly attempt: number
  /** in order of appearance */
  readonly #blocks: Array<Block> = []
  /** calls whose arguments are shown, by the provider's id */
  readonly #calls = new Map<string, string>()

  constructor({ attempt, turn }: Pick<RunEvent.Delta, "turn" | "attempt">) {
    this.turn = turn
    this.attempt = attempt
  }

  get isShown(): boolean {
    return this.#blocks.length > 0 || this.#calls.size > 0
  }

  /** A piece of it, the first one of a block behind its start. */
  delta(event: RunEvent.Delta): Array<Chunk> {
    if (event._tag === "ToolParamsDelta") return this.#params(event)
    const type = event._tag === "TextDelta" ? "text" : "reasoning"
    const id = `${this.turn}.${this.attempt}:${event.block}`
    const known = this.#blocks.findLast((block) => block.id === id && block.type === type)
    const delta: Chunk = { type: `${type}-delta`, id, delta: event.delta }
    if (known !== undefined) {
      known.text += event.delta
      return [delta]
    }
    this.#blocks.push({ type, id, text: event.delta })
    return [{ type: `${type}-start`, id }, delta]
  }

  #params({ block, delta, tool }: Extract<RunEvent.Delta, { _tag: "ToolParamsDelta" }>): Array<Chunk> {
    const known = this.#calls.get(block)
    // most calls come in the order of their message; `settled` sees to those that do not
    const toolCallId = known ?? OpenCall.callId(this.turn, this.#calls.size)
    const piece: Chunk = { type: "tool-input-delta", toolCallId, inputTextDelta: delta }
    if (known !== undefined) return [piece]
    this.#calls.set(block, toolCallId)
    return [{ type: "tool-input-start", toolCallId, toolName: tool }, piece]
  }

  /** Ends what was begun. */
  end(): Array<Chunk> {
    return this.#blocks.map(({ id, type }) => ({ type: `${type}-end`, id }))
  }

  /** What the settled message adds: calls and files. What was shown otherwise, or in part, is taken back and told whole. */
  settled(
    content: ReadonlyArray<Message.AssistantPart>,
    sendReasoning: boolean,
    ids: ReadonlyMap<string, string>
  ): Array<Chunk> {
    const isRight = this.#textOf("text") === Message.textOf(content) &&
      (!sendReasoning || this.#textOf("reasoning") === reasoningOf(content)) && this.#hasCallsOf(ids)
    if (isRight) return [...this.end(), ...UiContent.answer(this.turn, content, new Set(["other"]), ids)]
    const kinds = sendReasoning ? UiContent.all : new Set<UiContent.Kind>(["text", "other"])
    const taken: Array<Chunk> = this.isShown ? [{ type: "reset-step" }] : []
    return [...taken, ...UiContent.answer(this.turn, content, kinds, ids)]
  }

  #textOf(type: Block["type"]): string {
    return this.#blocks.map((block) => block.type === type ? block.text : "").join("")
  }

  #hasCallsOf(ids: ReadonlyMap<string, string>): boolean {
    return Array.from(this.#calls).every(([id, toolCallId]) => ids.get(id) === toolCallId)
  }
}

const reasoningOf = (content: ReadonlyArray<Message.AssistantPart>): string =>
  content.map((part) => part.type === "reasoning" ? part.text : "").join("")
