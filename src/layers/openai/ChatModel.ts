/**
 * A chat completions API as an effect/ai `LanguageModel`: what is sent, what an answer or a refusal becomes, and one more try
 * when a server refuses a field that not every server takes. Does not retry otherwise, run tools, or know of runs.
 */
import * as LanguageModel from "effect/ai/LanguageModel"
import { toCodecOpenAI } from "effect/ai/OpenAiStructuredOutput"
import type * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import type * as HttpClientError from "effect/http/HttpClientError"
import * as Layer from "effect/Layer"
import type { Options } from "../LanguageModelOpenAi.ts"
import * as Merged from "../options/Merged.ts"
import * as AdapterErrors from "../provider/AdapterErrors.ts"
import * as Beginning from "../provider/Beginning.ts"
import * as Echo from "../provider/Echo.ts"
import * as FormatRefusal from "../provider/FormatRefusal.ts"
import * as NetworkErrors from "../provider/NetworkErrors.ts"
import * as OrderRefusal from "../provider/OrderRefusal.ts"
import * as StreamedModel from "../provider/StreamedModel.ts"
import * as Attached from "./Attached.ts"
import { Body } from "./Body.ts"
import * as ChatRequest from "./ChatRequest.ts"
import * as ChatStream from "./ChatStream.ts"
import * as Endpoint from "./Endpoint.ts"
import * as HttpSpan from "./HttpSpan.ts"
import * as OpenAiOptions from "./OpenAiOptions.ts"
import * as ReasoningRefusal from "./ReasoningRefusal.ts"
import * as Sent from "./Sent.ts"
import * as StandIns from "./StandIns.ts"
import * as StatusError from "./StatusError.ts"

/** A client that fails on statuses by itself still yields the response that it refused. */
const refused = (error: HttpClientError.HttpClientError) =>
  error.reason._tag === "StatusCodeError" ? Effect.succeed(error.reason.response) : Effect.fail(error)

/** See `LanguageModelOpenAi.make`, which loads this. */
export const make = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<LanguageModel.LanguageModel, Config.ConfigError, HttpClient.HttpClient> {
  yield* OpenAiOptions.languageModel(options)
  const client = HttpClient.withScope(yield* HttpClient.HttpClient)
  const endpoint = yield* Endpoint.make(options)

  const send = Effect.fnUntraced(function*(
    answersResults: boolean,
    sendReasoning: ChatRequest.Options["sendReasoning"],
    standIn: ChatRequest.Options["standIn"],
    call: LanguageModel.ProviderOptions,
    format: ChatRequest.Options["format"]
  ) {
    const body = yield* ChatRequest.encode(call, {
      model: options.model,
      to: Attached.source(endpoint.hostname, options.model),
      body: Merged.fields(options.body ?? {}, yield* Body),
      sendReasoning,
      standIn,
      answersResults,
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
    const withoutSent = Echo.redacting(() => Sent.texts(body, headers))
    const quiet = { ...endpoint, redact: (text: string) => withoutSent(endpoint.redact(text)) }
    if (!StatusError.isAnswered(response.status)) return yield* StatusError.fail(quiet, response)
    return ChatStream.parts(response.stream, quiet, response.headers["content-type"] ?? "", options.model)
  }, Beginning.awaited)

  const sendReasoning = !endpoint.isOpenAi && (options.sendReasoning ?? "auto")
  const open = FormatRefusal.untilRefused(
    options.structuredOutput ?? endpoint.isOpenAi,
    StandIns.untilMissed(
      sendReasoning !== false,
      ReasoningRefusal.untilRefused(
        sendReasoning,
        OrderRefusal.untilRefused(false, (_, __, { prompt }) => OrderRefusal.hasResults(prompt), send)
      )
    )
  )
  return yield* StreamedModel.make(open, { codecTransformer: toCodecOpenAI })
})

export const layer = (
  options: Options
): Layer.Layer<LanguageModel.LanguageModel, Config.ConfigError, HttpClient.HttpClient> =>
  Layer.effect(LanguageModel.LanguageModel, make(options))
