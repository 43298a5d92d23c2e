/**
 * What a provider attaches to a part (signatures, ids of its own), and what an application attaches (cache markers): one
 * record by provider name. What came from a model also says which model that was.
 *
 * A signature of one model is refused by the next one, so what a model attached goes back to that model only.
 */
import type { LanguageModelV4, SharedV4ProviderMetadata, SharedV4ProviderOptions } from "@ai-sdk/provider"
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as CallIds from "../provider/CallIds.ts"
import * as Json from "../provider/Json.ts"
import * as ServerOptions from "../provider/ServerOptions.ts"

/** Distinguishes a model from all others. */
export const nameOf = ({ modelId, provider }: LanguageModelV4): string => `${provider}/${modelId}`

/** A value as JSON holds it: without undefined fields. */
export const plain = <A>(value: A): A => JSON.parse(JSON.stringify(value))

/** What the model of this name attached, as the metadata of a part. */
export const received = (
  metadata: SharedV4ProviderMetadata | undefined,
  model: string
): { readonly metadata?: Response.ProviderMetadata } =>
  metadata === undefined ? {} : { metadata: { ...plain(metadata), aisdk: { model } } }

/**
 * What the model of this name attached to a call, and the call's id where its provider knows the call by it: OpenAI is only sent a
 * reference to the items that it keeps, and other models read their ids (`CallIds.isKept`).
 */
export const ofCall = (
  metadata: SharedV4ProviderMetadata | undefined,
  model: string,
  id: string
): { readonly metadata?: Response.ProviderMetadata } => {
  const isItem = Object.values(metadata ?? {}).some((fields) => typeof fields["itemId"] === "string")
  return isItem || CallIds.isKept(id)
    ? { metadata: { ...plain(metadata ?? {}), aisdk: { model, id } } }
    : received(metadata, model)
}

/** What the model of this name attached to a call that its provider executed itself, or to its result: at least that it made them. */
export const ofOwn = (
  metadata: SharedV4ProviderMetadata | undefined,
  model: string
): { readonly metadata?: Response.ProviderMetadata } => received(metadata ?? {}, model)

/** Whether another model than that of this name made a part, as far as is known. */
export const isOthers = (options: Prompt.ProviderOptions, model: string): boolean => {
  const told = Json.object(options["aisdk"] as Json.Json | undefined)
  return told !== undefined && told.model !== model
}

/** The id by which the provider of the model of this name knows a call; `undefined` where any will do. */
export const callId = (options: Prompt.ProviderOptions, model: string): string | undefined => {
  const told = Json.object(options["aisdk"] as Json.Json | undefined)
  return told?.model === model ? Json.text(told.id) : undefined
}

/** The options of a part or message, without what another model attached. */
export const sent = (
  options: Prompt.ProviderOptions,
  model: string
): { readonly providerOptions?: SharedV4ProviderOptions } => {
  const { aisdk, ...others } = ServerOptions.without(options)
  const isForeign = aisdk !== undefined && Json.object(aisdk as Json.Json)?.model !== model
  return isForeign || Object.keys(others).length === 0 ? {} : { providerOptions: others as SharedV4ProviderOptions }
}
