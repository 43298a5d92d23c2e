/**
 * The name of a provider by the semantic conventions, where they have one; otherwise the one that the model gives. What speaks
 * OpenAI's protocol is reported as `openai`, whatever company is behind it: the name is for the form of the telemetry.
 */
const wellKnown: ReadonlyArray<readonly [where: "startsWith" | "includes", part: string, name: string]> = [
  ["startsWith", "azure", "azure.ai.openai"],
  ["startsWith", "openai", "openai"],
  ["startsWith", "anthropic", "anthropic"],
  ["includes", "bedrock", "aws.bedrock"],
  ["includes", "vertex", "gcp.vertex_ai"],
  ["startsWith", "google.generative", "gcp.gemini"],
  ["includes", "gemini", "gcp.gemini"],
  ["startsWith", "google", "gcp.gen_ai"],
  ["startsWith", "mistral", "mistral_ai"],
  ["startsWith", "x-ai", "x_ai"],
  ["startsWith", "xai", "x_ai"],
  ["startsWith", "cohere", "cohere"],
  ["startsWith", "deepseek", "deepseek"],
  ["startsWith", "groq", "groq"],
  ["startsWith", "perplexity", "perplexity"]
]

export const nameOf = (provider: string): string =>
  wellKnown.find(([where, part]) => provider[where](part))?.[2] ?? provider
