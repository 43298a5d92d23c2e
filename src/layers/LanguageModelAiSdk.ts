/**
 * An effect/ai `LanguageModel` over any provider of the Vercel AI SDK: Anthropic, Google, Bedrock, Mistral, ... You pass the
 * provider's model as a value, so its package is the only one to install:
 *
 *     import { anthropic } from "@ai-sdk/anthropic"
 *     LanguageModelAiSdk.layer(anthropic("claude-sonnet-4-5"))
 *
 * What a provider attaches to its parts (signatures of reasoning and calls, encrypted content) goes back unedited, to that
 * provider and model only; what an application attaches (`{ anthropic: { cacheControl: { type: "ephemeral" } } }`) always goes.
 *
 * Owns the call and its answer. Does not retry, does not run tools, does not know of runs.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider"
import * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Tool from "effect/ai/Tool"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as AiSdkOptions from "./aisdk/AiSdkOptions.ts"
import * as Answer from "./aisdk/Answer.ts"
import * as CacheMarks from "./aisdk/CacheMarks.ts"
import * as CallOptions from "./aisdk/CallOptions.ts"
import * as CallSettings from "./aisdk/CallSettings.ts"
import * as Container from "./aisdk/Container.ts"
import * as Failures from "./aisdk/Failures.ts"
import * as LostItems from "./aisdk/LostItems.ts"
import * as Metadata from "./aisdk/Metadata.ts"
import * as ModelCheck from "./aisdk/ModelCheck.ts"
import * as ModelConfig from "./aisdk/ModelConfig.ts"
import * as OptionCheck from "./options/OptionCheck.ts"
import * as AdapterErrors from "./provider/AdapterErrors.ts"
import * as Beginning from "./provider/Beginning.ts"
import * as FormatRefusal from "./provider/FormatRefusal.ts"
import * as OrderRefusal from "./provider/OrderRefusal.ts"
import type * as ResponseFormat from "./provider/ResponseFormat.ts"
import * as StreamedModel from "./provider/StreamedModel.ts"

export { CallSettings } from "./aisdk/CallSettings.ts"
export { isContextOverflow, isTruncated, retryAfter } from "./provider/AdapterErrors.ts"

export type Settings = CallOptions.Settings

export type Cache = CacheMarks.Cache

export interface Options {
  /** What every call sends besides the prompt and the tools. */
  readonly settings?: Settings | undefined
  /** Names where the model's key is set, for the advice in errors: `"ANTHROPIC_API_KEY"`. */
  readonly key?: string | undefined
  /**
   * Whether to ask for an agent's `output` as the provider's own structured output, with tools too, in the way that its package
   * does for the model: by a schema, or by a tool of the package's own where the model has no such mode. Default: only for
   * Anthropic, Google and OpenAI at their own addresses. A server that refuses it is asked once more without it, and never
   * again with it.
   */
  readonly structuredOutput?: boolean | undefined
  /**
   * Marks the tools, the instructions and the newest messages of every call for the provider's cache, for models that cache
   * nothing without marks: `"ephemeral"` is Anthropic's mark for five minutes, an object any other mark. Usage counts what was
   * read from the cache and written to it. Use it instead of `cacheControl` in `settings.providerOptions`, which is a mark of
   * its own. Default: no marks.
   */
  readonly cache?: Cache | undefined
}

const optionNames: Record<keyof Options, true> = { settings: true, key: true, structuredOutput: true, cache: true }

/** Servers that enforce an answer's schema while they call tools, through a package that knows how to ask for it. */
const structured: ReadonlySet<string> = new Set([
  "api.anthropic.com",
  "generativelanguage.googleapis.com",
  "api.openai.com"
])

const refuse = (caller: Failures.Caller, what: (host: string) => string): Effect.Effect<never, AiError.AiError> => {
  const origin = Failures.originOf(caller)
  return Effect.fail(AdapterErrors.make(origin, new AiError.InvalidRequestError({ description: what(origin.host) })))
}

/** Fails for a model of another version of the SDK. */
const checkVersion = (caller: Failures.Caller): Effect.Effect<void, AiError.AiError> => {
  const version: string = caller.model.specificationVersion
  return version === "v4" ?
    Effect.void :
    refuse(
      caller,
      () =>
        `the package of ${caller.model.provider} has models of AI SDK version ${version}, but v4 is needed: install a version `
        + `that depends on @ai-sdk/provider 4`
    )
}

/** Fails on an answer that would be read as a stream without events, whatever is in it. */
const checkAnswer = (caller: Failures.Caller, contentType: string): Effect.Effect<void, AiError.AiError> =>
  /^text\/html\b/.test(contentType)
    ? refuse(caller, (host) => `${host} answered with a web page instead of an event stream; check the base URL`)
    : Effect.void

/**
 * The model. Every failure is an `AiError` that names the host and what to check. It holds neither the prompt nor, as far as
 * the provider shows it, the key. An answer whose finish has no reason of the provider's own was cut (`isTruncated`).
 * Interrupting a call, or leaving its stream, aborts the request; an interrupted call ends only once its server could see the
 * close. The SDK's warnings are logged at level Debug, and are in the metadata of the finish, under `aisdk`. Throws a `RangeError`
 * for an option that it does not take, and for what is no model.
 */
export const make = (model: LanguageModelV4, options: Options = {}): Effect.Effect<LanguageModel.LanguageModel> => {
  OptionCheck.options("LanguageModelAiSdk", options, optionNames)
  AiSdkOptions.check(options)
  ModelCheck.isModel("LanguageModelAiSdk", model)
  const name = Metadata.nameOf(model)

  const failing = (caller: Failures.Caller) => (broken: Failures.Broken) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.fail(Failures.toAiError(broken, caller, now)))

  const send = Effect.fnUntraced(function*(
    hasAttached: boolean,
    answersResults: boolean,
    call: LanguageModel.ProviderOptions,
    format: ResponseFormat.ResponseFormat | undefined
  ) {
    const controller = new AbortController()
    const abort = Effect.sync(() => controller.abort())
    yield* Effect.addFinalizer(() => abort)
    const given = CallSettings.over(options.settings, yield* CallSettings.CallSettings)
    const settings = Container.named(given, call.prompt, name, yield* Clock.currentTimeMillis)
    const known = { model, key: options.key }
    yield* checkVersion(known)
    const encoded = yield* CallOptions.encode(call, settings, { name, answersResults, hasAttached, format }).pipe(
      Effect.mapError((reason) => AdapterErrors.make(Failures.originOf(known), reason))
    )
    const request = options.cache === undefined ? encoded : CacheMarks.add(encoded, options.cache)
    const caller = { ...known, sent: request }
    const answer = yield* Effect.tryPromise({
      try: async () => await model.doStream({ ...request, abortSignal: controller.signal }),
      catch: (cause) => new Failures.Broken("call", cause)
    }).pipe(Effect.catch(failing(caller)))
    const contentType = answer.response?.headers?.["content-type"] ?? ""
    yield* checkAnswer(caller, contentType)
    const reader = answer.stream.getReader()
    // abort first: a cancelled stream may wait for a connection that only the abort closes
    yield* Effect.addFinalizer(() => Effect.andThen(abort, Effect.promise(() => reader.cancel().catch(() => {}))))
    const tools = new Map(
      call.tools.map((tool) => [tool.name, Tool.isProviderDefined(tool) ? "provider" : "application"] as const)
    )
    return Answer.parts(reader, caller, contentType, tools).pipe(
      Stream.catch((broken) => Stream.fromEffect(failing(caller)(broken)))
    )
  }, Beginning.awaited)

  const sendWhole = LostItems.leftOut(send)
  const open = FormatRefusal.untilRefused(
    options.structuredOutput ?? structured.has(URL.parse(ModelConfig.baseUrl(model) ?? "")?.host ?? ""),
    OrderRefusal.untilRefused(
      model.provider.startsWith("mistral"),
      ({ prompt }) => OrderRefusal.hasResults(prompt),
      sendWhole
    )
  )
  return StreamedModel.make(open)
}

export const layer = (model: LanguageModelV4, options?: Options): Layer.Layer<LanguageModel.LanguageModel> =>
  Layer.effect(LanguageModel.LanguageModel, Effect.suspend(() => make(model, options)))
