/** Providers are named as the semantic conventions name them. */
import { assert, it } from "@effect/vitest"
import * as Provider from "../../../src/loop/observe/Provider.ts"

const named: ReadonlyArray<readonly [provider: string, name: string]> = [
  ["azure-openai.chat", "azure.ai.openai"],
  ["openai.chat", "openai"],
  ["anthropic.messages", "anthropic"],
  ["amazon-bedrock", "aws.bedrock"],
  ["google.vertex.chat", "gcp.vertex_ai"],
  ["google.generative-ai", "gcp.gemini"],
  ["my-gemini", "gcp.gemini"],
  ["google", "gcp.gen_ai"],
  ["mistral.chat", "mistral_ai"],
  ["xai.chat", "x_ai"],
  ["x-ai", "x_ai"],
  ["cohere.chat", "cohere"],
  ["deepseek.chat", "deepseek"],
  ["groq.chat", "groq"],
  ["perplexity", "perplexity"]
]

it.each(named)("%s is %s", (provider, name) => assert.strictEqual(Provider.nameOf(provider), name))

it("others are named as they call themselves", () => {
  for (const provider of ["scripted", "my-openai", ""]) assert.strictEqual(Provider.nameOf(provider), provider)
})
