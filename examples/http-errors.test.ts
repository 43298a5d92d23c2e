import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { RunError } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import * as Client from "./http-client.ts"
import { toResponse } from "./http-errors.ts"
import { serving } from "./http-loopback.ts"

/** What a refusal says: status, `retry-after`, the error's name. */
const refusal = Effect.fnUntraced(function*(response: Client.Response) {
  const { headers, json, status } = yield* response
  return [status, headers["retry-after"], ((yield* json) as { readonly error: string }).error]
})

it.live("a busy session and a run id in use are 409", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    yield* Effect.gen(function*() {
      const ask = { text: "A story", runId: "run-1" }
      const run = yield* Effect.forkChild(Stream.runDrain(Client.events(Client.stream("one", ask))))
      yield* gate.started
      const hi = { text: "Hi" }
      assert.deepStrictEqual(yield* refusal(Client.stream("one", hi)), [409, undefined, "SessionBusy"])
      assert.deepStrictEqual(yield* refusal(Client.answer("one", hi)), [409, undefined, "SessionBusy"])
      const other = Client.stream("one", { ...ask, text: "Another" })
      assert.deepStrictEqual(yield* refusal(other), [409, undefined, "RunConflict"])
      yield* Fiber.interrupt(run)
      yield* gate.closed
    }).pipe(Effect.provide(serving(ScriptedModel.gate(gate))))
  }))

it.live("unusable input is 400, a session that does not exist 404", () =>
  Effect.gen(function*() {
    const invalid = [400, undefined, "InvalidInput"]
    assert.deepStrictEqual(yield* refusal(Client.stream("one", { text: " " })), invalid)
    assert.deepStrictEqual(yield* refusal(Client.answer("one", {} as Client.Ask)), invalid)
    assert.deepStrictEqual(yield* refusal(Client.watch("one", "last")), invalid)
    const noJson = HttpClientRequest.post("/sessions/one/answer").pipe(
      HttpClientRequest.bodyText("{bad", "application/json")
    )
    assert.deepStrictEqual(yield* refusal(HttpClient.execute(noJson)), invalid)
    assert.deepStrictEqual(yield* refusal(Client.watch("none")), [404, undefined, "SessionNotFound"])
  }).pipe(Effect.provide(serving())))

it.live("a provider that asks to wait is 503 with retry-after, one that rejects the key 502", () =>
  Effect.gen(function*() {
    const ask = refusal(Client.answer("one", { text: "Hi" }))
    assert.deepStrictEqual(yield* ask, [503, "91", "RetriesExhausted"])
    assert.deepStrictEqual(yield* ask, [502, undefined, "Authentication"])
  }).pipe(Effect.provide(serving(
    ScriptedModel.fail(new RunError.RetryableError({ _tag: "RateLimited", message: "slow down", retryAfter: 90_500 })),
    ScriptedModel.fail(new RunError.NonRetryableError({ _tag: "Authentication", message: "wrong key" }))
  ))))

for (
  const [status, error] of [
    [503, new RunError.RetryableError({ _tag: "ShuttingDown", message: "" })],
    [503, new RunError.RetryableError({ _tag: "StoreUnavailable", message: "" })],
    [413, new RunError.NonRetryableError({ _tag: "EventTooLarge", message: "", bytes: 2, limit: 1 })],
    [422, new RunError.NonRetryableError({ _tag: "ContentPolicy", message: "" })],
    [500, new RunError.NonRetryableError({ _tag: "StoreRefused", message: "" })]
  ] as const
) {
  it(`${error.reason._tag} is ${status}`, () => assert.strictEqual(toResponse(error).status, status))
}
