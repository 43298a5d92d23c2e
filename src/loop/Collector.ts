/**
 * Folds the parts of one attempt into the settled content, and each array of parts into the events to show. Keeps
 * strings and counters only; does not know where parts come from or what becomes of the message.
 */
import type * as Message from "../run/Message.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import type * as Usage from "../run/Usage.ts"
import type * as Model from "../services/Model.ts"

type Entry = Block | { readonly kind: "part"; readonly part: Message.AssistantPart }

interface Block {
  readonly kind: "block"
  readonly type: "text" | "reasoning"
  readonly id: string
  text: string
  metadata: Message.Metadata | undefined
}

export class Collector {
  readonly runId: string
  readonly turn: number
  readonly attempt: number
  finish: { readonly reason: RunEvent.FinishReason; readonly usage: Usage.Usage } | undefined
  #index = 0
  #content: Array<Entry> = []
  #current: Block | undefined
  readonly #tools = new Map<string, string>()
  /** metadata of a block that has begun and has no text yet */
  #starting: Message.Metadata | undefined

  constructor(runId: string, turn: number, attempt: number) {
    this.runId = runId
    this.turn = turn
    this.attempt = attempt
  }

  /** Takes parts up to a finish; what comes behind it does not count. */
  push(parts: ReadonlyArray<Model.ModelPart>): Array<RunEvent.Transient> {
    const events: Array<RunEvent.Transient> = []
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i]!
      switch (part.type) {
        case "text-delta":
          this.#block("text", part.block, part.delta, part.metadata)
          if (part.delta !== "") events.push(this.#delta("TextDelta", part.block, part.delta))
          break
        case "reasoning-delta":
          this.#block("reasoning", part.block, part.delta, part.metadata)
          if (part.delta !== "") events.push(this.#delta("ReasoningDelta", part.block, part.delta))
          break
        case "tool-params-delta":
          events.push({
            _tag: "ToolParamsDelta",
            runId: this.runId,
            turn: this.turn,
            attempt: this.attempt,
            index: this.#index++,
            block: part.block,
            delta: part.delta,
            tool: this.#tool(part.block, part.tool)
          })
          break
        case "block-start":
          this.#starting = part.metadata
          break
        case "block-end":
          this.#annotate(part.block, part.metadata)
          break
        case "finish":
          this.finish = part
          return events
        case "tool-result":
          this.#content.push({ kind: "part", part: { ...part, providerExecuted: true } })
          break
        case "response":
          break
        case "tool-call":
        case "file":
          this.#content.push({ kind: "part", part })
          break
      }
    }
    return events
  }

  /** The content in order of appearance, without empty blocks. */
  content(): ReadonlyArray<Message.AssistantPart> {
    const out: Array<Message.AssistantPart> = []
    for (const entry of this.#content) {
      if (entry.kind === "part") out.push(entry.part)
      else if (entry.text !== "" || entry.metadata !== undefined) {
        const { metadata, text, type } = entry
        out.push(metadata === undefined ? { type, text } : { type, text, metadata })
      }
    }
    return out
  }

  #delta(_tag: "TextDelta" | "ReasoningDelta", block: string, delta: string): RunEvent.Transient {
    return { _tag, runId: this.runId, turn: this.turn, attempt: this.attempt, index: this.#index++, block, delta }
  }

  /** The tool that a call's arguments are for; only the first delta has to name it. */
  #tool(block: string, name: string | undefined): string {
    if (name === undefined) return this.#tools.get(block) ?? ""
    this.#tools.set(block, name)
    return name
  }

  #block(type: Block["type"], id: string, delta: string, metadata: Message.Metadata | undefined): void {
    let block = this.#current
    if (block === undefined || block.id !== id || block.type !== type) {
      block = this.#find(type, id)
      if (block === undefined) {
        block = { kind: "block", type, id, text: "", metadata: this.#starting }
        this.#content.push(block)
      }
      this.#current = block
      this.#starting = undefined
    }
    block.text += delta
    if (metadata !== undefined) block.metadata = { ...block.metadata, ...metadata }
  }

  #annotate(id: string, metadata: Message.Metadata | undefined): void {
    if (metadata === undefined) return
    const block = this.#current?.id === id ? this.#current : this.#find("reasoning", id) ?? this.#find("text", id)
    if (block !== undefined) block.metadata = { ...block.metadata, ...metadata }
  }

  #find(type: Block["type"], id: string): Block | undefined {
    return this.#content.find((entry): entry is Block =>
      entry.kind === "block" && entry.type === type && entry.id === id
    )
  }
}
