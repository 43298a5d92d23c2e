/**
 * Folds the parts of one attempt into the settled content, and each array of parts into the deltas to show. Keeps
 * strings and counters only; does not know where parts come from or what becomes of the message.
 */
import type * as Message from "../../run/Message.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as Legality from "../../run/transcript/Legality.ts"
import type * as Usage from "../../run/Usage.ts"
import type * as Model from "../../services/Model.ts"

type Entry = Block | { readonly kind: "part"; readonly part: Message.AssistantPart }

type TextDelta = Extract<Model.ModelPart, { type: "text-delta" | "reasoning-delta" }>

interface Block {
  readonly kind: "block"
  readonly type: "text" | "reasoning"
  readonly id: string
  readonly deltas: Array<string>
  metadata: Message.Metadata | undefined
}

export class Collector {
  readonly runId: string
  readonly turn: number
  readonly attempt: number
  finish: { readonly reason: RunEvent.FinishReason; readonly usage: Usage.Usage } | undefined
  /** what the provider said of its answer, where it did */
  response: Pick<Extract<Model.ModelPart, { type: "response" }>, "id" | "model"> | undefined
  #index = 0
  #content: Array<Entry> = []
  #current: Block | undefined
  /** blocks that may go on, by kind and id */
  readonly #open = new Map<string, Block>()
  readonly #halves = new Map<string, string>()
  readonly #tools = new Map<string, string>()

  constructor(runId: string, turn: number, attempt: number) {
    this.runId = runId
    this.turn = turn
    this.attempt = attempt
  }

  /** Takes parts up to a finish; what comes behind it does not count. */
  push(parts: ReadonlyArray<Model.ModelPart>): ReadonlyArray<RunEvent.Delta> {
    if (parts.length === 1) {
      const delta = this.#take(parts[0]!)
      return delta === undefined ? [] : [delta]
    }
    const deltas: Array<RunEvent.Delta> = []
    for (let i = 0; i < parts.length && this.finish === undefined; i++) {
      const delta = this.#take(parts[i]!)
      if (delta !== undefined) deltas.push(delta)
    }
    return deltas
  }

  #take(part: Model.ModelPart): RunEvent.Delta | undefined {
    switch (part.type) {
      case "text-delta":
        this.#block("text", part.block, part.delta, part.metadata)
        return this.#delta("TextDelta", part)
      case "reasoning-delta":
        this.#block("reasoning", part.block, part.delta, part.metadata)
        return this.#delta("ReasoningDelta", part)
      case "tool-params-delta":
        return {
          _tag: "ToolParamsDelta",
          runId: this.runId,
          turn: this.turn,
          attempt: this.attempt,
          index: this.#index++,
          block: part.block,
          delta: this.#characters(part),
          tool: this.#tool(part.block, part.tool)
        }
      case "block-start":
        if (part.kind !== "tool-params") annotate(this.#begin(part.kind, part.block), part.metadata)
        return undefined
      case "block-end":
        if (part.kind !== "tool-params") this.#end(part.kind, part.block, part.metadata)
        return undefined
      case "finish":
        this.finish = part
        return undefined
      case "tool-result":
        this.#put({ ...part, providerExecuted: true })
        return undefined
      case "response":
        if (part.id !== undefined || part.model !== undefined) this.response = part
        return undefined
      case "tool-call":
      case "file":
        this.#put(part)
        return undefined
    }
  }

  /** The content in order of appearance, without empty blocks. */
  content(): ReadonlyArray<Message.AssistantPart> {
    const out: Array<Message.AssistantPart> = []
    for (const entry of this.#content) {
      if (entry.kind === "part") out.push(entry.part)
      else {
        const { deltas, metadata, type } = entry
        const text = deltas.join("")
        if (text === "" && metadata === undefined) continue
        out.push(metadata === undefined ? { type, text } : Legality.writable({ type, text, metadata }))
      }
    }
    return out
  }

  /** A delta in whole characters: half a surrogate pair at its end comes with the block's next one. */
  #characters(
    { block, delta, type }: { readonly type: string; readonly block: string; readonly delta: string }
  ): string {
    if (this.#halves.size === 0 && !endsInHalf(delta)) return delta
    const key = `${type} ${block}`
    const text = (this.#halves.get(key) ?? "") + delta
    const isWhole = !endsInHalf(text)
    if (isWhole) this.#halves.delete(key)
    else this.#halves.set(key, text.slice(-1))
    return isWhole ? text : text.slice(0, -1)
  }

  #delta(_tag: "TextDelta" | "ReasoningDelta", part: TextDelta): RunEvent.Delta | undefined {
    const delta = this.#characters(part)
    if (delta === "") return undefined
    const { attempt, runId, turn } = this
    return { _tag, runId, turn, attempt, index: this.#index++, block: part.block, delta }
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
      block = this.#open.get(`${type} ${id}`) ?? this.#begin(type, id)
      this.#current = block
    }
    if (delta !== "") block.deltas.push(delta)
    annotate(block, metadata)
  }

  #begin(type: Block["type"], id: string): Block {
    const block: Block = { kind: "block", type, id, deltas: [], metadata: undefined }
    this.#content.push(block)
    this.#open.set(`${type} ${id}`, block)
    if (this.#current?.id === id) this.#current = undefined
    return block
  }

  /** A block may have nothing but what its end says of it: redacted reasoning. */
  #end(type: Block["type"], id: string, metadata: Message.Metadata | undefined): void {
    const key = `${type} ${id}`
    const block = this.#open.get(key) ?? (metadata === undefined ? undefined : this.#begin(type, id))
    if (block !== undefined) annotate(block, metadata)
    this.#open.delete(key)
    this.#current = undefined
  }

  /** What is no block ends those before it: a text behind a call is another one. */
  #put(part: Message.AssistantPart): void {
    this.#content.push({ kind: "part", part: Legality.writable(part) })
    this.#open.clear()
    this.#current = undefined
  }
}

/** Its last unit is the first half of a surrogate pair; of an empty text that is NaN, which is none. */
const endsInHalf = (text: string): boolean => (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800

const annotate = (block: Block, metadata: Message.Metadata | undefined): void => {
  if (metadata !== undefined) block.metadata = { ...block.metadata, ...metadata }
}
