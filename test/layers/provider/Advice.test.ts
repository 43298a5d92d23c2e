/** Every kind of failure says what to do about it. */
import { assert, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Advice from "../../../src/layers/provider/Advice.ts"
import type * as ProviderErrorKind from "../../../src/layers/provider/ProviderErrorKind.ts"

it.each<readonly [kind: ProviderErrorKind.Kind, status: number | undefined, advice: string]>([
  ["server", 500, "try again later"],
  ["network", undefined, "try again later"],
  ["response", undefined, "try again"],
  ["quota", 402, "check the account's billing and limits"],
  ["authentication", 401, "check THE_KEY"],
  ["permission", 403, "check what the API key may use"],
  ["overflow", 400, "shorten or compact the conversation"],
  ["policy", 400, "change the content of the request"],
  ["request", 400, "check the model, the settings and the tools that were sent"],
  ["request", 404, "check the base URL and the name of the model"],
  ["request", 405, "check the base URL and the name of the model"],
  ["request", 413, "it is more than the server accepts: send less"]
])("%s with the status %s", (kind, status, advice) => {
  assert.strictEqual(Advice.of(kind, { status, key: "THE_KEY" }), advice)
})

it.each([[0, "try again later"], [200, "try again in 1s"], [60_000, "try again in 1m"], [
  60_001,
  "try again in 1m 1s"
]])(
  "a rate limit that ends in %i ms is given in whole seconds",
  (millis, advice) => {
    assert.strictEqual(Advice.of("rateLimit", { retryAfter: Duration.millis(millis), key: "THE_KEY" }), advice)
  }
)
