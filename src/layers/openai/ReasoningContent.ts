/**
 * Remembers on a reasoning part that it came as `reasoning_content`, and from which model: who sends the field so may
 * refuse a tool round without it (DeepSeek, Moonshot), and nobody else is to get it. Does not own who is asked to send it.
 */
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as Json from "../provider/Json.ts"

/** The metadata of reasoning that came as `reasoning_content` from this model. */
export const by = (model: string): Response.ProviderMetadata => ({ openai: { reasoningContentOf: model } })

/** Whether a part of a prompt is reasoning that came as `reasoning_content` from this model. */
export const isBy = (part: Prompt.ReasoningPart, model: string): boolean =>
  Json.object(part.options.openai as Json.Json | undefined)?.reasoningContentOf === model
