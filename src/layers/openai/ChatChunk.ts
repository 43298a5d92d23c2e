/**
 * Reads one `chat.completion.chunk`, in the shapes that OpenAI and the servers that follow it send.
 *
 * Owns the spellings of the fields. Treats fields that are null or of another type as absent.
 */
import * as Bounds from "../../run/log/Bounds.ts"
import * as Json from "../provider/Json.ts"
import * as Attached from "./Attached.ts"
import type { Fragment } from "./CallFragments.ts"
import * as Citations from "./Citations.ts"
import * as TokenUsage from "./TokenUsage.ts"

export interface ChatChunk {
  readonly id: string | undefined
  readonly model: string | undefined
  /** seconds since 1970 */
  readonly created: number | undefined
  readonly reasoning: string
  /** whether the reasoning came as `reasoning_content`, empty or not */
  readonly isReasoningContent: boolean
  /** fragments, unchanged */
  readonly reasoningDetails: ReadonlyArray<Json.Json>
  /** what only the server understands of the message (`Attached`) */
  readonly fields: Json.JsonObject | undefined
  readonly text: string
  readonly toolCalls: ReadonlyArray<Fragment>
  readonly finishReason: string | undefined
  /** what may name pages that the answer rests on (`Citations`): more of them, or all so far */
  readonly annotations: ReadonlyArray<Json.Json>
  readonly citations: ReadonlyArray<Json.Json>
  readonly usage: Json.JsonObject | undefined
  /** whether it has a whole message, and not a delta */
  readonly isWhole: boolean
}

/** The texts of a list of blocks such as `{ type: "text", text }`, nested ones included. */
const blockText = (blocks: ReadonlyArray<Json.Json>): string => {
  let text = ""
  for (const item of blocks) {
    const block = Json.object(item)
    text += Json.text(block?.text) ?? Json.text(block?.summary) ?? ""
  }
  return text
}

/** Mistral sends `content` as blocks: `{ type: "thinking", thinking: [...] }` and `{ type: "text", text }`. */
const thinking = (blocks: ReadonlyArray<Json.Json>): string => {
  let text = ""
  for (const item of blocks) text += blockText(Json.array(Json.object(item)?.thinking))
  return text
}

/**
 * `reasoning_content` (DeepSeek, vLLM, llama.cpp, xAI), `reasoning` (OpenRouter, Groq, Ollama, newer vLLM) or
 * `reasoning_details` (OpenRouter). Servers that send two of them send the same text twice: the first one counts.
 */
const reasoning = (delta: Json.JsonObject): string =>
  Json.text(delta.reasoning_content)
    ?? Json.text(delta.reasoning)
    ?? (blockText(Json.array(delta.reasoning_details)) || thinking(Json.array(delta.content)))

const text = (delta: Json.JsonObject): string =>
  Json.text(delta.content) ?? (blockText(Json.array(delta.content)) || Json.text(delta.refusal) || "")

/** Some servers write the number as text. */
const index = (value: Json.Json | undefined): number | undefined =>
  typeof value === "string" && /^\d+$/.test(value) ? Number(value) : Json.number(value)

/** Arguments that came as JSON. Those nested too deeply to be written become a text that is none, so that the call is not run. */
const written = (args: Json.Json): string => {
  try {
    return JSON.stringify(args)
  } catch {
    return Bounds.leftOut
  }
}

const fragment = (item: Json.Json): Fragment => {
  const call = Json.object(item)
  const fn = Json.object(call?.function)
  const args = fn?.arguments
  return {
    index: index(call?.index),
    id: Json.text(call?.id),
    name: Json.text(fn?.name),
    text: typeof args === "string" ? args : args === undefined || args === null ? "" : written(args),
    fields: Attached.ofCall(call)
  }
}

const noFragments: ReadonlyArray<Fragment> = []

const toolCalls = (delta: Json.JsonObject): ReadonlyArray<Fragment> => {
  const items = Json.array(delta.tool_calls)
  if (items.length > 0) return items.map(fragment)
  const legacy = Json.object(delta.function_call)
  return legacy === undefined ? noFragments : [fragment({ index: 0, function: legacy })]
}

/** `usage` of the chunk, of its choice (Moonshot) or under `x_groq`; `undefined` when it has no counts. */
const usage = (chunk: Json.JsonObject, choice: Json.JsonObject | undefined): Json.JsonObject | undefined => {
  const found = Json.object(chunk.usage) ?? Json.object(choice?.usage) ?? Json.object(Json.object(chunk.x_groq)?.usage)
  return found !== undefined && TokenUsage.isUsage(found) ? found : undefined
}

/** Qwen sends a text to say that there is none yet. */
const finishReason = (value: Json.Json | undefined): string | undefined =>
  value === "null" ? undefined : Json.text(value)

const nothing: Json.JsonObject = {}

/** The choice with index 0, wherever it is in the list, or without an index. */
const firstChoice = (chunk: Json.JsonObject): Json.JsonObject | undefined => {
  for (const item of Json.array(chunk.choices)) {
    const choice = Json.object(item)
    if (choice !== undefined && (index(choice.index ?? 0) ?? choice.index) === 0) return choice
  }
  return undefined
}

/** Reads only the first choice; one without a delta may have its whole message (from gateways that do not really stream). */
export const read = (chunk: Json.JsonObject): ChatChunk => {
  const choice = firstChoice(chunk)
  const added = Json.object(choice?.delta)
  const delta = added ?? Json.object(choice?.message) ?? nothing
  const reasoned = reasoning(delta)
  return {
    id: Json.text(chunk.id),
    model: Json.text(chunk.model),
    created: Json.number(chunk.created),
    reasoning: reasoned,
    isReasoningContent: delta.reasoning_content === reasoned,
    reasoningDetails: Json.array(delta.reasoning_details),
    fields: Attached.ofMessage(delta),
    text: text(delta),
    toolCalls: toolCalls(delta),
    finishReason: finishReason(choice?.finish_reason),
    annotations: Citations.annotated(delta),
    citations: Citations.listed(chunk),
    usage: usage(chunk, choice),
    isWhole: added === undefined && delta !== nothing
  }
}
