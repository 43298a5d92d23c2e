/** What looks like a key is masked, even if it is not known to have been sent. */
import { assert, it } from "@effect/vitest"
import * as Masked from "../../../src/layers/provider/Masked.ts"

it.each([
  ["OpenAI", "sk-proj-abc123def456ghi"],
  ["Groq", "gsk_abcdefgh12345678"],
  ["Google", "AIzaSyA-1234567890abcdefghijklmnopqrstu"],
  ["AWS", "AKIAIOSFODNN7EXAMPLE"]
])("a key of %s is masked in any message", (_, key) => {
  assert.strictEqual(Masked.keys(`the key ${key} is not valid`), "the key <redacted> is not valid")
})
