/**
 * An effect/ai `LanguageModel` over any OpenAI-compatible chat completions API: OpenAI, Ollama, vLLM, llama.cpp, LM Studio,
 * OpenRouter, Groq, DeepSeek, Mistral, xAI, told apart by base URL only.
 *
 * Owns the request and its answer. Does not retry, does not run tools, does not know of runs.
 */
import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import { toCodecOpenAI } from "effect/ai/OpenAiStructuredOutput"
import type * as Response from "effect/ai/Response"
import type * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import type * as HttpClientError from "effect/http/HttpClientError"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as Attached from "./openai/Attached.ts"
import * as ChatRequest from "./openai/ChatRequest.ts"
import * as ChatStream from "./openai/ChatStream.ts"
import * as Endpoint from "./openai/Endpoint.ts"
import * as HttpSpan from "./openai/HttpSpan.ts"
import * as ReasoningRefusal from "./openai/ReasoningRefusal.ts"
import * as Sent from "./openai/Sent.ts"
import * as StatusError from "./openai/StatusError.ts"
import * as AdapterErrors from "./provider/AdapterErrors.ts"
import * as Closing from "./provider/Closing.ts"
import * as Echo from "./provider/Echo.ts"
import * as FormatRefusal from "./provider/FormatRefusal.ts"
import * as NetworkErrors from "./provider/NetworkErrors.ts"
import * as WholeParts from "./provider/WholeParts.ts"

export { isContextOverflow, isTruncated, retryAfter } from "./provider/AdapterErrors.ts"

export interface Options {
  readonly model: string
  /** Default: `OPENAI_BASE_URL`, else `https://api.openai.com/v1`. */
  readonly baseUrl?: string | undefined
  /** Default: `OPENAI_API_KEY`, which only api.openai.com requires. */
  readonly apiKey?: Redacted.Redacted | undefined
  /**
   * Fields added to every request body, such as `temperature` or `reasoning_effort`. `{ stream_options: undefined }` leaves
   * that field out, for servers that refuse it.
   */
  readonly body?: Readonly<Record<string, unknown>> | undefined
  /**
   * Whether reasoning goes back, to the host and model that it came from. Default `"auto"`: what came as `reasoning_details`
   * always, as OpenRouter asks, and as `reasoning_content` where tools are offered or were called, as DeepSeek does. `true`
   * sends all other reasoning as `reasoning_content` too. A server that refuses it is asked once more without it; one that
   * answers then gets none any more. Never to api.openai.com, which has no such field.
   */
  readonly sendReasoning?: boolean | "auto" | undefined
  /**
   * Whether an agent's `output` is sent as `response_format`, with tools too; strict where its schema allows that. Default:
   * to api.openai.com only, since others refuse it, or call no tools under it. A server that refuses it is asked once more
   * without it, and not again.
   */
  readonly structuredOutput?: boolean | undefined
}

/** Fields added to the request bodies of the calls made with it, over those of `Options.body`: settings of one call. */
export const Body = Context.Reference<Readonly<Record<string, unknown>>>("fiberloop/layers/LanguageModelOpenAi/Body", {
  defaultValue: () => ({})
})

/** A client that fails on statuses by itself still gives the response that it refused. */
const refused = (error: HttpClientError.HttpClientError) =>
  error.reason._tag === "StatusCodeError" ? Effect.succeed(error.reason.response) : Effect.fail(error)

/**
 * The model. Every failure is an `AiError` that names the host and what to check, and never holds the key or the prompt.
 * Interrupting a call, or leaving its stream, closes the connection; an interrupted one has ended once its server could see
 * the close. Fails when the settings are missing or unusable.
 */
export const make = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<LanguageModel.LanguageModel, Config.ConfigError, HttpClient.HttpClient> {
  const client = HttpClient.withScope(yield* HttpClient.HttpClient)
  const endpoint = yield* Endpoint.make(options)

  const send = Effect.fnUntraced(function*(
    sendReasoning: ChatRequest.Options["sendReasoning"],
    call: LanguageModel.ProviderOptions,
    format: ChatRequest.Options["format"]
  ) {
    const body = yield* ChatRequest.encode(call, {
      model: options.model,
      to: Attached.source(endpoint.hostname, options.model),
      body: { ...options.body, ...(yield* Body) },
      sendReasoning,
      format
    }).pipe(Effect.mapError((reason) => AdapterErrors.make(endpoint, reason)))
    const sent = client.execute(endpoint.request(body)).pipe(
      Effect.catch(refused),
      Effect.provideService(HttpClient.TracerDisabledWhen, () => true)
    )
    const response = yield* Effect.mapError(
      HttpSpan.around(endpoint, sent),
      (error) => NetworkErrors.fromHttpClient(endpoint, error)
    )
    const { headers } = response.request
    const quiet = {
      ...endpoint,
      redact: (text: string) => Echo.without(endpoint.redact(text), Sent.texts(body, headers))
    }
    if (!StatusError.isAnswered(response.status)) return yield* StatusError.fail(quiet, response)
    return ChatStream.parts(response.stream, quiet, response.headers["content-type"] ?? "", options.model)
  })

  const sendReasoning = !endpoint.isOpenAi && (options.sendReasoning ?? "auto")
  const open = FormatRefusal.untilRefused(
    options.structuredOutput ?? endpoint.isOpenAi,
    ReasoningRefusal.untilRefused(sendReasoning, send)
  )
  const streamText = (
    call: LanguageModel.ProviderOptions
  ): Stream.Stream<Response.StreamPartEncoded, AiError.AiError> =>
    Stream.unwrap(Effect.andThen(Closing.awaited, open(call)))

  return yield* LanguageModel.make({
    codecTransformer: toCodecOpenAI,
    streamText,
    generateText: (call) => Effect.map(Stream.runCollect(streamText(call)), WholeParts.collect)
  })
})

export const layer = (
  options: Options
): Layer.Layer<LanguageModel.LanguageModel, Config.ConfigError, HttpClient.HttpClient> =>
  Layer.effect(LanguageModel.LanguageModel, make(options))
