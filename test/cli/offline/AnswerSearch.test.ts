import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { sandbox } from "../tools/files/Sandbox.ts"
import { answer, ask } from "./Ask.ts"
import * as Trees from "./Trees.ts"

const lineNumbers = (file: Trees.File) =>
  file.text.split("\n").flatMap((line, index) => line.includes("needle") ? [index + 1] : [])

describe("text search", () => {
  it.effect("lines are named by path and number, with how often the text occurs", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "src/a.ts": "one\n  TODO: this TODO\n", "src/b.ts": "// TODO\n", "c.ts": "TODO" })
      assert.strictEqual(
        yield* answer(root, "where is TODO mentioned in src?"),
        "\"TODO\" occurs 3 times under src, in 2 lines of 2 files:\nsrc/a.ts:2: TODO: this TODO\nsrc/b.ts:1: // TODO"
      )
    }))

  it.effect("files are named once each", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: "foo bar\nfoo bar", "b c": "foo bar", d: "foo  bar" })
      assert.strictEqual(yield* answer(root, "which files contain 'foo bar'?"), "2 files contain \"foo bar\":\na\nb c")
      assert.strictEqual(yield* answer(root, "how many files contain 'foo bar'?"), "2 files contain \"foo bar\".")
    }))

  it.effect("occurrences are counted, also several in one line", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: "xx xx\nxx", b: "x" })
      assert.strictEqual(
        yield* answer(root, "how many times does xx occur?"),
        "\"xx\" occurs 3 times, in 2 lines of 1 file."
      )
    }))

  it.effect("a text that is not found is looked for ignoring case", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: "Needle" })
      assert.strictEqual(
        yield* answer(root, "where is needle used?"),
        "\"needle\" is in no text file.\nWith any letter case: \"needle\" occurs 1 time, in 1 line of 1 file:\na:1: Needle"
      )
      assert.strictEqual(yield* answer(root, "where is pin used?"), "\"pin\" is in no text file.")
    }))

  it.effect("a single file is searched if one is named", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a [x].md": "TODO", "b/a [x].md": "TODO", "c.md": "TODO" })
      assert.strictEqual(
        yield* answer(root, "find TODO in \"a [x].md\""),
        "\"TODO\" occurs 1 time under a [x].md, in 1 line of 1 file:\na [x].md:1: TODO"
      )
    }))

  it.effect("files of one kind are searched if one is named", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.md": "TODO", "b.ts": "TODO" })
      assert.include(
        yield* answer(root, "find TODO in *.md"),
        "occurs 1 time in *.md files, in 1 line of 1 file:\na.md:1"
      )
      assert.include(
        yield* answer(root, "which ts files contain TODO?"),
        "1 file in *.ts files contains \"TODO\":\nb.ts"
      )
    }))

  it.effect("a missing folder is said to be missing", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* answer(yield* sandbox(), "find TODO in lib"),
        "There is no folder \"lib\" below the root folder."
      )
    }))

  it.effect("of very many matching lines the first are shown and the rest counted", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: "needle and a thread\n".repeat(450) })
      const { text, turns } = yield* ask(root, "where is needle?")
      const lines = text.split("\n")
      assert.strictEqual(lines[0], "\"needle\" occurs 450 times, in 450 lines of 1 file:")
      assert.deepStrictEqual(
        lines.slice(1, 201),
        Array.from({ length: 200 }, (_, i) => `a:${i + 1}: needle and a thread`)
      )
      assert.strictEqual(lines[201], "... and 250 more lines: name a folder or a kind of files to see fewer.")
      assert.strictEqual(turns, 3)
    }))

  it.effect("pages too long to come back whole are requested in halves", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: `needle ${"\"".repeat(290)}\n`.repeat(120) })
      const { calls, end, text } = yield* ask(root, "where is needle?")
      assert.strictEqual(text.split("\n").filter((line) => line.startsWith("a:")).length, 120)
      assert.isAbove(calls.length, 3)
      assert.strictEqual(end, "RunCompleted")
    }))

  it.effect.prop("every matching line of any tree is named", [Trees.Tree], ([tree]) =>
    Effect.gen(function*() {
      const root = yield* Trees.write(tree)
      const files = Trees.files(root)
      const said = (yield* answer(root, "where is needle mentioned?")).split("\n")
      const wanted = files.flatMap((file) => lineNumbers(file).map((line) => `${file.path}:${line}`))
      assert.deepStrictEqual(said.slice(1).map((line) => /^.*?:\d+/.exec(line)?.[0]), wanted)
      const times = files.reduce((sum, file) => sum + file.text.split("needle").length - 1, 0)
      const count = yield* answer(root, "how often does needle occur?")
      assert.include(count, times === 0 ? "is in no text file" : `occurs ${times} time${times === 1 ? "" : "s"}`)
      const names = (yield* answer(root, "which files contain needle?")).split("\n").slice(1)
      assert.deepStrictEqual(names, files.filter((file) => lineNumbers(file).length > 0).map((file) => file.path))
    }).pipe(Effect.scoped), { arbitrary: { runs: 40 } })

  it.effect.prop("any text is found as plain text", [Schema.String], ([text]) =>
    Effect.gen(function*() {
      if (/["\r\n\0\uE000-\uF8FF]/.test(text) || text === "" || !text.isWellFormed()) return
      const root = yield* sandbox({ a: `before\n${text}\nafter` })
      assert.include(yield* answer(root, `which files contain "${text}"?`), "\na")
    }).pipe(Effect.scoped), { arbitrary: { runs: 40 } })
})
