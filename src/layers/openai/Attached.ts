/**
 * What a server attached to its answer and asks to get back with it, as the metadata of its parts: signatures and other
 * fields of calls and messages, `reasoning_details`, and that reasoning came as `reasoning_content`. Opaque, and for the
 * server and model that gave it only: whose it is stands beside it.
 *
 * Does not own how it is sent (`ChatMessages`), nor when reasoning is (`ChatModel`).
 */
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as Json from "../provider/Json.ts"

/** Fields of a call that none but its server understands: Gemini and LiteLLM have signatures there. */
const opaque = ["extra_content", "provider_specific_fields"] as const

export interface Attached {
  /** by name, as they came */
  readonly fields?: Json.JsonObject | undefined
  /** the id of a call that its server looks for, where calls have others in a request */
  readonly id?: string | undefined
  /** of a message, whole or in part */
  readonly reasoningDetails?: ReadonlyArray<Json.JsonObject> | undefined
  /** the message came with `reasoning_content`, which may be empty */
  readonly isReasoningContent?: boolean | undefined
}

/** What tells a model at a server from all others. */
export const source = (hostname: string, model: string): string => `${hostname}/${model}`

/** The opaque fields of a call, where there are some. */
export const ofCall = (call: Json.JsonObject | undefined): Json.JsonObject | undefined => {
  let found: Json.JsonObject | undefined
  for (const name of opaque) {
    const field = Json.object(call?.[name])
    if (field !== undefined) found = { ...found, [name]: field }
  }
  return found
}

/** Those of a message; Gemini marks there also what is no answer but a summary of its thoughts. */
export const ofMessage = (delta: Json.JsonObject): Json.JsonObject | undefined => {
  const extra_content = Json.object(delta.extra_content)
  return extra_content === undefined || Json.object(extra_content.google)?.thought === true
    ? undefined
    : { extra_content }
}

/** LiteLLM writes the signature of a call into its id. */
export const isSigned = (id: string): boolean => id.includes("__thought__")

/** What came from this source, as the metadata of a part; none where that is nothing. */
export const received = (attached: Attached, from: string): { readonly metadata?: Response.ProviderMetadata } => {
  const told = Object.entries(attached).filter(([, value]) => value !== undefined && value !== false)
  return told.length === 0 ? {} : { metadata: { openai: { from, ...Object.fromEntries(told) } } }
}

const none: Attached = {}

/** What this source attached to a part; of its fields only opaque ones: no log, however made, says what a message says. */
export const sent = ({ options }: { readonly options: Prompt.ProviderOptions }, from: string): Attached => {
  const found = Json.object(options.openai as Json.Json | undefined)
  if (found?.from !== from) return none
  const attached = found as Attached
  return attached.fields === undefined ? attached : { ...attached, fields: ofCall(Json.object(found.fields)) }
}

/** The options of a part without what was attached by such a server, which is for no other adapter. */
export const without = (options: Prompt.ProviderOptions): Prompt.ProviderOptions => {
  const { openai, ...others } = options
  return Json.text(Json.object(openai as Json.Json | undefined)?.from) === undefined ? options : others
}
