/** Digests are of the text that was given, even when they are remembered. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import * as Digest from "../../../src/loop/env/Digest.ts"

it.effect("digests of repeated texts are those of SHA-256, however many texts there are", () =>
  Effect.gen(function*() {
    const texts = Array.from({ length: 200 }, (_, i) => `Be ${String(i % 100).padStart(3, "0")} brief 👩‍🚀`)
    const digests = yield* Effect.forEach(texts, Digest.sha256OfFixed)
    assert.deepStrictEqual(digests, texts.map((text) => createHash("sha256").update(text).digest("hex")))
  }))
