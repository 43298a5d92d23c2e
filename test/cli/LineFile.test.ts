import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import * as LineFile from "../../src/cli/LineFile.ts"
import { sandbox } from "./tools/files/Sandbox.ts"

const fileOf = (content: string | Uint8Array) =>
  Effect.map(sandbox({ "a.txt": content }), (root) => join(root, "a.txt"))

describe("a file that is read", () => {
  it.effect("is whole where two chunks of it share a character", () =>
    Effect.gen(function*() {
      const text = `x${"é".repeat(100_000)}`
      assert.isTrue((yield* LineFile.readWhole(yield* fileOf(text))) === text)
    }))

  it.effect("is refused where it ends within a character", () =>
    Effect.gen(function*() {
      const file = yield* fileOf(Buffer.from("one é").subarray(0, -1))
      const { code, line } = yield* Effect.flip(LineFile.readWhole(file))
      assert.deepStrictEqual([code, line], [1, `the file ${JSON.stringify(file)} is no text in UTF-8`])
    }))
})
