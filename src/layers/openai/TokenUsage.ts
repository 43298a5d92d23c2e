/** Reads the token counts of a chat completion, in the spellings that providers use. Owns no prices. */
import type * as Response from "effect/ai/Response"
import * as Json from "../provider/Json.ts"
import * as TokenCount from "../provider/TokenCount.ts"

const count = TokenCount.of

/** Whether an object holds any count at all; some servers send `usage: {}`. */
export const isUsage = (usage: Json.JsonObject): boolean =>
  count(usage.prompt_tokens) !== undefined || count(usage.completion_tokens) !== undefined

/**
 * Token counts of a `usage` object: `total`s include what was cached and what was reasoned. Cached tokens are read from
 * `prompt_tokens_details` (OpenAI), `prompt_cache_hit_tokens` (DeepSeek) or `cached_tokens` (Moonshot). xAI counts
 * reasoning beside `completion_tokens`, not within: seen by the sum, or by more reasoning than completion.
 */
export const read = (usage: Json.JsonObject | undefined): typeof Response.Usage.Encoded => {
  const input = count(usage?.prompt_tokens)
  const completion = count(usage?.completion_tokens)
  const promptDetails = Json.object(usage?.prompt_tokens_details)
  const cacheRead = count(promptDetails?.cached_tokens)
    ?? count(usage?.prompt_cache_hit_tokens)
    ?? count(usage?.cached_tokens)
  const cacheWrite = count(promptDetails?.cache_write_tokens)
  const reasoning = count(Json.object(usage?.completion_tokens_details)?.reasoning_tokens)
    ?? count(usage?.reasoning_tokens)
  const isBeside = reasoning !== undefined && completion !== undefined && reasoning > 0
    && (reasoning > completion || count(usage?.total_tokens) === (input ?? 0) + completion + reasoning)
  const output = isBeside ? completion + reasoning : completion
  return {
    inputTokens: {
      total: input,
      uncached: input === undefined ? undefined : Math.max(0, input - (cacheRead ?? 0) - (cacheWrite ?? 0)),
      cacheRead,
      cacheWrite
    },
    outputTokens: {
      total: output,
      reasoning,
      text: output === undefined ? undefined : output - (reasoning ?? 0)
    }
  }
}
