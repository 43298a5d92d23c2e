/**
 * Folds the parts of one attempt into the settled content, and each array of parts into the deltas to show. Keeps
 * strings and counters only.
 *
 * Does not own where parts come from and when deltas are shown (`Showing`), nor what becomes of the content (`Attempt`).
 */
import type * as AttemptResult from "../../run/AttemptResult.ts"
import type * as Message from "../../run/Message.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as Source from "../../run/Source.ts"
import * as Legality from "../../run/transcript/Legality.ts"
import * as Usage from "../../run/Usage.ts"
import type * as Model from "../../services/Model.ts"
import * as Entries from "./Entries.ts"
import { NamedSources } from "./NamedSources.ts"
import * as SoFar from "./SoFar.ts"
import * as WholePart from "./WholePart.ts"

type TextDelta = Extract<Model.ModelPart, { type: "text-delta" | "reasoning-delta" }>

/** The arguments of a call, and the tool that they are for. */
interface Params extends SoFar.Block {
  tool: string
}

const partOf = { text: "text-delta", reasoning: "reasoning-delta" } as const
const eventOf = { text: "TextDelta", reasoning: "ReasoningDelta" } as const

export class Collector {
  readonly runId: string
  readonly turn: number
  readonly attempt: number
  finish: { readonly reason: RunEvent.FinishReason; readonly usage: Usage.Usage } | undefined
  response: AttemptResult.Response | undefined
  /** what is wrong with a part of it, to follow the words "the answer has" */
  wrong: string | undefined
  size = 0
  #usedSoFar = Usage.zero
  #index = 0
  #content: Array<Entries.Entry> = []
  /** the block that goes on, with nothing held back */
  #current: Entries.Block | undefined
  /** blocks that may go on, by kind and id */
  readonly #open = new Map<string, Entries.Block>()
  /** what is held back of a block, by kind and id; usually nothing is */
  #halves: Map<string, string> | undefined
  /** what has come of the arguments of calls, by block */
  #params: Map<string, Params> | undefined
  #sources: NamedSources | undefined

  constructor(runId: string, turn: number, attempt: number) {
    this.runId = runId
    this.turn = turn
    this.attempt = attempt
  }

  /** Takes parts up to a finish, as what comes after it does not count; returns the deltas to show. */
  push(parts: ReadonlyArray<Model.ModelPart>): ReadonlyArray<RunEvent.Delta> {
    const deltas: Array<RunEvent.Delta> = []
    for (let i = 0; i < parts.length && this.finish === undefined;) {
      const next = this.#continue(parts, i, deltas)
      if (next === i) this.#take(parts[i++]!, deltas)
      else i = next
    }
    return deltas
  }

  /** Takes the parts from `from` on that continue the current block: most of every answer, so without a call. Returns where they end. */
  #continue(parts: ReadonlyArray<Model.ModelPart>, from: number, deltas: Array<RunEvent.Delta>): number {
    const block = this.#current
    if (block === undefined) return from
    const { attempt, runId, turn } = this
    const type = partOf[block.type]
    const _tag = eventOf[block.type]
    const id = block.id
    const texts = block.deltas
    let index = this.#index
    let size = 0
    let i = from
    for (; i < parts.length; i++) {
      const part = parts[i]!
      if (part.type !== type || part.block !== id || part.metadata !== undefined) break
      const { delta } = part
      if (delta === "" || (delta.charCodeAt(delta.length - 1) & 0xfc00) === 0xd800) break
      texts.push(delta)
      size += delta.length
      deltas.push({ _tag, runId, turn, attempt, index: index++, block: id, delta })
    }
    this.#index = index
    this.size += size
    return i
  }

  #take(part: Model.ModelPart, deltas: Array<RunEvent.Delta>): void {
    switch (part.type) {
      case "text-delta":
        return this.#text("text", part, deltas)
      case "reasoning-delta":
        return this.#text("reasoning", part, deltas)
      case "tool-params-delta": {
        const { attempt, runId, turn } = this
        const delta = this.#characters(part)
        const params = this.#paramsOf(part.block)
        // only the first one has to name it
        if (part.tool !== undefined) params.tool = part.tool
        params.deltas.push(part.delta)
        this.size += part.delta.length
        const { block, tool } = params
        deltas.push({ _tag: "ToolParamsDelta", runId, turn, attempt, index: this.#index++, block, delta, tool })
        return
      }
      case "block-start":
        if (part.kind !== "tool-params") Entries.annotate(this.#begin(part.kind, part.block), part.metadata)
        return
      case "block-end":
        if (part.kind !== "tool-params") this.#end(part.kind, part.block, part.metadata)
        return
      case "finish":
        // a copy, frozen as an event takes it: a model may go on counting in its own
        this.finish = { reason: part.reason, usage: Object.freeze({ ...Usage.counted(part.usage) }) }
        return
      case "response":
        if (part.id !== undefined || part.model !== undefined) this.response = part
        if (part.usage !== undefined) this.#usedSoFar = Usage.counted(part.usage)
        return
      case "source":
        this.size += SoFar.leastSize(part)
        return (this.#sources ??= new NamedSources()).add(part.source)
      case "tool-call":
      case "tool-result":
      case "file":
        return this.#put(WholePart.read(part))
    }
  }

  /** What the attempt has used, as far as its provider said. */
  get used(): Usage.Usage {
    return this.finish?.usage ?? this.#usedSoFar
  }

  /** What it rests on, if it says so. */
  get sources(): Source.Sources | undefined {
    return this.#sources?.all()
  }

  /** The content in order of appearance, without empty blocks. */
  content(): ReadonlyArray<Message.AssistantPart> {
    return Entries.content(this.#content)
  }

  /** What was shown so far. */
  soFar(): ReadonlyArray<RunEvent.Delta> {
    const { attempt, runId, turn } = this
    const blocks = this.#content.flatMap((entry): Array<SoFar.Block> =>
      entry.kind === "part"
        ? []
        : [{ _tag: eventOf[entry.type], block: entry.id, deltas: entry.deltas, index: entry.first }]
    )
    return SoFar.joined([...blocks, ...(this.#params?.values() ?? [])], this.#index, { runId, turn, attempt })
  }

  /** A delta in whole characters: half a surrogate pair at its end comes with the block's next delta. */
  #characters(
    { block, delta, type }: { readonly type: string; readonly block: string; readonly delta: string }
  ): string {
    if (!this.#halves?.size && !SoFar.endsInHalf(delta)) return delta
    const halves = this.#halves ??= new Map()
    const key = `${type} ${block}`
    const text = (halves.get(key) ?? "") + delta
    const isWhole = !SoFar.endsInHalf(text)
    if (isWhole) halves.delete(key)
    else {
      halves.set(key, text.slice(-1))
      this.#current = undefined
    }
    return isWhole ? text : text.slice(0, -1)
  }

  #text(type: Entries.Block["type"], part: TextDelta, deltas: Array<RunEvent.Delta>): void {
    const open = this.#open.get(`${type} ${part.block}`)
    const ended = open === undefined && part.delta === "" ? this.#ended(type, part.block) : undefined
    if (ended !== undefined && ended.metadata === undefined) return Entries.annotate(ended, part.metadata)
    const block = open ?? this.#begin(type, part.block)
    block.deltas.push(part.delta)
    this.size += part.delta.length
    if (part.metadata !== undefined) Entries.annotate(block, part.metadata)
    if (part.delta !== "") this.#current = block
    const delta = this.#characters(part)
    if (delta === "") return
    block.first ??= this.#index
    const { attempt, runId, turn } = this
    deltas.push({ _tag: eventOf[type], runId, turn, attempt, index: this.#index++, block: block.id, delta })
  }

  #paramsOf(block: string): Params {
    this.#params ??= new Map()
    const known = this.#params.get(block)
    if (known !== undefined) return known
    const params: Params = { _tag: "ToolParamsDelta", block, deltas: [], index: this.#index, tool: "" }
    this.#params.set(block, params)
    return params
  }

  #begin(type: Entries.Block["type"], id: string): Entries.Block {
    const block: Entries.Block = { kind: "block", type, id, deltas: [], first: undefined, metadata: undefined }
    this.#content.push(block)
    this.#open.set(`${type} ${id}`, block)
    if (this.#current?.id === id) this.#current = undefined
    return block
  }

  /**
   * A block may have nothing but the metadata of its end: redacted reasoning. A block that has already ended, by its end or by a
   * call, still gets metadata that comes later: a signature apart from its reasoning would be refused.
   */
  #end(type: Entries.Block["type"], id: string, metadata: Message.Metadata | undefined): void {
    const key = `${type} ${id}`
    if (metadata !== undefined) {
      Entries.annotate(this.#open.get(key) ?? this.#ended(type, id) ?? this.#begin(type, id), metadata)
    }
    this.#open.delete(key)
    this.#current = undefined
  }

  #ended(type: Entries.Block["type"], id: string): Entries.Block | undefined {
    const found = this.#content.findLast((entry) => entry.kind === "block" && entry.type === type && entry.id === id)
    return found as Entries.Block | undefined
  }

  /** A part that is no block ends the blocks before it: a text after a call is another block. */
  #put(part: Message.AssistantPart | string): void {
    if (typeof part === "string") this.wrong ??= part
    else {
      this.#content.push({ kind: "part", part: Legality.writable(part) })
      this.size += SoFar.leastSize(part)
    }
    this.#open.clear()
    this.#current = undefined
  }
}
