/**
 * What a server attached to its answer and wants back with it, as the metadata of its parts: signatures and other fields of
 * calls and messages, `reasoning_details`, and whether reasoning came as `reasoning_content`. Opaque, and only for the server
 * and model that attached it; the metadata names both.
 *
 * Does not own how it is sent (`ChatMessages`), nor when reasoning is (`ChatModel`).
 */
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as Json from "../provider/Json.ts"
import * as ServerOptions from "../provider/ServerOptions.ts"

/** Fields of a call that only its server understands: Gemini and LiteLLM put signatures there. */
const opaque = ["extra_content", "provider_specific_fields"] as const

interface Attached {
  /** by name, as they came */
  readonly fields?: Json.JsonObject | undefined
  /** the id by which the server knows a call, where the request gives the call another */
  readonly id?: string | undefined
  /** those of a message, whole or in part */
  readonly reasoningDetails?: ReadonlyArray<Json.JsonObject> | undefined
  /** the message came with `reasoning_content`, which may be empty */
  readonly isReasoningContent?: boolean | undefined
}

/** Distinguishes a model at a server from all others. */
export const source = (hostname: string, model: string): string => `${hostname}/${model}`

/** The opaque fields of a call, where there are any. */
export const ofCall = (call: Json.JsonObject | undefined): Json.JsonObject | undefined => {
  let found: Json.JsonObject | undefined
  for (const name of opaque) {
    const field = Json.object(call?.[name])
    if (field !== undefined) found = { ...found, [name]: field }
  }
  return found
}

/** The opaque fields of a message. Gemini also marks summaries of its thoughts there, which are not answers. */
export const ofMessage = (delta: Json.JsonObject): Json.JsonObject | undefined => {
  const extra_content = Json.object(delta.extra_content)
  return extra_content === undefined || Json.object(extra_content.google)?.thought === true
    ? undefined
    : { extra_content }
}

/** What came from this source, as the metadata of a part; no metadata where nothing came. */
export const received = (attached: Attached, from: string): { readonly metadata?: Response.ProviderMetadata } => {
  const told = Object.entries(attached).filter(([, value]) => value !== undefined && value !== false)
  return told.length === 0 ? {} : { metadata: { openai: { from, ...Object.fromEntries(told) } } }
}

const none: Attached = {}

/** What this source attached to a part, with opaque fields only: metadata in a log must never replace what a message says. */
export const sent = ({ options }: { readonly options: Prompt.ProviderOptions }, from: string): Attached => {
  const found = ServerOptions.of(options)
  if (found?.from !== from) return none
  const attached = found as Attached
  return attached.fields === undefined ? attached : { ...attached, fields: ofCall(Json.object(found.fields)) }
}
