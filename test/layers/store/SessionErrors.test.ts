/** What stores say of an argument that no store takes, and to a writer that has lost its session. */
import { assert, it } from "@effect/vitest"
import * as SessionErrors from "../../../src/layers/store/SessionErrors.ts"

it.each(["a\0b", "a\ud800b"])("an id that databases cannot store is quoted, and another one is asked for: %j", (id) => {
  assert.strictEqual(
    SessionErrors.checkIds("s", id)?.message,
    `The id ${JSON.stringify(id)} holds NUL or half a surrogate pair, which databases cannot store. Use another id.`
  )
})

it.each([[[]], [[9]]])("a fork at no event of a log in which no turn has ended names no event: %j", (near) => {
  assert.strictEqual(
    SessionErrors.noPlace("s", undefined, near).message,
    "Session \"s\" cannot be forked yet: none of its turns has ended. Wait for the first one."
  )
})

it("a stale writer is told all that it may have lost its session by", () => {
  assert.strictEqual(
    SessionErrors.stale("s").message,
    "This writer no longer has session \"s\": another has it, it was removed, or the writer's scope has closed; " +
      "nothing was written. Open it again to go on."
  )
})
