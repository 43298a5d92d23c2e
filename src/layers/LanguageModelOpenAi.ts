/**
 * An effect/ai `LanguageModel` over any OpenAI-compatible chat completions API: OpenAI, Ollama, vLLM, llama.cpp, LM Studio,
 * OpenRouter, Groq, DeepSeek, Mistral, xAI, told apart by base URL only.
 *
 * Does not retry, does not run tools, does not know of runs; `ChatModel` owns the request and its answer.
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import type * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"

export { Body } from "./openai/Body.ts"
export { isContextOverflow, isTruncated, retryAfter } from "./provider/AdapterErrors.ts"

/** Which model is asked, at which address, and what that server takes. */
export interface Options {
  readonly model: string
  /** Default: `OPENAI_BASE_URL`, else `https://api.openai.com/v1`. */
  readonly baseUrl?: string | undefined
  /** A text or `Redacted`. Default: `OPENAI_API_KEY`, which only api.openai.com requires. */
  readonly apiKey?: string | Redacted.Redacted | undefined
  /**
   * Fields added to every request body, such as `temperature` or `reasoning_effort`. `{ stream_options: undefined }` leaves
   * that field out, for servers that refuse it.
   */
  readonly body?: Readonly<Record<string, unknown>> | undefined
  /**
   * Whether reasoning goes back to the host and model that it came from. Default `"auto"`: `reasoning_details` always, as
   * OpenRouter asks, and `reasoning_content` where tools are offered or were called, as DeepSeek asks. `true` also sends all
   * other reasoning as `reasoning_content`. A server that refuses it is asked once more without it; if it answers then, it
   * gets none any more. One that misses it in answers of other models gets an empty one there. Never sent to api.openai.com,
   * which has no such field.
   */
  readonly sendReasoning?: boolean | "auto" | undefined
  /**
   * Whether an agent's `output` is sent as `response_format`, with tools too; strict where its schema allows that. Default:
   * only to api.openai.com, since other servers refuse it, or call no tools with it. A server that refuses it is asked once
   * more without it, and never again with it.
   */
  readonly structuredOutput?: boolean | undefined
}

/** Loaded on first use, with effect's HTTP and language models. */
const adapter = Effect.promise(() => import("./openai/ChatModel.ts"))

/**
 * The model. Every failure is an `AiError` that names the host and what to check, and never holds the key or the prompt.
 * Interrupting a call, or leaving its stream, closes the connection; an interrupted call ends only once its server could see
 * the close. Fails when the settings are missing or unusable, and for an option that it does not have. Asynchronous: it loads
 * the adapter.
 */
export const make = (
  options: Options
): Effect.Effect<LanguageModel.LanguageModel, Config.ConfigError, HttpClient.HttpClient> =>
  Effect.flatMap(adapter, (_) => _.make(options))

/** The model as a layer; see `make`. */
export const layer = (
  options: Options
): Layer.Layer<LanguageModel.LanguageModel, Config.ConfigError, HttpClient.HttpClient> =>
  Layer.unwrap(Effect.map(adapter, (_) => _.layer(options)))
