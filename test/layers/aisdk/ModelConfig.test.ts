/** What the headers of a model of the AI SDK hold is known, and what is no secret of them is not. */
import type { LanguageModelV4 } from "@ai-sdk/provider"
import { assert, it } from "@effect/vitest"
import * as ModelConfig from "../../../src/layers/aisdk/ModelConfig.ts"

it.each([
  ["Authorization", "Bearer kkkk-11112222"],
  ["x-api-key", "kkkk-11112222"],
  ["cf-access-client-secret", "kkkk-11112222"],
  ["x-amz-security-token", "kkkk-11112222"],
  ["Cookie", "kkkk-11112222"],
  ["OpenAI-Organization", "kkkk-11112222"]
])("the value of the header %s is a secret of its model", (name, value) => {
  const model = {
    config: { headers: { [name]: value, "user-agent": "fiberloop-of-a-test", "anthropic-version": "2023-06-01" } }
  }
  const secrets = ModelConfig.secrets(model as unknown as LanguageModelV4)
  assert.deepStrictEqual([...new Set(secrets)].toSorted(), [...new Set([value, "kkkk-11112222"])].toSorted())
})
