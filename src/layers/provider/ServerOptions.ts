/**
 * The options of a part in which a chat completions server finds what it attached to that part. They name where it came from; options
 * that an application gave for OpenAI do not.
 *
 * Does not own what is attached (`openai/Attached`).
 */
import type * as Prompt from "effect/ai/Prompt"
import * as Json from "./Json.ts"

/** What such a server attached, `from` included, where one did. */
export const of = (options: Prompt.ProviderOptions): Json.JsonObject | undefined => {
  const found = Json.object(options.openai as Json.Json | undefined)
  return Json.text(found?.from) === undefined ? undefined : found
}

/** The options without what such a server attached, which is for no other adapter. */
export const without = (options: Prompt.ProviderOptions): Prompt.ProviderOptions => {
  const { openai: _, ...others } = options
  return of(options) === undefined ? options : others
}
