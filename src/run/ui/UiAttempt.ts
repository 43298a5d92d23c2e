/**
 * One attempt at an answer as a page has seen it: its deltas as they come, and what the settled message adds or takes back.
 *
 * Does not own which attempt counts; the events say so.
 */
import type * as Message from "../Message.ts"
import type * as RunEvent from "../RunEvent.ts"
import * as OpenCall from "../state/OpenCall.ts"
import type { Chunk } from "./UiChunk.ts"
import * as UiContent from "./UiContent.ts"

interface Block {
  readonly type: "text" | "reasoning"
  readonly id: string
  text: string
}

/** A call whose arguments are shown; `block` is the provider's id of it. */
interface Call {
  readonly type: "tool-call"
  readonly id: string
  readonly block: string
}

export class UiAttempt {
  readonly #runId: string
  readonly turn: number
  readonly attempt: number
  /** in order of appearance */
  readonly #shown: Array<Block | Call> = []

  constructor({ attempt, runId, turn }: Pick<RunEvent.Delta, "runId" | "turn" | "attempt">) {
    this.#runId = runId
    this.turn = turn
    this.attempt = attempt
  }

  /** A piece of the attempt; a block's first piece comes after the block's start. */
  delta(event: RunEvent.Delta): Array<Chunk> {
    if (event._tag === "ToolParamsDelta") return this.#params(event)
    const type = event._tag === "TextDelta" ? "text" : "reasoning"
    const id = `${this.turn}.${this.attempt}:${event.block}`
    const known = this.#shown.findLast((shown): shown is Block => shown.type === type && shown.id === id)
    const delta: Chunk = { type: `${type}-delta`, id, delta: event.delta }
    if (known !== undefined) {
      known.text += event.delta
      return [delta]
    }
    this.#shown.push({ type, id, text: event.delta })
    return [{ type: `${type}-start`, id }, delta]
  }

  #params({ block, delta, tool }: Extract<RunEvent.Delta, { _tag: "ToolParamsDelta" }>): Array<Chunk> {
    const calls = this.#shown.filter((shown) => shown.type === "tool-call")
    const known = calls.find((call) => call.block === block)
    // most calls come in the order of their message; `settled` corrects those that do not
    const toolCallId = known?.id ?? UiContent.toolCallId(this.#runId, OpenCall.callId(this.turn, calls.length))
    const piece: Chunk = { type: "tool-input-delta", toolCallId, inputTextDelta: delta }
    if (known !== undefined) return [piece]
    this.#shown.push({ type: "tool-call", id: toolCallId, block })
    return [{ type: "tool-input-start", toolCallId, toolName: tool }, piece]
  }

  /** Ends what was begun. */
  end(): Array<Chunk> {
    return this.#shown.flatMap((shown): Array<Chunk> =>
      shown.type === "tool-call" ? [] : [{ type: `${shown.type}-end`, id: shown.id }]
    )
  }

  /** Ends an answer that was cut off, of whose texts a slow reader may have seen less: they are shown whole then. */
  over(texts: ReadonlyArray<string>): Array<Chunk> {
    const shown = this.#shown.flatMap((one) => one.type === "text" && one.text.trim() !== "" ? one.text : [])
    const isWhole = texts.length === 0 || JSON.stringify(shown) === JSON.stringify(texts)
    return isWhole ? this.end() : [{ type: "reset-step" }, ...UiContent.unfinished(texts)]
  }

  /** What the settled message adds. If it was shown differently, in part, or in another order, it is taken back and shown whole. */
  settled(
    content: ReadonlyArray<Message.AssistantPart>,
    sendReasoning: boolean,
    calls: Map<string, string>
  ): Array<Chunk> {
    const told = UiContent.told(this.#runId, this.turn, content, sendReasoning, calls)
    const parts = told.filter(({ part }) => part.type !== "tool-result")
    if (!this.#shown.every((shown, at) => isOf(shown, parts[at]))) {
      return [{ type: "reset-step" }, ...told.flatMap(UiContent.whole)]
    }
    const texts = new Set(parts.slice(0, this.#shown.length).filter(({ part }) => part.type !== "tool-call"))
    return [...this.end(), ...told.flatMap((one) => texts.has(one) ? [] : UiContent.whole(one))]
  }
}

/** Whether it shows this part, as far as a part is shown before its answer is settled. */
const isOf = (shown: Block | Call, told: UiContent.Told | undefined): boolean => {
  if (shown.type === "tool-call") {
    return told?.part.type === "tool-call" && told.part.id === shown.block && told.id === shown.id
  }
  return told?.part.type === shown.type && told.part.text === shown.text
}
