/** What the codes of broken connections mean, including those that no test can provoke. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpClientError, HttpClientRequest } from "effect/http"
import * as Endpoint from "../../src/layers/openai/Endpoint.ts"
import * as AdapterErrors from "../../src/layers/provider/AdapterErrors.ts"
import * as NetworkErrors from "../../src/layers/provider/NetworkErrors.ts"

const endpoint = Effect.runSync(Endpoint.make({ model: "m", baseUrl: "https://example.com/v1" }))

/** A client's error with this cause. */
const failed = (cause: unknown): HttpClientError.HttpClientError => {
  const request = HttpClientRequest.post("https://example.com/v1")
  return new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request, cause }) })
}

const said = (cause: unknown): string =>
  AdapterErrors.description(NetworkErrors.fromHttpClient(endpoint, failed(cause))) ?? ""

describe("a connection that broke with", () => {
  it.each([
    ["EAI_AGAIN", "could not be looked up; check"],
    ["ETIMEDOUT", "did not answer in time; try again later"],
    ["UND_ERR_CONNECT_TIMEOUT", "did not answer in time; try again later"],
    ["HPE_INVALID_CONSTANT", "does not speak HTTP; check"],
    ["CERT_HAS_EXPIRED", "has a certificate that is not trusted here; check"],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "has a certificate that is not trusted here; check"],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "has a certificate that is not trusted here; check"],
    ["E_ANYTHING", "could not be reached, or the connection broke; try again later"]
  ])("%s is reported with the host and what to do", (code, words) => {
    const text = said(new TypeError("fetch failed", { cause: Object.assign(new Error("secret"), { code }) }))
    assert.isTrue(text.startsWith(`example.com ${words}`), text)
    assert.include(text, `(${code})`)
    assert.notInclude(text, "secret")
  })

  it.each([
    ["bad port", "has a port that fetch refuses to call; check the base URL"],
    ["redirect count exceeded", "redirects in a loop; check the base URL"]
  ])("%s is reported as a mistake in the base URL", (message, words) => {
    const error = NetworkErrors.fromHttpClient(
      endpoint,
      failed(new TypeError("fetch failed", { cause: new Error(message) }))
    )
    assert.include(AdapterErrors.description(error), `example.com ${words}`)
    assert.isFalse(error.isRetryable)
  })

  it("no known cause is reported too", () => {
    const circle = new Error("secret")
    circle.cause = circle
    for (const cause of [undefined, circle, new DOMException("secret", "AbortError")]) {
      assert.match(said(cause), /^example\.com could not be reached, or the connection broke; try again later[^()]*$/)
    }
  })
})
