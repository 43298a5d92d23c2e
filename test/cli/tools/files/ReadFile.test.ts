import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chmodSync } from "node:fs"
import { join } from "node:path"
import { fromNode } from "../../../../src/cli/tools/files/FileError.ts"
import { read, refusal, sandbox, withPermissions } from "./Sandbox.ts"

const numbered = (lines: number) => Array.from({ length: lines }, (_, index) => `line ${index + 1}\n`).join("")

describe("read_file", () => {
  it.effect("reads a whole file", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/file.txt": "one\ntwo\n" })
      assert.deepStrictEqual(yield* read(root, { path: "a/file.txt" }), {
        path: "a/file.txt",
        lines: 2,
        from: 1,
        to: 2,
        text: "one\ntwo\n",
        truncated: false
      })
    }))

  it.effect("reads some lines and says how to continue", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ file: numbered(10) })
      assert.deepStrictEqual(yield* read(root, { path: "file", fromLine: 4, maxLines: 2 }), {
        path: "file",
        lines: 10,
        from: 4,
        to: 5,
        text: "line 4\nline 5\n",
        truncated: true,
        note: "An answer has at most 2 lines and 24000 bytes. Continue with fromLine 6."
      })
    }))

  it.effect("returns 500 lines unless told how many", () =>
    Effect.gen(function*() {
      const page = yield* read(yield* sandbox({ file: numbered(501) }), { path: "file" })
      assert.deepStrictEqual([page.lines, page.to, page.truncated], [501, 500, true])
    }))

  it.effect("the last page is not truncated", () =>
    Effect.gen(function*() {
      const page = yield* read(yield* sandbox({ file: numbered(501) }), { path: "file", fromLine: 501 })
      assert.deepStrictEqual([page.text, page.truncated], ["line 501\n", false])
    }))

  it.effect("pages put together make up the file", () =>
    Effect.gen(function*() {
      const text = numbered(20_000)
      const root = yield* sandbox({ file: text })
      let [joined, fromLine] = ["", 1]
      while (fromLine <= 20_000) {
        const page = yield* read(root, { path: "file", fromLine, maxLines: 20_000 })
        joined += page.text
        fromLine = page.to + 1
      }
      assert.isTrue(joined === text)
    }))

  it.effect("at most 24,000 bytes are returned, in whole lines", () =>
    Effect.gen(function*() {
      const line = `${"x".repeat(999)}\n`
      const page = yield* read(yield* sandbox({ file: line.repeat(100) }), { path: "file" })
      assert.deepStrictEqual([page.text.length, page.to, page.lines], [24_000, 24, 100])
      assert.strictEqual(page.note, "An answer has at most 500 lines and 24000 bytes. Continue with fromLine 25.")
    }))

  it.effect.each<readonly [string, string]>([
    ["control characters", "\u001b[31mred\u001b[0m\u0001\n"],
    ["quotes", "\"a\": \"\\\"b\\\"\",\n"],
    ["control characters after many plain lines", "plain\n"]
  ])(
    "of %s, which are longer in JSON, so much is returned that no answer is cut, and nothing is missing",
    ([, line]) =>
      Effect.gen(function*() {
        const text = `${line.repeat(3_000)}${"\u0001".repeat(9)}\n`.repeat(2)
        const root = yield* sandbox({ file: text })
        const pages: Array<string> = []
        for (let fromLine = 1; fromLine > 0;) {
          const page = yield* read(root, { path: "file", fromLine, maxLines: 10_000 })
          assert.isAtMost(JSON.stringify(page).length, 30_000)
          pages.push(page.text)
          fromLine = page.truncated ? page.to + 1 : 0
        }
        assert.strictEqual(pages.join(""), text)
      })
  )

  it.effect("of a huge line of control characters the start is returned, as much as no answer is cut for", () =>
    Effect.gen(function*() {
      const page = yield* read(yield* sandbox({ file: "\u0001".repeat(50_000) }), { path: "file" })
      assert.isAtMost(JSON.stringify(page).length, 30_000)
      assert.isAtLeast(page.text.length, 4_000)
      assert.include(page.note, "only its start is here")
    }))

  it.effect("of a huge line the start is returned, in whole characters", () =>
    Effect.gen(function*() {
      const page = yield* read(yield* sandbox({ file: `x${"é".repeat(100_000)}\nlast` }), { path: "file" })
      assert.strictEqual(page.text, `x${"é".repeat(11_999)}`)
      assert.deepStrictEqual([page.to, page.lines, page.truncated], [1, 2, true])
      assert.strictEqual(
        page.note,
        "Line 1 is longer than the 24000 bytes of one answer: only its start is here. Continue with fromLine 2."
      )
    }))

  it.effect("a file of one huge line is truncated, with nothing to continue with", () =>
    Effect.gen(function*() {
      const page = yield* read(yield* sandbox({ file: "x".repeat(70_000) }), { path: "file" })
      assert.deepStrictEqual([page.text.length, page.to, page.lines, page.truncated], [24_000, 1, 1, true])
      assert.strictEqual(page.note, "Line 1 is longer than the 24000 bytes of one answer: only its start is here.")
    }))

  it.effect("an empty file has no lines", () =>
    Effect.gen(function*() {
      const page = yield* read(yield* sandbox({ empty: "" }), { path: "empty" })
      assert.deepStrictEqual(page, { path: "empty", lines: 0, from: 1, to: 0, text: "", truncated: false })
    }))

  it.effect("a last line without an ending is a line", () =>
    Effect.gen(function*() {
      const page = yield* read(yield* sandbox({ file: "one\ntwo" }), { path: "file", fromLine: 2 })
      assert.deepStrictEqual([page.lines, page.to, page.text], [2, 2, "two"])
    }))

  it.effect("keeps carriage returns", () =>
    Effect.gen(function*() {
      const page = yield* read(yield* sandbox({ file: "one\r\ntwo\r\n" }), { path: "file", maxLines: 1 })
      assert.deepStrictEqual([page.lines, page.text], [2, "one\r\n"])
    }))

  it.effect("bytes that are not UTF-8 become replacement characters", () =>
    Effect.gen(function*() {
      const page = yield* read(yield* sandbox({ file: Buffer.from([0x61, 0xe9, 0x62]) }), { path: "file" })
      assert.strictEqual(page.text, "a\ufffdb")
    }))

  it.effect("a byte order mark at the start is left out", () =>
    Effect.gen(function*() {
      const page = yield* read(yield* sandbox({ file: "\ufeffone" }), { path: "file" })
      assert.strictEqual(page.text, "one")
    }))

  it.effect("a byte order mark further on is text", () =>
    Effect.gen(function*() {
      const page = yield* read(yield* sandbox({ file: "one\n\ufefftwo" }), { path: "file", fromLine: 2 })
      assert.strictEqual(page.text, "\ufefftwo")
    }))

  it.effect("the path in the answer is normalized", () =>
    Effect.gen(function*() {
      const page = yield* read(yield* sandbox({ "a/file": "" }), { path: "./a/../a//file" })
      assert.strictEqual(page.path, "a/file")
    }))

  it.effect("a name with a newline can be read", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* read(yield* sandbox({ "new\nline": "x" }), { path: "new\nline" })).text, "x")
    }))

  it.effect("a line past the end is refused with the number of lines", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ file: "one\ntwo\n" })
      const { message, reason } = yield* refusal(root, "read_file", { path: "file", fromLine: 3 })
      assert.deepStrictEqual([reason, message], ["PastEnd", "\"file\" has 2 lines: fromLine 3 is past its end."])
      const short = yield* refusal(yield* sandbox({ file: "one" }), "read_file", { path: "file", fromLine: 2 })
      assert.strictEqual(short.message, "\"file\" has 1 line: fromLine 2 is past its end.")
    }))

  it.effect("a binary file is refused with its size", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.bin": Buffer.from([1, 0, 2]) })
      const { message, reason } = yield* refusal(root, "read_file", { path: "a.bin" })
      assert.deepStrictEqual(
        [reason, message],
        ["Binary", "\"a.bin\" is a binary file of 3 bytes: only text files can be read."]
      )
    }))

  it.effect("a missing file is refused with the tool that lists files", () =>
    Effect.gen(function*() {
      const { message, reason } = yield* refusal(yield* sandbox(), "read_file", { path: "a/b" })
      assert.deepStrictEqual([reason, message.includes("list_files")], ["NotFound", true])
    }))

  it.effect("an empty path is refused", () =>
    Effect.gen(function*() {
      const { reason } = yield* refusal(yield* sandbox(), "read_file", { path: "" })
      assert.strictEqual(reason, "InvalidPath")
    }))

  it("permission errors are reported as such", () => {
    for (const code of ["EACCES", "EPERM"]) {
      const error = fromNode("file")(Object.assign(new Error(), { code }))
      assert.deepStrictEqual([error.reason, error.message.includes(code)], ["PermissionDenied", true])
    }
  })

  it.effect(
    "an unreadable file is refused",
    () =>
      Effect.gen(function*() {
        const root = yield* sandbox({ secret: "abc" })
        chmodSync(join(root, "secret"), 0o000)
        const { reason } = yield* withPermissions(refusal(root, "read_file", { path: "secret" }))
        assert.strictEqual(reason, "PermissionDenied")
      })
  )
})
