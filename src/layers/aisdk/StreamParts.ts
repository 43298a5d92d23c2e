/**
 * Turns the parts of the AI SDK into those of effect/ai, one for one. Owns neither their order nor the end (`Answer`).
 *
 * What effect/ai has no place for is left out: images of the reasoning, a provider's own kinds of content, its requests for
 * approval, a file that is only an address.
 */
import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart, LanguageModelV4Usage } from "@ai-sdk/provider"
import type * as Response from "effect/ai/Response"
import * as Base64 from "effect/encoding/Base64"
import * as FinishReasons from "../provider/FinishReasons.ts"
import * as Parameters from "../provider/Parameters.ts"
import * as TokenCount from "../provider/TokenCount.ts"
import * as Metadata from "./Metadata.ts"

type Part<Type> = Extract<LanguageModelV4StreamPart, { type: Type }>

const file = (
  { data: given, mediaType, providerMetadata }: Part<"file">,
  model: string
): Response.StreamPartEncoded | undefined => {
  if (given.type === "url") return undefined
  const data = typeof given.data === "string" ? given.data : Base64.encode(given.data)
  return { type: "file", mediaType, data, ...Metadata.received(providerMetadata, model) }
}

/** Without an address that is none, over which effect/ai would lose the answer. */
const source = (part: Part<"source">, model: string): Response.StreamPartEncoded | undefined => {
  if (part.sourceType === "url" && !URL.canParse(part.url)) return undefined
  const metadata = Metadata.received(part.providerMetadata, model)
  return part.sourceType === "url"
    ? { type: "source", sourceType: "url", id: part.id, url: part.url, title: part.title ?? part.url, ...metadata }
    : {
      type: "source",
      sourceType: "document",
      id: part.id,
      mediaType: part.mediaType,
      title: part.title,
      ...(part.filename === undefined ? {} : { fileName: part.filename }),
      ...metadata
    }
}

const responseMetadata = ({ id, modelId, timestamp }: Part<"response-metadata">): Response.StreamPartEncoded => ({
  type: "response-metadata",
  id,
  modelId,
  timestamp: timestamp === undefined || Number.isNaN(timestamp.getTime()) ? undefined : timestamp.toISOString()
})

/** The counts that there are: no answer fails because of what a package makes of counts that its provider left out. */
export const usage = (
  { inputTokens: input, outputTokens: output }: Partial<LanguageModelV4Usage>
): typeof Response.Usage.Encoded => ({
  inputTokens: {
    total: TokenCount.read(input?.total),
    uncached: TokenCount.read(input?.noCache),
    cacheRead: TokenCount.read(input?.cacheRead),
    cacheWrite: TokenCount.read(input?.cacheWrite)
  },
  outputTokens: {
    total: TokenCount.read(output?.total),
    text: TokenCount.read(output?.text),
    reasoning: TokenCount.read(output?.reasoning)
  }
})

/** Why an answer ended, also in a provider's word that its package does not know: `failed` where the server gave up. */
export const finishReason = (
  { raw, unified }: LanguageModelV4FinishReason
): Response.FinishReason | "failed" => {
  // Anthropic's answer is unfinished, and goes on if it is sent back
  // (https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons)
  if (raw === "pause_turn") return "pause"
  if (unified === "error") return "failed"
  return unified === "other" || unified === "interrupted" ? FinishReasons.of(raw ?? "") : unified
}

/** The finish of the model of this name, for that reason; `told` is added to its metadata. */
export const finish = (
  { finishReason, providerMetadata, usage: used }: Omit<Part<"finish">, "usage"> & Partial<Part<"finish">>,
  reason: Response.FinishReason,
  model: string,
  told: Readonly<Record<string, unknown>>
): Response.StreamPartEncoded => ({
  type: "finish",
  reason,
  usage: usage(used ?? {}),
  metadata: {
    ...(providerMetadata === undefined ? {} : Metadata.plain(providerMetadata)),
    aisdk: Metadata.plain({ model, finishReason: finishReason.raw, usage: used?.raw, ...told })
  } as Response.ProviderMetadata
})

/** The arguments of a call as text: some packages give them as an object, or none. */
const written = (input: unknown): string => typeof input === "string" ? input : JSON.stringify(input) ?? ""

/** What a part of content, made by the model of this name, becomes. Throws where a package breaks its protocol. */
export const fromPart = (
  part: LanguageModelV4StreamPart,
  model: string
): Response.StreamPartEncoded | undefined => {
  switch (part.type) {
    case "text-start":
    case "text-end":
    case "reasoning-start":
    case "reasoning-end":
      return { type: part.type, id: part.id, ...Metadata.received(part.providerMetadata, model) }
    case "text-delta":
    case "reasoning-delta":
      return { type: part.type, id: part.id, delta: part.delta, ...Metadata.received(part.providerMetadata, model) }
    case "tool-input-start":
      return {
        type: "tool-params-start",
        id: part.id,
        name: part.toolName,
        providerExecuted: part.providerExecuted ?? false
      }
    case "tool-input-delta":
      return { type: "tool-params-delta", id: part.id, delta: part.delta }
    case "tool-input-end":
      return { type: "tool-params-end", id: part.id }
    case "tool-call":
      return {
        type: "tool-call",
        id: part.toolCallId,
        name: part.toolName,
        params: Parameters.fromText(written(part.input)),
        providerExecuted: part.providerExecuted ?? false,
        ...(part.providerExecuted === true
          ? Metadata.ofOwn(part.providerMetadata, model)
          : Metadata.ofCall(part.providerMetadata, model, part.toolCallId))
      }
    case "tool-result":
      return part.preliminary === true ? undefined : {
        type: "tool-result",
        id: part.toolCallId,
        name: part.toolName,
        result: Metadata.plain(part.result),
        isFailure: part.isError ?? false,
        providerExecuted: true,
        ...Metadata.ofOwn(part.providerMetadata, model)
      }
    case "file":
      return file(part, model)
    case "source":
      return source(part, model)
    case "response-metadata":
      return responseMetadata(part)
    default:
      return undefined
  }
}
