/**
 * Marks in a call that say up to where a provider keeps what it read, for the next call to begin with. A provider that keeps
 * by itself needs none; of Anthropic's and Bedrock's models nothing is kept without.
 *
 *   tools  system  u1 a1 t1 a2 t2      the end of the tools, the instructions, the end of the call before, the end of this one
 *       ^       ^        ^     ^
 *
 * Four, as many as Anthropic takes (https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching). What stood last is
 * marked once more because a provider looks for what it kept only so far back from a mark (20 blocks, there). Pure; marks
 * are all that it changes.
 *
 * Does not own what is sent before a mark, which is the same call for call as long as nothing is compacted (`Transcript`).
 */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  LanguageModelV4ProviderTool,
  SharedV4ProviderOptions
} from "@ai-sdk/provider"

/**
 * `"ephemeral"`: Anthropic's mark, kept for five minutes from its last use. Else what a mark is, by provider name, such as
 * `{ anthropic: { cacheControl: { type: "ephemeral", ttl: "1h" } } }` or `{ bedrock: { cachePoint: { type: "default" } } }`.
 */
export type Cache = "ephemeral" | SharedV4ProviderOptions

const ephemeral: SharedV4ProviderOptions = { anthropic: { cacheControl: { type: "ephemeral" } } }

type Tools = ReadonlyArray<LanguageModelV4FunctionTool | LanguageModelV4ProviderTool>

/** The call with its marks. An application's own stay, and count: what is more than four, the SDK leaves out. */
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

/** The instructions, what stood last before the last answer, and what stands last. */
const placesIn = (prompt: LanguageModelV4Prompt): ReadonlySet<number> => {
  const lastAnswer = prompt.findLastIndex(({ role }) => role === "assistant")
  const instructions = prompt.findIndex(({ role }) => role !== "system") - 1
  // what a model said is marked by nobody: reasoning can have no mark
  const isRead = (at: number) => prompt[at]?.role === "user" || prompt[at]?.role === "tool"
  return new Set([instructions, ...[lastAnswer - 1, prompt.length - 1].filter(isRead)])
}

const markedTools = (tools: Tools, mark: SharedV4ProviderOptions) => {
  // a provider's own tools can have no mark
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
