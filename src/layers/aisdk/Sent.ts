/**
 * The texts that a call over the AI SDK sent, which its provider's words may not repeat: providers like to quote what they
 * refuse.
 *
 * Does not own the model's key, which is not part of the call (`ModelConfig`).
 */
import type { LanguageModelV4CallOptions, LanguageModelV4Message } from "@ai-sdk/provider"
import * as Echo from "../provider/Echo.ts"
import type * as Json from "../provider/Json.ts"

/** What a message says, and what tools are called with and answer. */
const ofMessage = ({ content }: LanguageModelV4Message): ReadonlyArray<unknown> =>
  typeof content === "string"
    ? [content]
    : content.flatMap((part): ReadonlyArray<unknown> => {
      switch (part.type) {
        case "text":
        case "reasoning":
          return [part.text]
        case "tool-call":
          return [part.input]
        case "tool-result":
          return "value" in part.output ? [part.output.value] : []
        default:
          return []
      }
    })

/** The texts that this call sent: its conversation, its own headers, its settings. */
export const texts = (
  { headers, prompt, responseFormat: _1, toolChoice: _2, tools: _3, ...settings }: LanguageModelV4CallOptions
): ReadonlyArray<string> => [
  ...Echo.texts(prompt.flatMap(ofMessage) as Array<Json.Json>, 8),
  ...Echo.ofHeaders(headers ?? {}),
  ...Echo.ofSettings(settings as Json.JsonObject)
]
