/** The key of a call is an id, whatever ids it is made of, and no other call has it. */
import { assert, describe, it } from "@effect/vitest"
import * as InputCheck from "../../../src/run/InputCheck.ts"
import * as OpenCall from "../../../src/run/state/OpenCall.ts"

const { idempotencyKey } = OpenCall

describe("the key of a call", () => {
  it("is made of its ids as they are, below a call as well", () => {
    assert.strictEqual(idempotencyKey("a/b", "r", "1.0"), "a%2Fb/r/1.0")
    assert.strictEqual(idempotencyKey("a/r/1.0", "a/r/1.0", "2.1"), "a/r/1.0//2.1")
  })

  it("escapes each id that contains what no key may", () => {
    assert.strictEqual(idempotencyKey("a b", "a b", "1.0"), "a%20b/a%20b/1.0")
  })

  it("may be the id of a run, even with a counter and many calls deep, for every session", () => {
    for (const sessionId of ["会话".repeat(100), "x".repeat(200), "é".repeat(30), "😀".repeat(100), "s"]) {
      const keys = new Set<string>()
      for (const runId of [sessionId, "r".repeat(200), "0190a1b2-0000-7000-8000-000000000000"]) {
        for (const callId of ["1.0", "1.1", "20.15"]) keys.add(idempotencyKey(sessionId, runId, callId))
      }
      assert.strictEqual(keys.size, 9)
      for (let key of keys) {
        for (let depth = 0; depth < 50; depth++) {
          assert.isUndefined(InputCheck.badId("runId", `${key}/999`), key)
          key = idempotencyKey(key, key, "1.0")
        }
      }
    }
  })
})
