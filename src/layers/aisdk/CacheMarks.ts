/**
 * Marks in a call up to where a provider caches what it read, so that the next call can begin with it. A provider that caches
 * by itself needs no marks; Anthropic's and Bedrock's models cache nothing without them.
 *
 *   tools  system  u1 a1 t1 a2 t2      the end of the tools, the instructions, the end of the call before, the end of this one
 *       ^       ^        ^     ^
 *
 * Four, as many as Anthropic takes (https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching). The end of the call
 * before is marked again because a provider looks only so far back from a mark for what it cached (20 blocks at Anthropic).
 * Pure; changes nothing but marks.
 *
 * Does not own what is sent before a mark, which stays the same from call to call until something is compacted (`Transcript`).
 */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  LanguageModelV4ProviderTool,
  SharedV4ProviderOptions
} from "@ai-sdk/provider"

/**
 * `"ephemeral"`: Anthropic's mark, kept for five minutes after its last use. Else the mark itself, by provider name, such as
 * `{ anthropic: { cacheControl: { type: "ephemeral", ttl: "1h" } } }` or `{ bedrock: { cachePoint: { type: "default" } } }`.
 */
export type Cache = "ephemeral" | SharedV4ProviderOptions

const ephemeral: SharedV4ProviderOptions = { anthropic: { cacheControl: { type: "ephemeral" } } }

type Tools = ReadonlyArray<LanguageModelV4FunctionTool | LanguageModelV4ProviderTool>

/** The call with its marks. An application's own marks stay and count; beyond four, the SDK leaves marks out. */
export const add = (call: LanguageModelV4CallOptions, cache: Cache): LanguageModelV4CallOptions => {
  const mark = cache === "ephemeral" ? ephemeral : cache
  const { prompt, tools } = call
  const places = placesIn(prompt)
  return {
    ...call,
    prompt: prompt.map((message, at) => places.has(at) ? marked(message, mark) : message),
    ...(tools === undefined ? {} : { tools: markedTools(tools, mark) })
  }
}

/** The instructions, the last message before the last answer, and the last message. */
const placesIn = (prompt: LanguageModelV4Prompt): ReadonlySet<number> => {
  const lastAnswer = prompt.findLastIndex(({ role }) => role === "assistant")
  const instructions = prompt.findIndex(({ role }) => role !== "system") - 1
  // what a model said is never marked: reasoning cannot have a mark
  const isRead = (at: number) => prompt[at]?.role === "user" || prompt[at]?.role === "tool"
  return new Set([instructions, ...[lastAnswer - 1, prompt.length - 1].filter(isRead)])
}

const markedTools = (tools: Tools, mark: SharedV4ProviderOptions) => {
  // a provider's own tools cannot have a mark
  const last = tools.findLastIndex(({ type }) => type === "function")
  return tools.map((tool, at) => at === last && tool.type === "function" ? marked(tool, mark) : tool)
}

const marked = <A extends { readonly providerOptions?: SharedV4ProviderOptions }>(
  value: A,
  mark: SharedV4ProviderOptions
): A => {
  const options: Record<string, SharedV4ProviderOptions[string]> = { ...value.providerOptions }
  for (const [provider, fields] of Object.entries(mark)) options[provider] = { ...fields, ...options[provider] }
  return { ...value, providerOptions: options }
}
