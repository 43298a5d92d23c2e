import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { sandbox } from "../tools/files/Sandbox.ts"
import { answer, ask } from "./Ask.ts"
import * as Trees from "./Trees.ts"

describe("listing", () => {
  it.effect("paths are named in order", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "b.json": "", "a/c.json": "", "d.ts": "" })
      assert.strictEqual(yield* answer(root, "list all *.json files"), "There are 2 *.json files:\na/c.json\nb.json")
    }))

  it.effect("a count is a sentence and takes one call for one entry", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({
        "test/a.test.ts": "",
        "test/b.spec.js": "",
        "test/Support.ts": "",
        "a.test.ts": ""
      })
      const { calls, text } = yield* ask(root, "how many test files are there under test?")
      assert.strictEqual(text, "There are 2 *.{test,spec}.* files under test.")
      assert.deepStrictEqual(calls, [["list_files", { pattern: "*.{test,spec}.*", folder: "test", limit: 1 }]])
    }))

  it.effect("an empty result is said to be empty", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      assert.strictEqual(yield* answer(root, "list all *.json files"), "There are no *.json files.")
      assert.strictEqual(yield* answer(root, "how many files are there?"), "There are no files.")
    }))

  it.effect("a name with invisible characters is shown escaped", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* answer(yield* sandbox({ "a\u001b[31m\n": "", " b ": "" }), "list files"),
        "There are 2 files:\n\" b \"\n\"a\\u001b[31m\\n\""
      )
    }))

  it.effect("names are found wherever they are", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({
        "a/package.json": "",
        "package.json": "",
        "package.jsonx": "",
        "x*y": "",
        "xzy": ""
      })
      assert.strictEqual(
        yield* answer(root, "where is package.json?"),
        "There are 2 package.json files:\na/package.json\npackage.json"
      )
    }))

  it.effect("of more than 1,000 files the first are named and the rest counted", () =>
    Effect.gen(function*() {
      const names = Array.from({ length: 1_203 }, (_, i) => `file-${String(i).padStart(4, "0")}`)
      const { text, turns } = yield* ask(
        yield* sandbox(Object.fromEntries(names.map((name) => [name, ""]))),
        "list files"
      )
      const lines = text.split("\n")
      assert.strictEqual(lines[0], "There are 1203 files:")
      assert.deepStrictEqual(lines.slice(1, 1_001), names.slice(0, 1_000))
      assert.strictEqual(lines[1_001], "... and 203 more files: name a folder or a kind of files to see fewer.")
      assert.strictEqual(turns, 3)
    }))

  it.effect("paths so long that a page is truncated are all named", () =>
    Effect.gen(function*() {
      const folder = Array.from({ length: 6 }, () => "d".repeat(200)).join("/")
      const names = Array.from({ length: 40 }, (_, i) => `${folder}/${i + 10}`)
      const { end, text } = yield* ask(
        yield* sandbox(Object.fromEntries(names.map((name) => [name, ""]))),
        "list files"
      )
      assert.deepStrictEqual([text.split("\n").slice(1), end], [names, "RunCompleted"])
    }))

  it.effect.prop("the files of any tree are named", [Trees.Tree], ([tree]) =>
    Effect.gen(function*() {
      const root = yield* Trees.write(tree)
      const paths = Trees.files(root).map((file) => file.path)
      const list = (task: string) => Effect.map(answer(root, task), (text) => text.split("\n").slice(1))
      assert.deepStrictEqual(yield* list("list files"), paths)
      assert.deepStrictEqual(yield* list("list all .ts files"), paths.filter((path) => path.endsWith(".ts")))
      assert.deepStrictEqual(
        yield* list("which files are in \"src/a b\"?"),
        paths.filter((path) => path.startsWith("src/a b/"))
      )
    }).pipe(Effect.scoped), { arbitrary: { runs: 40 } })
})
