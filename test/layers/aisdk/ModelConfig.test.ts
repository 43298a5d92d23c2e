/** What authorises a model of the AI SDK is known, whatever its header. */
import type { LanguageModelV4 } from "@ai-sdk/provider"
import { assert, it } from "@effect/vitest"
import * as ModelConfig from "../../../src/layers/aisdk/ModelConfig.ts"

it.each([
  ["Authorization", "Bearer kkkk-11112222"],
  ["x-api-key", "kkkk-11112222"],
  ["cf-access-client-secret", "kkkk-11112222"],
  ["x-amz-security-token", "kkkk-11112222"],
  ["Cookie", "kkkk-11112222"]
])("the value of the header %s is a secret of its model", (name, value) => {
  const model = { config: { headers: { [name]: value, "user-agent": "fiberloop-of-a-test" } } }
  assert.deepStrictEqual(ModelConfig.secrets(model as unknown as LanguageModelV4), ["kkkk-11112222"])
})
