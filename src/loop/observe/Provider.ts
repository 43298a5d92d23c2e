/**
 * The name of a provider by the semantic conventions, where they have one; else as the model says it. What speaks OpenAI's
 * protocol is told as `openai`, whoever stands behind it: the name is for the form of the telemetry.
 */
const wellKnown: ReadonlyArray<readonly [RegExp, string]> = [
  [/^azure/, "azure.ai.openai"],
  [/^openai/, "openai"],
  [/^anthropic/, "anthropic"],
  [/bedrock/, "aws.bedrock"],
  [/vertex/, "gcp.vertex_ai"],
  [/^google\.generative|gemini/, "gcp.gemini"],
  [/^google/, "gcp.gen_ai"],
  [/^mistral/, "mistral_ai"],
  [/^x-?ai/, "x_ai"],
  [/^(cohere|deepseek|groq|perplexity)/, "$1"]
]

const known = new Map<string, string>()

export const nameOf = (provider: string): string => {
  const name = known.get(provider)
  if (name !== undefined) return name
  const [pattern, value] = wellKnown.find(([pattern]) => pattern.test(provider)) ?? [undefined, provider]
  const found = pattern === undefined ? provider : value === "$1" ? pattern.exec(provider)![0] : value
  known.set(provider, found)
  return found
}
