import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { sandbox } from "../tools/files/Sandbox.ts"
import { answer, ask } from "./Ask.ts"

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `line ${i + 1}`)

describe("reading", () => {
  it.effect("a file is shown as it is", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a b.md": "\n# Title\r\n\n  code\n \t\n" })
      assert.strictEqual(yield* answer(root, "show a b.md"), "\n# Title\r\n\n  code\n \t")
    }))

  it.effect("lines are shown under their numbers", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": numbered(20).join("\n") })
      assert.strictEqual(
        yield* answer(root, "read lines 3-5 of a.txt"),
        "a.txt, lines 3-5 of 20:\nline 3\nline 4\nline 5"
      )
      assert.strictEqual(yield* answer(root, "show line 20 of a.txt"), "a.txt, line 20 of 20:\nline 20")
      assert.strictEqual(
        yield* answer(root, "the last 2 lines of a.txt"),
        "a.txt, lines 19-20 of 20:\nline 19\nline 20"
      )
      assert.strictEqual(
        yield* answer(root, "read lines 19-99 of a.txt"),
        "a.txt, lines 19-20 of 20:\nline 19\nline 20"
      )
      assert.strictEqual(
        yield* answer(root, "read lines 21-22 of a.txt"),
        "\"a.txt\" has 20 lines: fromLine 21 is past its end."
      )
    }))

  it.effect("an empty or blank file is said to be so", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "empty.txt": "", "blank.txt": "\n \n" })
      assert.strictEqual(yield* answer(root, "show empty.txt"), "empty.txt is empty.")
      assert.strictEqual(yield* answer(root, "show blank.txt"), "blank.txt, lines 1-2 of 2: nothing but blanks.")
    }))

  it.effect("a binary file is said to be binary", () =>
    Effect.gen(function*() {
      assert.include(
        yield* answer(yield* sandbox({ "a.bin": new Uint8Array(5) }), "show a.bin"),
        "is a binary file of 5 bytes"
      )
    }))

  it.effect("a name is looked for anywhere, and several matches are all named", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "x/one.ts": "1\n", "x/two.ts": "2", "y/two.ts": "2" })
      assert.strictEqual(yield* answer(root, "show one.ts"), "x/one.ts:\n1")
      assert.strictEqual(
        yield* answer(root, "show two.ts"),
        "There is no file \"two.ts\" below the root folder.\n2 files have that name, which one do you mean?\nx/two.ts\ny/two.ts"
      )
      assert.strictEqual(yield* answer(root, "show three.ts"), "There is no file \"three.ts\" below the root folder.")
    }))

  it.effect("a folder is listed", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* answer(yield* sandbox({ "x/one.ts": "" }), "what is in x?"),
        "There is 1 file under x:\nx/one.ts"
      )
    }))

  it.effect("a long file is read page by page, and the answer says what is left out", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "long.txt": numbered(2_500).join("\n") })
      const lines = (yield* answer(root, "show long.txt")).split("\n")
      assert.strictEqual(lines[0], "long.txt, lines 1-1000 of 2500:")
      assert.deepStrictEqual(lines.slice(1, 1_001), numbered(1_000))
      assert.strictEqual(lines[1_001], "... go on with: read lines 1001-2000 of long.txt")
    }))

  it.effect("lines that are too long to show are cut, and the others are shown in full", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": `one\n${"x".repeat(30_000)}\n${"\"".repeat(20_000)}\nlast\n` })
      const { end, text } = yield* ask(root, "show a.txt")
      const lines = text.split("\n")
      assert.strictEqual(lines[0], "one")
      assert.strictEqual(lines[1], "x".repeat(24_000))
      assert.strictEqual(lines[3], "last")
      assert.deepStrictEqual(lines.slice(4), [
        "(Line 2 is longer than what can be shown.)",
        "(Line 3 is longer than what can be shown.)"
      ])
      assert.strictEqual(end, "RunCompleted")
    }))

  it.effect("reading a file that is one overlong line comes to an end", () =>
    Effect.gen(function*() {
      const { end, text } = yield* ask(yield* sandbox({ a: "\"".repeat(23_000) }), "show a")
      assert.strictEqual(end, "RunCompleted")
      assert.isAtLeast(text.lastIndexOf("\""), 13_000)
    }))

  it.effect("a length is given in lines and bytes", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "x/a [1].ts": "1\n2", "b": new Uint8Array(3) })
      assert.strictEqual(yield* answer(root, "how long is \"x/a [1].ts\"?"), "x/a [1].ts has 2 lines (3 bytes).")
      assert.strictEqual(
        yield* answer(root, "how many lines does 'a [1].ts' have?"),
        "x/a [1].ts has 2 lines (3 bytes)."
      )
      assert.strictEqual(yield* answer(root, "how big is b?"), "b has no lines, it is binary (3 bytes).")
      assert.strictEqual(yield* answer(root, "how big is c?"), "There is no file \"c\" below the root folder.")
    }))

  it.effect.prop("any text is shown as it is", [Schema.String], ([text]) =>
    Effect.gen(function*() {
      if (!text.isWellFormed() || /[\0\uFEFF]/.test(text) || text.trim() === "") return
      const root = yield* sandbox({ "a.txt": text })
      assert.strictEqual(yield* answer(root, "show a.txt"), text.replace(/\r?\n$/, ""))
    }).pipe(Effect.scoped), { arbitrary: { runs: 60 } })
})
