import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TokenEstimate from "../../src/run/TokenEstimate.ts"
import { Tokenizer } from "../../src/services/Tokenizer.ts"

it.effect("the tokenizer estimates if none is given", () =>
  Effect.gen(function*() {
    const { count } = yield* Tokenizer
    const text = "Twelve boats, 三条鱼"
    assert.strictEqual(count(text), TokenEstimate.text(text))
  }))

it.effect("the tokenizer is the one that a layer provides", () =>
  Effect.gen(function*() {
    assert.strictEqual((yield* Tokenizer).count("four"), 4)
  }).pipe(Effect.provide(Layer.succeed(Tokenizer, { count: (text) => text.length }))))
