/** What is known of where a call of the AI SDK went, and what of that is told. */
import type { LanguageModelV4 } from "@ai-sdk/provider"
import { assert, it } from "@effect/vitest"
import * as Failures from "../../../src/layers/aisdk/Failures.ts"

/** For a model that was made with this base URL, or does not show it. */
const originOf = (url: string, baseURL?: string, modelId = "m") => {
  const model = { provider: "p", modelId, config: { baseURL } } as unknown as LanguageModelV4
  return Failures.originOf({ model, key: undefined }, url)
}

it("the address that a call failed at has nothing secret in its path, and keeps scheme, host and port", () => {
  for (const baseURL of [undefined, "https://gateway-1234.test:8443/gateway-1234/v1"]) {
    const { host, url } = originOf("https://gateway-1234.test:8443/gateway-1234/v1/messages?key=kkkk-11112222", baseURL)
    assert.strictEqual(host, "gateway-1234.test:8443")
    assert.strictEqual(url, "https://gateway-1234.test:8443/<redacted>/v1/messages")
  }
})

it("what may be secret in the path of that address is taken out of words, also for a model that shows none", () => {
  const url = "https://gateway.test/s3cret%40k3y/v1/messages"
  const said = "s3cret@k3y and s3cret%40k3y are refused"
  assert.strictEqual(originOf(url).redact(said), "<redacted> and <redacted> are refused")
})

it("the model's name and the region stay in that address and in words", () => {
  const base = "https://bedrock.test/regions/us-east-1"
  const model = "anthropic.claude-sonnet-4-5-20250929-v1:0"
  const called = `${base}/model/${encodeURIComponent(model)}/converse-stream`
  const { redact, url } = originOf(called, base, model)
  assert.strictEqual(url, called)
  assert.strictEqual(redact(`no ${model} in us-east-1`), `no ${model} in us-east-1`)
})
