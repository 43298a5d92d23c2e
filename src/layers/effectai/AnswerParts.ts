/**
 * Converts the parts of an effect/ai answer to those of a `Model`. Total.
 *
 * Does not own errors inside the stream (`ModelErrors`).
 */
import type * as Response from "effect/ai/Response"
import type * as Tool from "effect/ai/Tool"
import type * as Schema from "effect/Schema"
import type * as Message from "../../run/Message.ts"
import type * as Model from "../../services/Model.ts"
import * as ProviderExecuted from "../provider/ProviderExecuted.ts"
import * as UsedSoFar from "../provider/UsedSoFar.ts"

export type StreamPart = Response.StreamPart<Record<string, Tool.Any>, "deferred">

/** Adds the provider's metadata to a part, where there is any. */
const annotated = <P extends object>(part: P, given: { readonly metadata: unknown }): P & Annotated => {
  for (const _ in given.metadata as object) return { ...part, metadata: given.metadata as Message.Metadata }
  return part
}

interface Annotated {
  readonly metadata?: Message.Metadata
}

/** Converts a part of effect/ai to ours; a part without an equivalent becomes an empty `response`. */
export const fromPart = (part: StreamPart): Model.ModelPart => {
  switch (part.type) {
    case "text-delta":
    case "reasoning-delta":
      return annotated({ type: part.type, block: part.id, delta: part.delta }, part)
    case "text-start":
      return annotated({ type: "block-start", kind: "text", block: part.id }, part)
    case "text-end":
      return annotated({ type: "block-end", kind: "text", block: part.id }, part)
    case "reasoning-start":
      return annotated({ type: "block-start", kind: "reasoning", block: part.id }, part)
    case "reasoning-end":
      return annotated({ type: "block-end", kind: "reasoning", block: part.id }, part)
    case "tool-params-start":
      return { type: "tool-params-delta", block: part.id, tool: part.name, delta: "" }
    case "tool-params-delta":
      return { type: "tool-params-delta", block: part.id, delta: part.delta }
    case "tool-params-end":
      return annotated({ type: "block-end", kind: "tool-params", block: part.id }, part)
    case "tool-call": {
      const params = (part.params === undefined ? {} : part.params) as Schema.Json
      const call = { type: part.type, id: part.id, name: part.name, params }
      return annotated(part.providerExecuted ? { ...call, providerExecuted: true } : call, part)
    }
    case "tool-result":
      return annotated({
        type: part.type,
        id: part.id,
        name: part.name,
        result: part.encodedResult as Schema.Json,
        isFailure: part.isFailure
      }, part)
    case "file":
      return annotated({ type: part.type, mediaType: part.mediaType, data: toBase64(part.data) }, part)
    case "source":
      return sourceOf(part)
    case "finish":
      return { type: "finish", reason: part.reason, usage: usageOf(part.usage) }
    case "response-metadata": {
      const executed = ProviderExecuted.read(part)
      if (executed !== undefined) return annotated(executed.part, executed)
      const used = UsedSoFar.read(part)
      return {
        type: "response",
        ...(part.id === undefined ? {} : { id: part.id }),
        ...(part.modelId === undefined ? {} : { model: part.modelId }),
        ...(used === undefined ? {} : { usage: usageOf(used) })
      }
    }
    default:
      return { type: "response" }
  }
}

/** A title that only repeats the address, as effect/ai requires one, is none. */
const sourceOf = (part: Extract<StreamPart, { type: "source" }>): Model.ModelPart => {
  if (part.sourceType === "url") {
    const { title, url: { href: url } } = part
    const isTitled = title !== "" && URL.parse(title)?.href !== url
    return { type: "source", source: isTitled ? { type: "url", url, title } : { type: "url", url } }
  }
  const { fileName, id, mediaType, title } = part
  const document = { type: "document", id, title, mediaType } as const
  return { type: "source", source: fileName === undefined ? document : { ...document, fileName } }
}

const toBase64 = (data: Uint8Array): string => Buffer.from(data).toString("base64")

const usageOf = (
  { inputTokens, outputTokens }: UsedSoFar.Counts
): Extract<Model.ModelPart, { type: "finish" }>["usage"] => ({
  inputTokens: inputTokens.total ?? 0,
  outputTokens: outputTokens.total ?? 0,
  ...(inputTokens.cacheRead === undefined ? {} : { cachedInputTokens: inputTokens.cacheRead }),
  ...(inputTokens.cacheWrite === undefined ? {} : { cacheWriteTokens: inputTokens.cacheWrite }),
  ...(outputTokens.reasoning === undefined ? {} : { reasoningTokens: outputTokens.reasoning })
})
