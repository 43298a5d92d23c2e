/** A session as `fiberloop export` wrote it, as a test of the agent of `hooks.ts`: of its hooks, its prompt, and this library. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { Hooks, SessionLines, SessionStoreMemory } from "fiberloop"
import { Recorded } from "fiberloop/testing"
import { readFileSync } from "node:fs"
import { Clerk, ClerkLive } from "./hooks.ts"

const lines = readFileSync(new URL("./replay.jsonl", import.meta.url), "utf8").trimEnd().split("\n")

it.effect("the clerk still refunds what it did in the shop, and no more", () =>
  Effect.gen(function*() {
    const { events } = yield* SessionLines.decode(Stream.fromIterable(lines))
    const outcomes = Recorded.outcomes(events)
    const results = yield* Effect.gen(function*() {
      const clerk = yield* Clerk
      return yield* Effect.forEach(Recorded.inputs(events), (input) => clerk.run({ ...input, sessionId: "replayed" }))
    }).pipe(
      Effect.provideService(Hooks, [outcomes]),
      Effect.provide(Layer.provide(ClerkLive, [Recorded.model(events), SessionStoreMemory.layer]))
    )
    assert.deepStrictEqual(results.map(({ text }) => text), [
      "A refund of 120 euros needs a manager. You may give up to 50 euros yourself.",
      "20 euros of order 7 are on their way to the card that ends with 1111."
    ])
    assert.deepStrictEqual(yield* Effect.all([outcomes.unrecorded, outcomes.unmade]), [[], []])
  }))
