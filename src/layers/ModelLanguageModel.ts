/**
 * Any effect/ai `LanguageModel` as a `Model`: its own tool resolution is off, its errors become reasons, an error inside
 * the stream counts as a failure of it.
 */
import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as AiModel from "effect/ai/Model"
import type * as Response from "effect/ai/Response"
import type * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type * as Message from "../run/Message.ts"
import type * as RunError from "../run/RunError.ts"
import * as Model from "../services/Model.ts"
import * as ModelErrors from "./ModelErrors.ts"
import * as GrowingPrompt from "./provider/GrowingPrompt.ts"
import { OutputSchema } from "./provider/OutputSchema.ts"

/** What effect/ai does not say of a model. Default: what `effect/ai/Model` says, else "effect/ai" and "unknown". */
export interface Options {
  readonly provider?: string
  readonly name?: string
  /** tokens */
  readonly contextWindow?: number
  /** tokens */
  readonly maxOutput?: number
}

export const make = Effect.fnUntraced(function*(
  options: Options = {}
): Effect.fn.Return<Model.Model["Service"], never, LanguageModel.LanguageModel> {
  const model = yield* LanguageModel.LanguageModel
  const provider = yield* Effect.serviceOption(AiModel.ProviderName)
  const name = yield* Effect.serviceOption(AiModel.ModelName)
  const info: Model.ModelInfo = {
    ...options,
    provider: options.provider ?? Option.getOrElse(provider, () => "effect/ai"),
    name: options.name ?? Option.getOrElse(name, () => "unknown")
  }
  const promptOf = GrowingPrompt.make()
  return {
    info,
    stream: (request) => {
      const parts = model.streamText({
        prompt: promptOf(request.messages),
        toolkit: toolkitOf(request.tools),
        toolChoice: request.toolChoice as LanguageModel.ToolChoice<never>,
        disableToolCallResolution: true,
        toolCallValidation: "deferred"
      })
      const answer = Stream.transformPull(parts, (pull) => Effect.succeed(Effect.matchCauseEffect(pull, answered)))
      return asking(request.output, answer)
    }
  }
})

export const layerWith = (options: Options): Layer.Layer<Model.Model, never, LanguageModel.LanguageModel> =>
  Layer.effect(Model.Model, make(options))

export const layer: Layer.Layer<Model.Model, never, LanguageModel.LanguageModel> = layerWith({})

// ---- request ------------------------------------------------------------------------------------------------------

/** Tools to describe, not to run: resolution is off, so neither handlers nor schema services are asked for. */
const toolkitOf = (tools: ReadonlyArray<Tool.Any>): Toolkit.WithHandler<{}> => ({
  tools: Object.fromEntries(tools.map((tool) => [tool.name, tool])),
  handle: () => Effect.die(new Error("fiberloop: tools are run by the loop, never by the model"))
})

/** Says what the answer has to fit, and costs nothing per part where that is said already, as mostly nothing is. */
const asking = <A, E>(output: Model.Output | undefined, self: Stream.Stream<A, E>): Stream.Stream<A, E> =>
  Stream.fromChannel(Channel.fromTransform((upstream, scope) =>
    Effect.flatMap(OutputSchema, (said) => {
      const asked = said === output ? self : Stream.provideService(self, OutputSchema, output)
      return Channel.toTransform(Stream.toChannel(asked))(upstream, scope)
    })
  ))

// ---- response -----------------------------------------------------------------------------------------------------

type StreamPart = Response.StreamPart<Record<string, Tool.Any>, "deferred">

const toParts = (
  parts: Arr.NonEmptyReadonlyArray<StreamPart>
): Effect.Effect<Arr.NonEmptyReadonlyArray<Model.ModelPart>, RunError.ModelError> => {
  for (const part of parts) {
    if (part.type === "error") return Effect.fail(ModelErrors.fromPart(part.error))
  }
  return Effect.succeed(Arr.map(parts, toPart))
}

/** What a pull gave: parts, the end, or a failure. */
const answered = {
  onSuccess: toParts,
  onFailure: (cause: Cause.Cause<AiError.AiError | Cause.Done>) =>
    Effect.failCause(Cause.map(cause, (error) => Cause.isDone(error) ? error : ModelErrors.fromAiError(error)))
}

const metadataOf = (part: { readonly metadata: unknown }): { readonly metadata?: Message.Metadata } => {
  for (const _ in part.metadata as object) return { metadata: part.metadata as Message.Metadata }
  return {}
}

const blockOf = (part: { readonly id: string; readonly metadata: unknown }) => ({ block: part.id, ...metadataOf(part) })

const toPart = (part: StreamPart): Model.ModelPart => {
  switch (part.type) {
    case "text-delta":
    case "reasoning-delta":
      return { type: part.type, block: part.id, delta: part.delta, ...metadataOf(part) }
    case "text-start":
    case "text-end":
      return { type: part.type === "text-start" ? "block-start" : "block-end", kind: "text", ...blockOf(part) }
    case "tool-params-end":
      return { type: "block-end", kind: "tool-params", ...blockOf(part) }
    case "reasoning-start":
    case "reasoning-end":
      return {
        type: part.type === "reasoning-start" ? "block-start" : "block-end",
        kind: "reasoning",
        ...blockOf(part)
      }
    case "tool-params-start":
      return { type: "tool-params-delta", block: part.id, tool: part.name, delta: "" }
    case "tool-params-delta":
      return { type: "tool-params-delta", block: part.id, delta: part.delta }
    case "tool-call":
      return {
        type: "tool-call",
        id: part.id,
        name: part.name,
        params: (part.params === undefined ? {} : part.params) as Schema.Json,
        ...(part.providerExecuted ? { providerExecuted: true } : {}),
        ...metadataOf(part)
      }
    case "tool-result":
      return {
        type: "tool-result",
        id: part.id,
        name: part.name,
        result: part.encodedResult as Schema.Json,
        isFailure: part.isFailure,
        ...metadataOf(part)
      }
    case "file":
      return { type: "file", mediaType: part.mediaType, data: toBase64(part.data), ...metadataOf(part) }
    case "finish":
      return { type: "finish", reason: part.reason, usage: usageOf(part.usage) }
    case "response-metadata":
      return {
        type: "response",
        ...(part.id === undefined ? {} : { id: part.id }),
        ...(part.modelId === undefined ? {} : { model: part.modelId })
      }
    default:
      return { type: "response" }
  }
}

const toBase64 = (data: Uint8Array): string => Buffer.from(data).toString("base64")

const usageOf = (
  { inputTokens, outputTokens }: Response.Usage
): Extract<Model.ModelPart, { type: "finish" }>["usage"] => ({
  inputTokens: inputTokens.total ?? 0,
  outputTokens: outputTokens.total ?? 0,
  ...(inputTokens.cacheRead === undefined ? {} : { cachedInputTokens: inputTokens.cacheRead }),
  ...(inputTokens.cacheWrite === undefined ? {} : { cacheWriteTokens: inputTokens.cacheWrite }),
  ...(outputTokens.reasoning === undefined ? {} : { reasoningTokens: outputTokens.reasoning })
})
