import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { RegexLimits } from "../../../../src/cli/tools/files/BoundedRegex.ts"
import { refusal, sandbox, search } from "./Sandbox.ts"

describe("search_text", () => {
  it.effect("finds lines in the order of path and line", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "b.txt": "x\nneedle 3\n", "a/c.txt": "needle 1\nx\nmore needle 2", "d.txt": "x" })
      assert.deepStrictEqual(yield* search(root, { text: "needle" }), {
        matches: [
          { path: "a/c.txt", line: 1, text: "needle 1" },
          { path: "a/c.txt", line: 3, text: "more needle 2" },
          { path: "b.txt", line: 2, text: "needle 3" }
        ],
        files: 2,
        total: 3,
        occurrences: 3,
        truncated: false
      })
    }))

  it.effect("finding nothing is not a failure", () =>
    Effect.gen(function*() {
      const found = yield* search(yield* sandbox({ a: "x" }), { text: "needle" })
      assert.deepStrictEqual(found, { matches: [], files: 0, total: 0, occurrences: 0, truncated: false })
    }))

  it.effect("a line with several matches is found once, with its occurrences counted", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: "xxx", b: "XaX.x\nxx" })
      const count = (params: { readonly ignoreCase?: boolean; readonly text?: string; readonly regex?: boolean }) =>
        Effect.map(search(root, { text: "x", ...params }), ({ occurrences, total }) => [total, occurrences])
      assert.deepStrictEqual(yield* count({}), [3, 6])
      assert.deepStrictEqual(yield* count({ ignoreCase: true }), [3, 8])
      assert.deepStrictEqual(yield* count({ text: "xx" }), [2, 2])
      assert.deepStrictEqual(yield* count({ text: "[xX]", regex: true }), [3, 8])
      assert.deepStrictEqual(yield* count({ text: "x+", regex: true }), [3, undefined])
    }))

  it.effect("one match per file lists the files that match", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: "n\nn\n", b: "x", c: "x\nn\nn" })
      const found = yield* search(root, { text: "n", maxPerFile: 1 })
      assert.deepStrictEqual(found.matches.map(({ line, path }) => [path, line]), [["a", 1], ["c", 2]])
      assert.deepStrictEqual([found.files, found.total], [2, 4])
    }))

  it.effect("pages join up to the whole", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: "n\nn\nn\n", b: "n\nn\n" })
      const lines: Array<string> = []
      for (const offset of [0, 2, 4, 6]) {
        const page = yield* search(root, { text: "n", maxMatches: 2, offset })
        lines.push(page.matches.map(({ line, path }) => `${path}${line}`).join())
        assert.strictEqual(page.total, 5)
      }
      assert.deepStrictEqual(lines, ["a1,a2", "a3,b1", "b2", ""])
    }))

  it.effect("plain text is not treated as an expression", () =>
    Effect.gen(function*() {
      const found = yield* search(yield* sandbox({ a: "abc\na.c\n" }), { text: "a.c" })
      assert.deepStrictEqual(found.matches.map((match) => match.line), [2])
    }))

  it.effect("a regular expression is matched line by line", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: "import a\r\n  import b\r\nimport c\r\n" })
      const found = yield* search(root, { text: "^import .$", regex: true })
      assert.deepStrictEqual(found.matches.map((match) => match.text), ["import a", "import c"])
    }))

  it.effect("case matters unless told otherwise", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: "Übung.\nübung.\nübungs\n" })
      assert.strictEqual((yield* search(root, { text: "übung." })).total, 1)
      assert.strictEqual((yield* search(root, { text: "übung.", ignoreCase: true })).total, 2)
      assert.strictEqual((yield* search(root, { text: "^ü", regex: true, ignoreCase: true })).total, 3)
    }))

  it.effect("searches the files that folder and pattern select", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/x.ts": "n", "a/x.md": "n", "b/x.ts": "n" })
      const found = yield* search(root, { text: "n", folder: "a", pattern: "*.ts" })
      assert.deepStrictEqual(found.matches.map((match) => match.path), ["a/x.ts"])
    }))

  it.effect("a limit keeps the first matches, counts all and says how to continue", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: "n\nn\nn\n", b: "n\n" })
      const found = yield* search(root, { text: "n", maxMatches: 2 })
      assert.deepStrictEqual(found, {
        matches: [{ path: "a", line: 1, text: "n" }, { path: "a", line: 2, text: "n" }],
        files: 2,
        total: 4,
        occurrences: 4,
        truncated: true,
        note: "The first 2 of 4 matches: narrow with folder, pattern or text."
      })
    }))

  it.effect("pages join up to the whole, and the last one is not truncated", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: "n1\nn2\nn3\n", b: "n4\nn5\n" })
      const pages = yield* Effect.forEach([0, 2, 4, 6], (offset) => search(root, { text: "n", maxMatches: 2, offset }))
      assert.strictEqual(pages.flatMap(({ matches }) => matches.map(({ text }) => text)).join(), "n1,n2,n3,n4,n5")
      assert.deepStrictEqual(pages.map(({ note, truncated }) => [truncated, note]), [
        [true, "The first 2 of 5 matches: narrow with folder, pattern or text."],
        [true, "3 to 4 of 5 matches: narrow with folder, pattern or text."],
        [false, "5 to 5 of 5 matches."],
        [false, "None after the first 6 of 5 matches."]
      ])
    }))

  it.effect("a limit for each file leaves out its other matches, and truncates nothing", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: "n\nn\nn\n", b: "n\n" })
      const whole = yield* search(root, { text: "n", maxPerFile: 1 })
      assert.deepStrictEqual(whole.matches.map(({ path }) => path), ["a", "b"])
      assert.deepStrictEqual([whole.total, whole.truncated, whole.note], [4, false, undefined])
      const part = yield* search(root, { text: "n", maxPerFile: 1, maxMatches: 1 })
      assert.strictEqual(part.truncated, true)
      const last = yield* search(root, { text: "n", maxPerFile: 1, maxMatches: 1, offset: 1 })
      assert.deepStrictEqual([last.matches.map(({ path }) => path), last.truncated], [["b"], false])
    }))

  it.effect("a long line is cut at 300 characters", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: `needle${"x".repeat(1_000)}` })
      const [match] = (yield* search(root, { text: "needle" })).matches
      assert.strictEqual(match?.text, `needle${"x".repeat(294)}`)
    }))

  it.effect("a long line is cut around its match", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: `${"x".repeat(1_000)}needle${"y".repeat(1_000)}` })
      const [match] = (yield* search(root, { text: "needle" })).matches
      assert.strictEqual(match?.text, `...${"x".repeat(50)}needle${"y".repeat(241)}`)
    }))

  it.effect("cutting leaves no lone surrogates", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: `x${"😀".repeat(200)}`, b: `${"😀".repeat(200)}-x${"😀".repeat(200)}` })
      const found = yield* search(root, { text: "x" })
      assert.isTrue(found.matches.every((match) => match.text.isWellFormed()))
    }))

  it.effect("a huge line is searched only in its first 10,000 characters, and the result says so", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: `${"x".repeat(9_994)}needle${"y".repeat(300_000)}needle2\nneedle2` })
      const found = yield* search(root, { text: "needle" })
      assert.deepStrictEqual(found.matches.map((match) => match.line), [1, 2])
      const [only] = (yield* search(root, { text: "needle2" })).matches
      assert.strictEqual(only?.line, 2)
      assert.strictEqual(found.note, "Lines searched only in their first 10000 characters: 1.")
    }))

  it.effect("a match across a chunk boundary is found", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: `${"x\n".repeat(32_767)}aé needle é\n` })
      const found = yield* search(root, { text: "é needle é" })
      assert.deepStrictEqual(found.matches, [{ path: "a", line: 32_768, text: "aé needle é" }])
    }))

  it.effect("binary files are left out, but files that are not UTF-8 are not", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.bin": "needle\0", b: Buffer.from([0xff, ...Buffer.from(" needle")]) })
      const found = yield* search(root, { text: "needle" })
      assert.deepStrictEqual(found.matches, [{ path: "b", line: 1, text: "\ufffd needle" }])
    }))

  it.effect("a byte order mark does not hide the start of the first line", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        (yield* search(yield* sandbox({ a: "\ufeffneedle" }), { text: "^needle", regex: true })).total,
        1
      )
    }))

  it.effect("an empty file has no line to match", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* search(yield* sandbox({ a: "" }), { text: "^", regex: true })).total, 0)
    }))

  it.effect("files behind links that lead out are not searched", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ leak: { link: "../outside/hidden-name.txt" }, out: { link: "../outside" } })
      assert.strictEqual((yield* search(root, { text: "CANARY" })).total, 0)
    }))

  it.effect("a missing folder is refused", () =>
    Effect.gen(function*() {
      const { reason } = yield* refusal(yield* sandbox(), "search_text", { text: "x", folder: "nothing" })
      assert.strictEqual(reason, "NotFound")
    }))

  it.effect("a catastrophic expression fails the search with what to do", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: `${"a".repeat(40)}b`, b: "aaa" })
      const { message, reason } = yield* refusal(root, "search_text", { text: "^(a+)+$", regex: true }).pipe(
        Effect.provideService(RegexLimits, { slice: 50, search: 5_000 })
      )
      assert.strictEqual(reason, "RegexTooSlow")
      assert.include(message, "avoid nested repetitions")
    }))
})
