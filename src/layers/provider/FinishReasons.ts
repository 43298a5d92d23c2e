/** What providers mean by the reason that they finish with. Does not own whether an answer came whole (`ChatResponse`, `Answer`). */
import type * as Response from "effect/ai/Response"

/** In lower case: OpenAI's reasons, and those of Anthropic, Gemini, Mistral, Z.ai, TGI and Cohere that gateways pass on. */
const finishReasons: ReadonlyMap<string, Response.FinishReason> = new Map([
  ["stop", "stop"],
  ["eos", "stop"],
  ["eos_token", "stop"],
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["complete", "stop"],
  ["length", "length"],
  ["max_tokens", "length"],
  ["model_length", "length"],
  ["model_context_window_exceeded", "length"],
  ["content_filter", "content-filter"],
  ["safety", "content-filter"],
  ["prohibited_content", "content-filter"],
  ["recitation", "content-filter"],
  ["sensitive", "content-filter"],
  ["refusal", "content-filter"],
  ["tool_calls", "tool-calls"],
  ["tool_use", "tool-calls"],
  ["function_call", "tool-calls"]
])

/**
 * Reasons of a server that gave up: Mistral and OpenRouter, DeepSeek, vLLM, Z.ai, and Bedrock and Gemini after a call or an answer
 * that nobody can read.
 */
const failures: ReadonlySet<string> = new Set([
  "error",
  "insufficient_system_resource",
  "abort",
  "network_error",
  "function_call_filter",
  "malformed_tool_use",
  "malformed_model_output",
  "malformed_function_call",
  "malformed_response",
  "unexpected_tool_call",
  "missing_thought_signature"
])

/** In lower case, without what Gemini adds: `content_filter: RECITATION`. */
const known = (raw: string): string => raw.toLowerCase().replace(/:.*/s, "")

/** What a provider's own word means: `failed` where the server gave up, `other` where the word is a new one. */
export const of = (raw: string): Response.FinishReason | "failed" => {
  const reason = known(raw)
  return failures.has(reason) ? "failed" : finishReasons.get(reason) ?? "other"
}
