import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { MaxEntries } from "../../../../src/cli/tools/files/FileWalk.ts"
import { list, paths, refusal, sandbox, withPermissions } from "./Sandbox.ts"

describe("list_files", () => {
  it.effect("lists every file below, sorted by path, with bytes and lines", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "b.txt": "one\ntwo\n", "a/z.txt": "one\ntwo", "a/empty": "", "a.txt": "\r\n" })
      assert.deepStrictEqual(yield* list(root, {}), {
        entries: [
          { path: "a.txt", bytes: 2, lines: 1 },
          { path: "a/empty", bytes: 0, lines: 0 },
          { path: "a/z.txt", bytes: 7, lines: 2 },
          { path: "b.txt", bytes: 8, lines: 2 }
        ],
        total: 4,
        truncated: false
      })
    }))

  it.effect("an empty root has no entries", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* list(yield* sandbox(), {}), { entries: [], total: 0, truncated: false })
    }))

  it.effect("a binary file has no lines", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.bin": Buffer.from([1, 0, 10]) })
      assert.deepStrictEqual((yield* list(root, {})).entries, [{ path: "a.bin", bytes: 3, lines: null }])
    }))

  it.effect("a file that is not UTF-8 has lines", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "latin1.txt": Buffer.from([0xe9, 10, 0xff]) })
      assert.deepStrictEqual((yield* list(root, {})).entries, [{ path: "latin1.txt", bytes: 3, lines: 2 }])
    }))

  // Only on file systems that keep any bytes: that of macOS refuses such a name.
  it.effect.runIf(process.platform === "linux")(
    "files whose names are not UTF-8 are left out and reported, however the list is sorted",
    () =>
      Effect.gen(function*() {
        const root = yield* sandbox({ "a.txt": "", "\uFFFD.txt": "" })
        writeFileSync(Buffer.concat([Buffer.from(join(root, "b")), Buffer.from([0xff])]), "")
        for (const sort of ["path", "lines", "bytes"] as const) {
          const found = yield* list(root, { sort })
          assert.deepStrictEqual(paths(found), ["a.txt", "\uFFFD.txt"])
          assert.strictEqual(found.total, 2)
          assert.strictEqual(found.note, "Files left out because their names are not UTF-8: 1.")
        }
      })
  )

  it.effect("leaves out .git, node_modules and .fiberloop at any depth, but no other hidden files", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({
        ".git/config": "",
        "a/node_modules/b/c.js": "",
        ".fiberloop/log": "",
        "sub/.git": "gitdir: elsewhere",
        ".github/ci.yml": "",
        "node_modules.txt": ""
      })
      assert.deepStrictEqual(paths(yield* list(root, {})), [".github/ci.yml", "node_modules.txt"])
    }))

  it.effect("a folder that is left out is listed when named", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "node_modules/a/index.js": "", "node_modules/a/node_modules/b.js": "" })
      assert.deepStrictEqual(paths(yield* list(root, { folder: "node_modules/a" })), ["node_modules/a/index.js"])
    }))

  it.effect("lists below a folder, with paths from the root", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/b/c.txt": "", "a/d.txt": "", "e.txt": "" })
      assert.deepStrictEqual(paths(yield* list(root, { folder: "a/" })), ["a/b/c.txt", "a/d.txt"])
    }))

  it.effect("an empty folder parameter means the root", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(paths(yield* list(yield* sandbox({ a: "" }), { folder: "" })), ["a"])
    }))

  it.effect("selects by pattern", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "src/a.ts": "", "src/b/c.ts": "", "src/b/c.md": "", "d.ts": "" })
      assert.deepStrictEqual(paths(yield* list(root, { pattern: "src/**/*.ts" })), ["src/a.ts", "src/b/c.ts"])
    }))

  it.effect("a limit leaves out the last files, counts all and says how to continue", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ c: "", b: "", a: "" })
      const listed = yield* list(root, { limit: 2 })
      assert.deepStrictEqual([paths(listed), listed.total, listed.truncated], [["a", "b"], 3, true])
      assert.strictEqual(listed.note, "The first 2 of 3 files: narrow with folder or pattern.")
    }))

  it.effect("pages join up to the whole, in both orders", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ c: "", b: "", a: "" })
      for (const [order, all] of [["asc", "abc"], ["desc", "cba"]] as const) {
        const pages = yield* Effect.forEach([0, 2, 4], (offset) => list(root, { limit: 2, offset, order }))
        assert.strictEqual(pages.flatMap(paths).join(""), all)
        assert.deepStrictEqual(pages.map((page) => page.note), [
          "The first 2 of 3 files: narrow with folder or pattern.",
          "3 to 3 of 3 files.",
          "None after the first 4 of 3 files."
        ])
        assert.deepStrictEqual(pages.map((page) => page.truncated), [true, false, false])
      }
    }))

  it.effect("sorts by lines, equal ones by path, files without lines last", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({
        b: "1\n2\n",
        a: "1\n2",
        c: "1\n2\n3\n",
        bin: new Uint8Array([0, 10, 10, 10, 10]),
        e: ""
      })
      const names = (params: object) => Effect.map(list(root, { sort: "lines", ...params }), (_) => paths(_).join())
      assert.strictEqual(yield* names({ order: "desc" }), "c,a,b,e,bin")
      assert.strictEqual(yield* names({ order: "asc" }), "e,a,b,c,bin")
      assert.strictEqual(yield* names({ order: "desc", limit: 2, offset: 1 }), "a,b")
    }))

  it.effect("sorts by bytes, equal ones by path", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ b: "xx", a: "xx", c: "x", bin: new Uint8Array(9) })
      const listed = yield* list(root, { sort: "bytes", order: "desc" })
      assert.deepStrictEqual(listed.entries.map(({ bytes, path }) => `${path}${bytes}`), ["bin9", "a2", "b2", "c1"])
    }))

  it.effect("a link to a file below the root is listed under its own path", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/file.txt": "one\n", link: { link: "a/file.txt" } })
      assert.deepStrictEqual((yield* list(root, {})).entries, [
        { path: "a/file.txt", bytes: 4, lines: 1 },
        { path: "link", bytes: 4, lines: 1 }
      ])
    }))

  it.effect("links that lead out, nowhere or in a circle are left out", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({
        file: "",
        leak: { link: "../outside/hidden-name.txt" },
        out: { link: "../outside" },
        nowhere: { link: "nothing" },
        circle: { link: "circle" }
      })
      const listed = yield* list(root, {})
      assert.deepStrictEqual([paths(listed), listed.total], [["file"], 1])
    }))

  it.effect("what is left out is not counted, even with a limit", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/file": "", up: { link: "a" }, leak: { link: "../outside/hidden-name.txt" } })
      const listed = yield* list(root, { limit: 1 })
      assert.deepStrictEqual([paths(listed), listed.total, listed.truncated], [["a/file"], 1, false])
    }))

  it.effect("linked folders are not entered, so that circles end and no file is listed twice", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/file.txt": "", "a/up": { link: ".." }, self: { link: "." }, b: { link: "a" } })
      assert.deepStrictEqual(paths(yield* list(root, {})), ["a/file.txt"])
    }))

  it.effect("a linked folder that is named is listed under its own path", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/file.txt": "", b: { link: "a" } })
      assert.deepStrictEqual(paths(yield* list(root, { folder: "b" })), ["a/file.txt"])
    }))

  it.effect("a FIFO is left out", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ file: "" })
      yield* Effect.sync(() => execFileSync("mkfifo", [join(root, "pipe")]))
      assert.deepStrictEqual(paths(yield* list(root, {})), ["file"])
    }))

  it.effect("a link to a FIFO is left out", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ file: "", link: { link: "pipe" } })
      yield* Effect.sync(() => execFileSync("mkfifo", [join(root, "pipe")]))
      assert.deepStrictEqual(paths(yield* list(root, {})), ["file"])
    }))

  it.effect("names may contain any characters", () =>
    Effect.gen(function*() {
      const names = ["new\nline", "na\\me", "übung/日本語.txt", "😀", "sp ace", "-dash", "[a].txt", "\"quoted\""].sort()
      const root = yield* sandbox(Object.fromEntries(names.map((name) => [name, "x"])))
      assert.deepStrictEqual(paths(yield* list(root, {})), names)
    }))

  it.effect.runIf(process.platform === "linux")(
    "a name that is not UTF-8 cannot be named and is left out",
    () =>
      Effect.gen(function*() {
        const root = yield* sandbox({ file: "" })
        yield* Effect.sync(() => writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff])]), "x"))
        const listed = yield* list(root, {})
        assert.deepStrictEqual([paths(listed), listed.total], [["file"], 1])
      })
  )

  it.effect("a file given as the folder is refused with what to do", () =>
    Effect.gen(function*() {
      const { message, reason } = yield* refusal(yield* sandbox({ file: "" }), "list_files", { folder: "file" })
      assert.strictEqual(reason, "NotAFolder")
      assert.include(message, "\"file\" is not a folder")
    }))

  it.effect("a missing folder is refused", () =>
    Effect.gen(function*() {
      const { reason } = yield* refusal(yield* sandbox(), "list_files", { folder: "nothing" })
      assert.strictEqual(reason, "NotFound")
    }))

  it.effect("a tree with too many files is refused with what to do", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: "", b: "", "c/d": "" })
      const { message, reason } = yield* refusal(root, "list_files", {}).pipe(Effect.provideService(MaxEntries, 3))
      assert.strictEqual(reason, "TooManyFiles")
      assert.strictEqual(message, "There are more than 3 files and folders below \".\": name a smaller folder.")
    }))

  it.effect("a tree with just as many files as are looked at is listed", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ a: "", b: "", "c/d": "" })
      assert.strictEqual((yield* list(root, {}).pipe(Effect.provideService(MaxEntries, 4))).total, 3)
    }))

  it.effect(
    "an unreadable file is listed without lines",
    () =>
      Effect.gen(function*() {
        const root = yield* sandbox({ secret: "abc", file: "" })
        chmodSync(join(root, "secret"), 0o000)
        assert.deepStrictEqual((yield* withPermissions(list(root, {}))).entries, [
          { path: "file", bytes: 0, lines: 0 },
          { path: "secret", bytes: 3, lines: null }
        ])
      })
  )

  it.effect(
    "an unreadable folder is counted",
    () =>
      Effect.gen(function*() {
        const root = yield* sandbox({ "secret/a": "", file: "" })
        yield* Effect.acquireRelease(
          Effect.sync(() => chmodSync(join(root, "secret"), 0o000)),
          () => Effect.sync(() => chmodSync(join(root, "secret"), 0o700))
        )
        const listed = yield* withPermissions(list(root, {}))
        assert.deepStrictEqual([paths(listed), listed.note], [["file"], "Folders that could not be listed: 1."])
      })
  )

  it.effect("5,000 files are listed with their lines", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      yield* Effect.sync(() => {
        for (let folder = 0; folder < 50; folder++) {
          mkdirSync(join(root, `folder-${folder}`))
          for (let file = 0; file < 100; file++) {
            writeFileSync(join(root, `folder-${folder}`, `${file}.txt`), "line\n".repeat(file))
          }
        }
      })
      const listed = yield* list(root, { limit: 5_000 })
      assert.deepStrictEqual([listed.entries.length, listed.truncated], [5_000, false])
      assert.strictEqual(listed.entries.reduce((sum, entry) => sum + (entry.lines ?? 0), 0), 50 * 4_950)
    }))
})
