import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { sandbox } from "../tools/files/Sandbox.ts"
import { answer, ask } from "./Ask.ts"
import * as Trees from "./Trees.ts"

const text = (lines: number, width = 1) => `${"x".repeat(width)}\n`.repeat(lines)

/** The lines of an answer to "the N longest files" and the like, computed from the files themselves. */
const expected = (
  files: ReadonlyArray<Trees.File>,
  { by, count, order }: { readonly by: "lines" | "bytes"; readonly order: "most" | "fewest"; readonly count: number }
): ReadonlyArray<string> =>
  files
    .flatMap((file) => file[by] === null ? [] : [{ path: file.path, size: file[by] }])
    .sort((a, b) => (order === "most" ? b.size - a.size : a.size - b.size) || (a.path < b.path ? -1 : 1))
    .slice(0, count)
    .map(({ path, size }, index) => `${index + 1}. ${path} (${size} ${by.slice(0, -1)}${size === 1 ? "" : "s"})`)

describe("files by size", () => {
  it.effect("the longest ones are named in order, with their lines", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({
        "src/a.ts": text(3),
        "src/deep/b.ts": text(12),
        "src/c.ts": text(7),
        "d.ts": text(99)
      })
      assert.strictEqual(
        yield* answer(root, "which two files under src are the longest?"),
        "The 2 longest files under src, by lines:\n1. src/deep/b.ts (12 lines)\n2. src/c.ts (7 lines)"
      )
    }))

  it.effect("one call of list_files answers, sorted and limited by the tool", () =>
    Effect.gen(function*() {
      const { calls, end, turns } = yield* ask(
        yield* sandbox({ a: text(1) }),
        "which three files under src are the longest?"
      )
      assert.deepStrictEqual(calls, [["list_files", { folder: "src", sort: "lines", order: "desc", limit: 13 }]])
      assert.deepStrictEqual([end, turns], ["RunCompleted", 2])
    }))

  it.effect("a single file is answered in a sentence", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: text(2), "b c": text(1, 50) })
      assert.strictEqual(yield* answer(root, "what is the longest file?"), "The longest file is a with 2 lines.")
      assert.strictEqual(yield* answer(root, "what is the largest file?"), "The largest file is b c with 51 bytes.")
      assert.strictEqual(yield* answer(root, "what is the shortest file?"), "The shortest file is b c with 1 line.")
      assert.strictEqual(yield* answer(root, "what is the smallest file?"), "The smallest file is a with 4 bytes.")
    }))

  it.effect("ties are ordered by path, and those left out are named", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ c: text(5), a: text(5), b: text(5), d: text(9) })
      assert.strictEqual(
        yield* answer(root, "the 2 longest files"),
        "The 2 longest files, by lines:\n1. d (9 lines)\n2. a (5 lines)\n" +
          "Equal ones are in the order of their paths; 2 more have 5 lines: b, c."
      )
      assert.include(yield* answer(root, "the 4 longest files"), "Equal ones are in the order of their paths.")
    }))

  it.effect("many ties are counted only as far as the listing went", () =>
    Effect.gen(function*() {
      const root = yield* sandbox(Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`f${i}`, "x"])))
      assert.include(yield* answer(root, "the longest file"), "at least 10 more have 1 line:")
    }))

  it.effect("fewer files than asked for are said to be all there are", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: text(1), b: text(2), bin: new Uint8Array(9) })
      assert.strictEqual(
        yield* answer(root, "the 5 longest files"),
        "There are only 2 files with lines, the longest first:\n1. b (2 lines)\n2. a (1 line)"
      )
    }))

  it.effect("no match, no text and no folder get three different answers", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "src/bin": new Uint8Array(9) })
      assert.strictEqual(yield* answer(root, "the longest .ts file"), "There are no *.ts files.")
      assert.strictEqual(
        yield* answer(root, "the longest file under src"),
        "There is no text file among the 1 file under src: only text has lines."
      )
      assert.strictEqual(
        yield* answer(root, "the longest file under lib"),
        `There is no folder "lib" below the root folder.`
      )
    }))

  it.effect("a folder with blanks in its name is found without quotes, and what may be one is tried", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "my docs/a": text(1), "old folder/b": text(1), "notes/c": text(1) })
      assert.include(yield* answer(root, "the longest file under my docs"), "my docs/a")
      assert.include(yield* answer(root, "the longest file in the old folder"), "old folder/b")
      assert.include(yield* answer(root, "the longest file in the notes folder"), "notes/c")
    }))

  it.effect("a path that leads out of the root folder is refused in words", () =>
    Effect.gen(function*() {
      assert.include(yield* answer(yield* sandbox(), "the longest file in .."), "outside the root folder")
    }))

  it.effect("more files than fit on a page are all ranked", () =>
    Effect.gen(function*() {
      const names = Array.from({ length: 260 }, (_, i) => `f${String(i).padStart(3, "0")}-${"n".repeat(80)}`)
      const root = yield* sandbox(Object.fromEntries(names.map((name, i) => [name, text((i * 7) % 260)])))
      const { text: said, turns } = yield* ask(root, "the 250 longest files")
      assert.deepStrictEqual(
        said.split("\n").slice(1),
        expected(Trees.files(root), { by: "lines", order: "most", count: 250 })
      )
      assert.strictEqual(turns, 3)
    }))

  it.effect.prop(
    "the order for any tree agrees with the files themselves",
    [
      Trees.Tree,
      Schema.Literals(["longest", "largest", "shortest", "smallest"]),
      Schema.Literals([2, 3, 20]),
      Schema.Literals(["", "src", "src/a b", "src/übung", "test"]),
      Schema.Literals(["", ".ts"])
    ],
    ([tree, word, count, folder, kind]) =>
      Effect.gen(function*() {
        const root = yield* Trees.write(tree)
        const said = yield* answer(
          root,
          `the ${count} ${word} ${kind} files ${folder === "" ? "" : `under "${folder}"`}`
        )
        const files = Trees.files(root, folder).filter((file) => file.path.endsWith(kind))
        const by = /longest|shortest/.test(word) ? "lines" : "bytes"
        const order = /longest|largest/.test(word) ? "most" : "fewest"
        const listed = said.split("\n").filter((line) => /^\d+\. /.test(line))
        const wanted = expected(files, { by, order, count })
        assert.deepStrictEqual(listed, wanted)
        if (wanted.length === 0) assert.match(said, /^There (?:are no|is no folder|is no text file)/)
      }).pipe(Effect.scoped),
    { arbitrary: { runs: 60 } }
  )
})
