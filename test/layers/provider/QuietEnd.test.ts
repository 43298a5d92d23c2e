/** An adapter's spans end with a tag, without words. */
import { assert, describe, it } from "@effect/vitest"
import * as Exit from "effect/Exit"
import * as QuietEnd from "../../../src/layers/provider/QuietEnd.ts"

describe("the span of a call", () => {
  it("that was interrupted ends as interrupted", () => {
    const exit = Exit.interrupt(1)
    assert.strictEqual(QuietEnd.of(exit), exit)
  })

  it("that failed ends with the tag of its reason", () => {
    const exit = QuietEnd.of(
      Exit.fail({ _tag: "AiError", reason: { _tag: "RateLimitError", description: "a secret" } })
    )
    assert.deepStrictEqual(exit, Exit.fail(new QuietEnd.Failure("RateLimitError")))
  })
})
