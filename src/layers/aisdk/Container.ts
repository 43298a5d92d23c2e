/**
 * The container in which Anthropic runs the code that a model writes: where an answer is to go on, after a pause or with the results of
 * calls, the next request has to name it
 * (https://platform.claude.com/docs/en/agents-and-tools/tool-use/programmatic-tool-calling). It is known only once the answer is complete,
 * so it is kept as reasoning without a text: that is in the log, and goes to the model that made it only.
 */
import type { SharedV4ProviderMetadata } from "@ai-sdk/provider"
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as Json from "../provider/Json.ts"
import type { Settings } from "./CallOptions.ts"

const block = "container"

/** The parts that keep the container that an answer's finish names, if it names one. */
export const kept = (
  metadata: SharedV4ProviderMetadata | undefined,
  model: string
): ReadonlyArray<Response.StreamPartEncoded> => {
  const { expiresAt, id } = Json.object(metadata?.["anthropic"]?.["container"] as Json.Json | undefined) ?? {}
  if (Json.text(id) === undefined) return []
  const container = { id: id!, expiresAt: expiresAt ?? null }
  return [
    { type: "reasoning-start", id: block, metadata: { aisdk: { model, container } } },
    { type: "reasoning-end", id: block }
  ]
}

const keptIn = ({ options }: { readonly options: Prompt.ProviderOptions }): Json.JsonObject | undefined =>
  Json.object(options["aisdk"] as Json.Json | undefined)

/** Whether a part only keeps a container, and is none that a provider knows. */
export const isKept = (part: Prompt.ReasoningPart): boolean => keptIn(part)?.container !== undefined

/** The container of the answer that a call is to go on with, unless that has expired at `now`, or nothing goes on. */
const idIn = ({ content }: Prompt.Prompt, model: string, now: number): string | undefined => {
  const last = content.findLast(({ role }) => role !== "tool")
  if (last?.role !== "assistant") return undefined
  const part = last.content.findLast((part) => part.type === "reasoning" && isKept(part))
  const told = part === undefined ? undefined : keptIn(part)
  const container = told?.model === model ? Json.object(told.container) : undefined
  const expiresAt = Json.text(container?.expiresAt)
  return expiresAt !== undefined && Date.parse(expiresAt) <= now ? undefined : Json.text(container?.id)
}

/** The settings of a call of this prompt to the model of this name; a container that an application named stays. */
export const named = (settings: Settings, prompt: Prompt.Prompt, model: string, now: number): Settings => {
  const id = idIn(prompt, model, now)
  if (id === undefined) return settings
  const { providerOptions } = settings
  const own = providerOptions?.["anthropic"]
  const container = { id, ...(own?.["container"] as Json.JsonObject | undefined) }
  return { ...settings, providerOptions: { ...providerOptions, anthropic: { ...own, container } } }
}
