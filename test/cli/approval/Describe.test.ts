import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { execFileSync } from "node:child_process"
import { truncateSync } from "node:fs"
import { join } from "node:path"
import * as Describe from "../../../src/cli/approval/Describe.ts"
import * as Root from "../../../src/cli/tools/files/Root.ts"
import * as EditFile from "../../../src/cli/tools/write/EditFile.ts"
import * as ShownFiles from "../../../src/cli/tools/write/ShownFiles.ts"
import { type Content, sandbox } from "../tools/files/Sandbox.ts"
import { treeOf } from "../tools/write/Calls.ts"

const shown = Effect.fnUntraced(function*(files: Record<string, Content>, tool: string, params: unknown) {
  const root = yield* sandbox(files)
  return yield* Describe.describe(yield* Root.make(root), ShownFiles.make())(tool, params)
})

describe("what is shown of write_file", () => {
  it.effect("is the whole of a new file", () =>
    Effect.gen(function*() {
      const content = Array.from({ length: 2_000 }, (_, index) => `line ${index}\n`).join("")
      const text = yield* shown({}, "write_file", { path: "a/b.txt", content })
      const [title, hunk, ...lines] = text.split("\n")
      assert.strictEqual(title, "write_file a/b.txt: new file, 2000 lines, 18890 bytes")
      assert.strictEqual(hunk, "@@ -0,0 +1,2000 @@")
      assert.strictEqual(lines.map((line) => `${line.slice(1)}\n`).join(""), content)
    }))

  it.effect("is what changes in an existing file", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* shown({ "a.txt": "one\ntwo\n" }, "write_file", { path: "a.txt", content: "one\n2" }),
        "write_file a.txt: replaces 2 lines, 8 bytes by 2 lines, 5 bytes\n" +
          "@@ -1,2 +1,2 @@\n one\n-two\n+2\n\\ No newline at end of file"
      )
    }))

  it.effect("says that nothing changes", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* shown({ "a.txt": "same" }, "write_file", { path: "a.txt", content: "same" }),
        "write_file a.txt: the file has this content already, nothing changes"
      )
    }))

  it.effect("says that the replaced content is not text", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* shown({ "a.bin": Buffer.from([1, 0, 255]) }, "write_file", { path: "a.bin", content: "new" }),
        "write_file a.bin: replaces a file of 3 bytes that is not text by 1 line, 3 bytes\n" +
          "@@ -0,0 +1 @@\n+new\n\\ No newline at end of file"
      )
    }))

  it.effect("does not read what is too large to compare", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "" })
      truncateSync(join(root, "a.txt"), 50_000_000_000)
      assert.include(
        yield* Describe.describe(yield* Root.make(root), ShownFiles.make())("write_file", {
          path: "a.txt",
          content: "new"
        }),
        "replaces a file of 50000000000 bytes that is too large to compare by 1 line, 3 bytes\n@@ -0,0 +1 @@\n+new"
      )
    }))

  it.effect("is what changes in the largest file that is compared", () =>
    Effect.gen(function*() {
      const root = yield* Root.make(yield* sandbox({ "a.txt": "old" }))
      const describe = Describe.describe(root, ShownFiles.make())
      const text = yield* describe("write_file", { path: "a.txt", content: "new" }).pipe(
        Effect.provideService(EditFile.MaxFileBytes, 3)
      )
      assert.include(text, "\n-old\n")
    }))

  it.effect("says that the call will be refused, and shows the content all the same", () =>
    Effect.gen(function*() {
      const text = yield* shown({ out: { link: "../outside" } }, "write_file", { path: "out/a.txt", content: "new\n" })
      assert.match(
        text,
        /^write_file out\/a.txt: the call will fail, "out\/a.txt" is not below the root folder.*\n@@ .*\n\+new$/
      )
    }))

  it.effect("names the file that a link leads to", () =>
    Effect.gen(function*() {
      const files = {
        ".git/hooks/pre-commit": "old\n",
        "docs/readme.md": { link: "../.git/hooks/pre-commit" },
        hooks: { link: ".git/hooks" }
      }
      const titleOf = (tool: string, params: unknown) =>
        Effect.map(shown(files, tool, params), (text) => text.split("\n")[0])
      assert.strictEqual(
        yield* titleOf("write_file", { path: "docs/readme.md", content: "new\n" }),
        "write_file docs/readme.md, which leads to .git/hooks/pre-commit: replaces 1 line, 4 bytes by 1 line, 4 bytes"
      )
      assert.strictEqual(
        yield* titleOf("write_file", { path: "./hooks/a\nb/c", content: "new\n" }),
        "write_file ./hooks/a\\nb/c, which leads to .git/hooks/a\\nb/c: new file, 1 line, 4 bytes"
      )
      assert.strictEqual(
        yield* titleOf("edit_file", { path: "docs/readme.md", oldText: "old", newText: "new" }),
        "edit_file docs/readme.md, which leads to .git/hooks/pre-commit: 1 replacement"
      )
      assert.strictEqual(
        yield* titleOf("run_command", { command: ["ls"], cwd: "hooks" }),
        "run_command in the folder hooks, which leads to .git/hooks, for at most 100 s:"
      )
    }))

  it.effect("creates nothing", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "old" })
      yield* Describe.describe(yield* Root.make(root), ShownFiles.make())("write_file", {
        path: "b/c.txt",
        content: "new"
      })
      assert.deepStrictEqual(treeOf(root), { "a.txt": "old" })
    }))

  it.effect("escapes what a terminal would act on or hide, in content and path", () =>
    Effect.gen(function*() {
      const text = yield* shown({}, "write_file", {
        path: "a\u001b[2J\n\u202eb",
        content: "\u001b[31mred\rover\u0007\ta\u200bb\u2028c\u00a0d\u{e0061}\u3164\ud83d\n"
      })
      assert.strictEqual(
        text,
        "write_file a\\x1b[2J\\n\\u202eb: new file, 1 line, 38 bytes\n" +
          "@@ -0,0 +1 @@\n+\\x1b[31mred\\rover\\x07\ta\\u200bb\\u2028c\\u00a0d\\U000e0061\\u3164\\ud83d"
      )
    }))

  it.effect("shows line endings if they change", () =>
    Effect.gen(function*() {
      assert.include(
        yield* shown({ "a.txt": "one\r\ntwo\r\n" }, "write_file", { path: "a.txt", content: "one\ntwo\r\n" }),
        "-one\\r\n+one\n two\\r"
      )
    }))

  it.effect("says once that all lines end with CRLF", () =>
    Effect.gen(function*() {
      assert.include(
        yield* shown({ "a.txt": "one\r\ntwo\r\n" }, "write_file", { path: "a.txt", content: "1\r\ntwo\r\n" }),
        "\n-one\n+1\n two\n\\ Every line ends with CRLF"
      )
    }))

  it.effect("does not say so of two texts that have a CRLF only where one ends and the other begins", () =>
    Effect.gen(function*() {
      const text = yield* shown({ "a.txt": "a\r" }, "write_file", { path: "a.txt", content: "\nb" })
      assert.include(text, "\n-a\\r\n")
      assert.notInclude(text, "CRLF")
    }))
})

describe("what is shown of edit_file", () => {
  it.effect("is what changes in the file", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* shown({ "a.txt": "one\ntwo\nthree\n" }, "edit_file", { path: "a.txt", oldText: "two", newText: "2" }),
        "edit_file a.txt: 1 replacement\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"
      )
    }))

  it.effect("is every place that changes", () =>
    Effect.gen(function*() {
      const text = yield* shown({ "a.txt": "x\n".repeat(3_000) }, "edit_file", {
        path: "a.txt",
        oldText: "x",
        newText: "y",
        all: true
      })
      assert.match(text, /^edit_file a.txt: 3000 replacements\n/)
      assert.strictEqual(text.split("\n").filter((line) => line === "+y").length, 3_000)
    }))

  it.effect("is everything that was asked if it will be refused", () =>
    Effect.gen(function*() {
      const [oldText, newText] = ["1\n2\n3\n4\n5\n6\n7\n8\n9\nold", "1\n2\n3\n4\n5\n6\n7\n8\n9\nnew"]
      const text = yield* shown({ "a.txt": "abc" }, "edit_file", { path: "a.txt", oldText, newText })
      assert.match(text, /^edit_file a.txt: the call will fail, oldText is not in "a.txt"/)
      assert.deepStrictEqual(
        text.split("\n").slice(1),
        [...oldText.split("\n").map((line) => `-${line}`), ...newText.split("\n").map((line) => `+${line}`)]
      )
    }))

  it.effect("says that the file is missing", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* shown({}, "edit_file", { path: "a.txt", oldText: "a", newText: "" }),
        "edit_file a.txt: the call will fail, the file does not exist.\n-a"
      )
    }))
})

/** What a shell makes of the line shown. */
const readBack = (text: string) =>
  execFileSync("bash", ["-c", `printf '%s\\0' ${text.slice(text.indexOf("\n") + 1)}`], {
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C.UTF-8" }
  }).split("\0").slice(0, -1)

const plain = ["a", "0", "f", " ", "'", "\"", "\\", "$", "`", "!", "~", "*", "#", "&", ";", "|", "-", "$(", "é", "😀"]
const odd = [
  "\n",
  "\t",
  "\r",
  "\u001b",
  "\u0001",
  "\u007f",
  "\u009b",
  "\u00a0",
  "\u200b",
  "\u202e",
  "\ufeff",
  "\u{e0061}"
]
const Word = Schema.Array(Schema.Literals([...plain, ...odd])).check(Schema.isMaxLength(8))

describe("what is shown of run_command", () => {
  it.effect("is every word, the folder and the time", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* shown({}, "run_command", {
          command: ["git", "commit", "-m", "it's done"],
          cwd: "my folder",
          timeoutSeconds: 5
        }),
        "run_command in the folder 'my folder', for at most 5 s:\ngit commit -m 'it'\\''s done'"
      )
    }))

  it.effect("is the default if nothing is asked for", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* shown({}, "run_command", { command: ["sh", "-c", "rm -rf *"] }),
        "run_command in the root folder, for at most 100 s:\nsh -c 'rm -rf *'"
      )
    }))

  it.effect("is a long command to its end", () =>
    Effect.gen(function*() {
      const command = Array.from({ length: 5_000 }, (_, index) => `word-${index}`)
      const text = yield* shown({}, "run_command", { command })
      assert.strictEqual(text.split("\n")[1], command.join(" "))
    }))

  it.effect.prop(
    "is read back exactly by a shell, and hides nothing",
    [Schema.Array(Word).check(Schema.isMinLength(1), Schema.isMaxLength(4))],
    ([words]) =>
      Effect.gen(function*() {
        const command = words.map((word) => word.join(""))
        const text = yield* shown({}, "run_command", { command })
        assert.deepStrictEqual(readBack(text), command)
        assert.match(text.slice(text.indexOf("\n") + 1), /^[ -~é😀]*$/u)
      }).pipe(Effect.scoped),
    { arbitrary: { runs: 25 } }
  )

  it.effect("is shown as a call that will fail if it has a NUL character", () =>
    Effect.gen(function*() {
      assert.include(yield* shown({}, "run_command", { command: ["echo", "a\0b"] }), "echo $'a\\x00b'")
    }))
})

describe("what is shown of a call with null in place of what it leaves out", () => {
  it.effect.each<readonly [string, Record<string, unknown>, Record<string, null>]>([
    ["edit_file", { path: "a.txt", oldText: "two", newText: "2" }, { all: null }],
    ["run_command", { command: ["ls"] }, { cwd: null, timeoutSeconds: null }]
  ])("matches that of one without it, as it will run: %s", ([tool, params, nulls]) =>
    Effect.gen(function*() {
      const files = { "a.txt": "one\ntwo\n" }
      const text = yield* shown(files, tool, { ...params, ...nulls })
      assert.notInclude(text, "will fail")
      assert.strictEqual(text, yield* shown(files, tool, params))
    }))
})

describe("what is shown of any other call", () => {
  it.effect("is its name and all its parameters", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* shown({}, "pay\u001b", { to: "a\u202e" }), "pay\\x1b {\n  \"to\": \"a\\u202e\"\n}")
    }))

  it.effect("is only its name if it has no parameters", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* shown({}, "pay", undefined), "pay")
    }))

  it.effect("says that the parameters do not fit", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* shown({}, "run_command", { command: [] }),
        "run_command {\n  \"command\": []\n}\nThese are not the parameters of this tool: the call will fail."
      )
    }))
})
