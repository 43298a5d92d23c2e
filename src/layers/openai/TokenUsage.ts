/** Reads the token counts of a chat completion, in the spellings that providers use. Owns no prices. */
import type * as Response from "effect/ai/Response"
import * as Json from "../provider/Json.ts"
import * as TokenCount from "../provider/TokenCount.ts"

/** Whether an object holds any count at all; some servers send `usage: {}`. */
export const isUsage = (usage: Json.JsonObject): boolean =>
  TokenCount.read(usage.prompt_tokens) !== undefined || TokenCount.read(usage.completion_tokens) !== undefined

/** Whether it counts anything yet: some servers send zeros until the last chunk. */
export const isSome = (usage: Json.JsonObject): boolean =>
  (TokenCount.read(usage.prompt_tokens) ?? 0) > 0 || (TokenCount.read(usage.completion_tokens) ?? 0) > 0

/** Whether it counts an answer, and not only what was asked, as it does before the last count of some servers. */
export const hasOutput = (usage: Json.JsonObject): boolean => (TokenCount.read(usage.completion_tokens) ?? 0) > 0

/**
 * Token counts of a `usage` object: each `total` includes cached and reasoning tokens. Cached tokens are read from
 * `prompt_tokens_details` (OpenAI), `prompt_cache_hit_tokens` (DeepSeek) or `cached_tokens` (Moonshot). xAI counts reasoning
 * beside `completion_tokens`, not within: recognised by the sum, or by more reasoning than completion. Gemini counts it in
 * `total_tokens` only, beside a prompt that it counts; some gateways count what Claude cached so: that is no reasoning.
 */
export const read = (usage: Json.JsonObject | undefined): typeof Response.Usage.Encoded => {
  const input = TokenCount.read(usage?.prompt_tokens)
  const completion = TokenCount.read(usage?.completion_tokens)
  const promptDetails = Json.object(usage?.prompt_tokens_details)
  const cacheRead = TokenCount.read(promptDetails?.cached_tokens)
    ?? TokenCount.read(usage?.prompt_cache_hit_tokens)
    ?? TokenCount.read(usage?.cached_tokens)
  const cacheWrite = TokenCount.read(promptDetails?.cache_write_tokens)
  /** as gateways to Claude say it */
  const claudeRead = TokenCount.read(usage?.cache_read_input_tokens) ?? cacheRead ?? 0
  const claudeWrite = TokenCount.read(usage?.cache_creation_input_tokens) ?? cacheWrite ?? 0
  const told = TokenCount.read(Json.object(usage?.completion_tokens_details)?.reasoning_tokens)
    ?? TokenCount.read(usage?.reasoning_tokens)
  const total = TokenCount.read(usage?.total_tokens)
  /** what the total counts, and neither prompt nor completion */
  const rest = total === undefined || completion === undefined ? 0 : total - (input ?? 0) - completion
  const isCached = [claudeRead, claudeWrite, claudeRead + claudeWrite].includes(rest)
  const reasoning = told ?? (input !== undefined && input > 0 && rest > 0 && !isCached ? rest : undefined)
  const isBeside = reasoning !== undefined && completion !== undefined && reasoning > 0
    && (reasoning > completion || reasoning === rest)
  const output = isBeside ? TokenCount.read(completion + reasoning) : completion
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
