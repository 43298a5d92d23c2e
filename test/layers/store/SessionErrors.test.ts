/** What stores say of an argument that no store takes. */
import { assert, it } from "@effect/vitest"
import * as SessionErrors from "../../../src/layers/store/SessionErrors.ts"

it.each(["a\0b", "a\ud800b"])("an id that databases cannot store is quoted, and another one is asked for: %j", (id) => {
  assert.strictEqual(
    SessionErrors.checkIds("s", id)?.message,
    `The id ${JSON.stringify(id)} holds NUL or half a surrogate pair, which databases cannot store. Use another id.`
  )
})
