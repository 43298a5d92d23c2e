/** Long texts that differ have different fingerprints, however little they differ. */
import { assert, describe, it } from "@effect/vitest"
import * as Fingerprint from "../../../src/run/state/Fingerprint.ts"

describe("a fingerprint", () => {
  it("is the text itself if that is short", () => {
    assert.strictEqual(Fingerprint.of(""), "")
    assert.strictEqual(Fingerprint.of("x".repeat(100)), "x".repeat(100))
  })

  it("is short, legal, and begins like the text", () => {
    const long = Fingerprint.of(`${"x".repeat(59)}😀${"y".repeat(1000)}`)
    assert.isAtMost(long.length, 100)
    assert.isTrue(long.isWellFormed())
    assert.isTrue(long.startsWith("x".repeat(59)))
  })

  it("that nobody reads is even shorter", () => {
    assert.strictEqual(Fingerprint.short("x".repeat(30)), "x".repeat(30))
    assert.isAtMost(Fingerprint.short("x".repeat(10_000_000)).length, 30)
  })

  it("differs for each of many nearly equal texts", () => {
    const base = "a line of output\n".repeat(20)
    const texts = new Set<string>()
    const letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ \n\0"
    for (const at of [0, 61, 200, base.length - 2]) {
      // every pair of neighbours, where weak hashes have theirs
      for (const a of letters) for (const b of letters) texts.add(base.slice(0, at) + a + b + base.slice(at + 2))
    }
    for (let n = 0; n < 20_000; n++) texts.add(`${base}${n}`).add(`${base}${n} of ${n * 7}`)
    for (let n = 0; n < 1000; n++) texts.add(`${base}${" ".repeat(n)}`)
    assert.strictEqual(new Set(Array.from(texts, Fingerprint.of)).size, texts.size)
    assert.strictEqual(new Set(Array.from(texts, Fingerprint.short)).size, texts.size)
  })
})
