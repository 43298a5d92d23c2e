/** What is known of where a call of the AI SDK went, and what of that is told. */
import type { LanguageModelV4 } from "@ai-sdk/provider"
import { assert, it } from "@effect/vitest"
import * as Failures from "../../../src/layers/aisdk/Failures.ts"

/** For a model that was made with this base URL, or does not show it. */
const originOf = (url: string, baseURL?: string) => {
  const model = { provider: "p", modelId: "m", config: { baseURL } } as unknown as LanguageModelV4
  return Failures.originOf({ model, key: undefined }, url)
}

it("the address that a call failed at has nothing secret in its path, and keeps scheme, host and port", () => {
  for (const baseURL of [undefined, "https://gateway-1234.test:8443/gateway-1234/v1"]) {
    const { host, url } = originOf("https://gateway-1234.test:8443/gateway-1234/v1/messages?key=kkkk-11112222", baseURL)
    assert.strictEqual(host, "gateway-1234.test:8443")
    assert.strictEqual(url, "https://gateway-1234.test:8443/<redacted>/v1/messages")
  }
})
