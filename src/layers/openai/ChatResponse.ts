/**
 * Folds the chunks of one chat completion into the parts of effect/ai.
 *
 *   chunk* ── finish reason ── usage | end of stream ──▶ end: tool calls, finish
 *      └──── end of stream ──▶ end: "truncated"
 *
 * Owns the order of parts. Only `end` emits tool calls, so a call of a cut stream never comes out. Does not own the connection
 * (`ChatStream`), nor the shapes of chunks (`ChatChunk`).
 */
import type * as Response from "effect/ai/Response"
import * as FinishReasons from "../provider/FinishReasons.ts"
import * as Json from "../provider/Json.ts"
import * as UsedSoFar from "../provider/UsedSoFar.ts"
import type { ChatChunk } from "./ChatChunk.ts"
import * as Citations from "./Citations.ts"
import { Seal } from "./Seal.ts"
import * as TokenUsage from "./TokenUsage.ts"
import { ToolCalls } from "./ToolCalls.ts"

type Parts = Array<Response.StreamPartEncoded>

/** Why a response that ended is not an answer: no finish reason, one that reports a failure, or a call without a name. */
type Defect = "truncated" | "failed" | "nameless"

interface ChatResponse {
  readonly push: (chunk: ChatChunk, out: Parts) => void
  /** Whether the model finished, by its own word: only usage may still come. */
  readonly isFinished: () => boolean
  /**
   * Whether that word counts for little, because content followed it: gateways put a finish reason on every chunk. Of such an answer
   * the last reason counts.
   */
  readonly isEarly: () => boolean
  /** Whether the model finished and its usage is known: nothing more will come, not even details of it. */
  readonly isComplete: () => boolean
  /** Whether more has come beside texts than any answer may have: it is kept here until it is whole. */
  readonly isTooLarge: () => boolean
  readonly end: (out: Parts) => Defect | undefined
  /** Emits the usage so far of an answer that is not over, where it has changed since it was last emitted. */
  readonly count: (out: Parts) => void
}

const timestamp = (created: number | undefined): string | undefined => {
  const date = new Date((created ?? Number.NaN) * 1000)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

/** The usage with what a later one says, details too: servers count in parts, and repeat with nothing what they have said. */
const together = (before: Json.JsonObject | undefined, later: Json.JsonObject): Json.JsonObject => {
  if (before === undefined) return later
  const said = Object.entries(later).flatMap(([name, count]): ReadonlyArray<readonly [string, Json.Json]> => {
    const [known, more] = [Json.object(before[name]), Json.object(count)]
    if (known !== undefined && more !== undefined) return [[name, together(known, more)]]
    return count === null || count === 0 ? [] : [[name, count]]
  })
  // a total is of what was said with it
  const { total_tokens: _, ...counted } = before
  const isTotal = said.some(([name]) => name === "total_tokens") || !TokenUsage.hasOutput(later)
  return { ...(isTotal ? before : counted), ...Object.fromEntries(said) }
}

/** Characters of details and calls: more than an event holds, which the loop finds first where it is shown them. */
const longest = 64 * 1024 * 1024

/** The response of a model at a server (`Attached.source`). */
export const make = (from: string): ChatResponse => {
  const calls = new ToolCalls(from)
  const seal = new Seal(from)
  let isAnnounced = false
  /** what came in pieces */
  const pieces = { reasoning: false, text: false, toolCalls: false }
  let open: "text" | "reasoning" | undefined
  let blocks = 0
  let finishReason: string | undefined
  /** the server went on after a finish reason */
  let isEarly = false
  /** listed beside the message: servers repeat the list with every chunk */
  let citations: ChatChunk["citations"] = []
  let usage: Json.JsonObject | undefined
  let isCounted = true
  let isComplete = false

  const close = (out: Parts) => {
    if (open === "reasoning") out.push({ type: "reasoning-end", id: String(blocks), ...seal.take() })
    if (open === "text") out.push({ type: "text-end", id: String(blocks) })
    open = undefined
  }

  const begin = (kind: "text" | "reasoning", out: Parts) => {
    close(out)
    open = kind
    out.push({ type: `${kind}-start`, id: String(++blocks) })
  }

  const append = (kind: "text" | "reasoning", delta: string, out: Parts) => {
    if (open !== kind) begin(kind, out)
    out.push({ type: `${kind}-delta`, id: String(blocks), delta })
  }

  const add = (chunk: ChatChunk, out: Parts) => {
    seal.add(chunk)
    if (chunk.reasoning !== "") append("reasoning", chunk.reasoning, out)
    if (chunk.text !== "") append("text", chunk.text, out)
    if (chunk.toolCalls.length > 0) {
      close(out)
      calls.push(chunk.toolCalls, out)
    }
  }

  const addPiece = (chunk: ChatChunk, out: Parts) => {
    add(chunk, out)
    pieces.reasoning ||= chunk.reasoning !== "" || chunk.reasoningDetails.length > 0
    pieces.text ||= chunk.text !== ""
    pieces.toolCalls ||= chunk.toolCalls.length > 0
  }

  /** A whole message, without what it repeats of the pieces before it (MiniMax). */
  const unsaid = (chunk: ChatChunk): ChatChunk => ({
    ...chunk,
    ...(pieces.reasoning ? { reasoning: "", reasoningDetails: [] } : {}),
    ...(pieces.text ? { text: "" } : {}),
    ...(pieces.toolCalls ? { toolCalls: [] } : {})
  })

  return {
    isFinished: () => finishReason !== undefined,
    isEarly: () => isEarly,
    isComplete: () => isComplete,
    isTooLarge: () => seal.size + calls.size > longest,
    push(chunk, out) {
      if (!isAnnounced && (chunk.id !== undefined || chunk.model !== undefined)) {
        isAnnounced = true
        const { created, id, model } = chunk
        out.push({ type: "response-metadata", id, modelId: model, timestamp: timestamp(created) })
      }
      if (chunk.isWhole) add(unsaid(chunk), out)
      else addPiece(chunk, out)
      if (chunk.annotations.length > 0) Citations.add(chunk.annotations, out)
      if (chunk.citations.length > 0) citations = chunk.citations
      const isContent = !chunk.isWhole && (chunk.text !== "" || chunk.reasoning !== "" || chunk.toolCalls.length > 0)
      isEarly ||= isContent && finishReason !== undefined
      const isFirst = finishReason === undefined
      if (isFirst || isEarly) finishReason = chunk.finishReason ?? finishReason
      if (chunk.usage === undefined) return
      // counts that came before go on: more of them, or their details, may follow those of the finish
      const goesOn = isFirst && usage !== undefined && TokenUsage.isSome(usage)
      usage = together(usage, chunk.usage)
      if (!TokenUsage.isSome(chunk.usage)) return
      isCounted = false
      isComplete = finishReason !== undefined && !isContent && !goesOn && TokenUsage.hasOutput(usage)
    },
    count(out) {
      if (isCounted || usage === undefined) return
      isCounted = true
      out.push(UsedSoFar.part(TokenUsage.read(usage)))
    },
    end(out) {
      if (finishReason === undefined) return "truncated"
      const reason = FinishReasons.of(finishReason)
      if (reason === "failed") return "failed"
      close(out)
      if (seal.isOpen()) begin("reasoning", out)
      close(out)
      if (!calls.end(out, seal)) return "nameless"
      Citations.add(citations, out)
      out.push({
        type: "finish",
        reason,
        usage: TokenUsage.read(usage),
        metadata: { openai: { finishReason, ...(usage === undefined ? {} : { usage }) } }
      })
      return undefined
    }
  }
}
