/** Digests of repeated texts are begun when they are asked for, and made once. */
import { afterEach, assert, describe, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { createHash } from "node:crypto"
import * as Digest from "../../../src/loop/env/Digest.ts"
import * as ScriptedModel from "../../../src/testing/ScriptedModel.ts"
import * as RunLog from "../../support/RunLog.ts"
import * as TestAgent from "../../support/TestAgent.ts"

const hex = (text: string) => createHash("sha256").update(text).digest("hex")
const watch = () => vi.spyOn(globalThis.crypto.subtle, "digest")

afterEach(() => {
  vi.restoreAllMocks()
})

describe("a digest of a repeated text", () => {
  it.effect("is the same as that of any other text", () =>
    Effect.gen(function*() {
      for (const text of ["", "Be brief.", "é".repeat(100)]) {
        assert.strictEqual(yield* Digest.sha256OfFixed(text), hex(text))
        assert.strictEqual(yield* Digest.sha256(text), hex(text))
      }
    }))

  it.effect("is begun before anybody waits, once for all callers, and then known without waiting", () =>
    Effect.gen(function*() {
      const made = watch()
      const [first, second] = [Digest.sha256OfFixed("asked twice"), Digest.sha256OfFixed("asked twice")]
      assert.strictEqual(made.mock.calls.length, 1)
      assert.deepStrictEqual(yield* Effect.all([first, second]), [hex("asked twice"), hex("asked twice")])
      assert.strictEqual(Effect.runSync(Digest.sha256OfFixed("asked twice")), hex("asked twice"))
      assert.strictEqual(made.mock.calls.length, 1)
    }))

  it.effect("that fails does so for its caller, and is made again for the next", () =>
    Effect.gen(function*() {
      watch().mockRejectedValueOnce(new Error("no threads"))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(Digest.sha256OfFixed("fails once"))))
      assert.strictEqual(yield* Digest.sha256OfFixed("fails once"), hex("fails once"))
    }))

  it.effect("is still remembered for the next caller, however many came before", () =>
    Effect.gen(function*() {
      const made = watch()
      for (let i = 0; i < 200; i++) {
        yield* Effect.all([`first ${i}`, `second ${i}`, `first ${i}`].map(Digest.sha256OfFixed))
      }
      assert.strictEqual(made.mock.calls.length, 400)
    }))

  it.effect("that was evicted while it was being made is made again", () =>
    Effect.gen(function*() {
      const texts = Array.from({ length: 200 }, (_, i) => `one of many at once ${i}`)
      const digests = yield* Effect.all(texts.map(Digest.sha256OfFixed))
      assert.deepStrictEqual(digests, texts.map(hex))
      const made = watch()
      assert.strictEqual(yield* Digest.sha256OfFixed(texts[0]!), hex(texts[0]!))
      assert.strictEqual(made.mock.calls.length, 1)
    }))
})

describe("an agent", () => {
  it.effect("begins its digests when it is made, and its runs make no others", () =>
    Effect.gen(function*() {
      const made = watch()
      const instructions = "Digest this before anybody runs."
      const { agent, store } = yield* TestAgent.make([ScriptedModel.text("Hello.")], { agent: { instructions } })
      assert.strictEqual(made.mock.calls.length, 2)
      yield* agent.run({ sessionId: "s", input: "hi" })
      assert.strictEqual(made.mock.calls.length, 2)
      const [started] = RunLog.only(yield* store.log("s"), "RunStarted")
      assert.strictEqual(started!.instructions, hex(instructions))
    }))

  it.effect("is made even if no digest can be, and its run fails", () =>
    Effect.gen(function*() {
      watch().mockRejectedValue(new Error("no threads"))
      const { agent } = yield* TestAgent.make([], { agent: { instructions: "Digest this, if you can." } })
      assert.isTrue(Exit.isFailure(yield* Effect.exit(agent.run({ sessionId: "s", input: "hi" }))))
    }))
})
