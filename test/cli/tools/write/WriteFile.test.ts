import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { execFileSync } from "node:child_process"
import { chmodSync, chownSync, linkSync, mkdirSync, readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { BeforeRename } from "../../../../src/cli/tools/write/AtomicWrite.ts"
import { sandbox, withPermissions } from "../files/Sandbox.ts"
import { refusal, textOf, treeOf, write } from "./Calls.ts"

describe("write_file", () => {
  it.effect("creates a file", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      assert.deepStrictEqual(yield* write(root, { path: "a.txt", content: "one\ntwo é" }), {
        path: "a.txt",
        bytes: 10,
        lines: 2,
        created: true
      })
      assert.strictEqual(textOf(root, "a.txt"), "one\ntwo é")
    }))

  it.effect("replaces the whole content of a file", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "a longer content than the new one" })
      assert.deepStrictEqual(yield* write(root, { path: "a.txt", content: "new\n" }), {
        path: "a.txt",
        bytes: 4,
        lines: 1,
        created: false
      })
      assert.strictEqual(textOf(root, "a.txt"), "new\n")
    }))

  it.effect("creates the missing folders", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/file.txt": "" })
      const { path } = yield* write(root, { path: "./a/b/../c//d/new.txt", content: "x" })
      assert.strictEqual(path, "a/c/d/new.txt")
      assert.strictEqual(textOf(root, "a/c/d/new.txt"), "x")
    }))

  it.effect("writes below the root given an absolute path", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const { path } = yield* write(root, { path: join(root, "a/new.txt"), content: "x" })
      assert.deepStrictEqual([path, textOf(root, "a/new.txt")], ["a/new.txt", "x"])
    }))

  it.effect("can leave a file empty", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "x" })
      const { bytes, lines } = yield* write(root, { path: "a.txt", content: "" })
      assert.deepStrictEqual([bytes, lines, textOf(root, "a.txt")], [0, 0, ""])
    }))

  it.effect("replaces the file itself, so that those who have the old one open keep reading it", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "old" })
      linkSync(join(root, "a.txt"), join(root, "other-name.txt"))
      yield* write(root, { path: "a.txt", content: "new" })
      assert.deepStrictEqual([textOf(root, "a.txt"), textOf(root, "other-name.txt")], ["new", "old"])
    }))

  it.effect("a file that already has this content is not touched", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "same" })
      const identity = () => {
        const { ctimeNs, ino } = statSync(join(root, "a.txt"), { bigint: true })
        return [ino, ctimeNs]
      }
      const before = identity()
      const { created } = yield* write(root, { path: "a.txt", content: "same" })
      assert.deepStrictEqual([identity(), created], [before, false])
    }))

  it.effect.each([0o600, 0o755, 0o664])("a file's mode is kept (%i)", (mode) =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.sh": "old" })
      chmodSync(join(root, "a.sh"), mode)
      yield* write(root, { path: "a.sh", content: "new" })
      assert.strictEqual(statSync(join(root, "a.sh")).mode & 0o7777, mode)
    }))

  it.effect.each([0o4755, 0o2755])(
    "a file runs as nobody else than whoever runs it once it is replaced (%i)",
    (mode) =>
      Effect.gen(function*() {
        const root = yield* sandbox({ "a.sh": "old" })
        chmodSync(join(root, "a.sh"), mode)
        yield* write(root, { path: "a.sh", content: "new" })
        assert.strictEqual(statSync(join(root, "a.sh")).mode & 0o7777, mode & 0o777)
      })
  )

  it.effect("a new file gets the mode of the user's other files", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      yield* write(root, { path: "a.txt", content: "" })
      assert.strictEqual(statSync(join(root, "a.txt")).mode & 0o777, 0o666 & ~process.umask())
    }))

  it.effect.runIf(process.getuid?.() === 0)("a file's owner is kept", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "old" })
      chownSync(join(root, "a.txt"), 12, 34)
      yield* write(root, { path: "a.txt", content: "new" })
      const { gid, uid } = statSync(join(root, "a.txt"))
      assert.deepStrictEqual([uid, gid], [12, 34])
    }))

  /** A file of this owner and group, replaced by nobody, who is in group 34 only if `groups` says so. */
  const replacedByNobody = Effect.fnUntraced(function*(uid: number, mode: number, groups: ReadonlyArray<number>) {
    const root = yield* sandbox({ "a.txt": "old" })
    const file = join(root, "a.txt")
    chmodSync(root, 0o777)
    chownSync(file, uid, 34)
    chmodSync(file, mode)
    const own = process.getgroups!()
    yield* Effect.acquireUseRelease(
      Effect.sync(() => process.setgroups!([...own, ...groups])),
      () => withPermissions(write(root, { path: "a.txt", content: "new" })),
      () => Effect.sync(() => process.setgroups!(own))
    )
    const status = statSync(file)
    return { gid: status.gid, mode: status.mode & 0o777 }
  })
  const isRoot = process.getuid?.() === 0

  it.effect.runIf(isRoot)(
    "a file's group is kept by a member who may not give the file to its owner",
    () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* replacedByNobody(12, 0o660, [34]), { gid: 34, mode: 0o660 })
      })
  )

  it.effect.runIf(isRoot)(
    "a group that replaces the file's own gets no more access than everybody",
    () =>
      Effect.gen(function*() {
        for (const [mode, left] of [[0o640, 0o600], [0o664, 0o644]] as const) {
          const { gid, mode: made } = yield* replacedByNobody(65534, mode, [])
          assert.notStrictEqual(gid, 34)
          assert.strictEqual(made, left)
        }
      })
  )

  it.effect("a link to a file below the root stays a link, and its file is written", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/file.txt": "old", link: { link: "a/file.txt" } })
      const { path } = yield* write(root, { path: "link", content: "new" })
      assert.strictEqual(path, "link")
      assert.deepStrictEqual(treeOf(root), { "a/": "", "a/file.txt": "new", link: "-> a/file.txt" })
    }))

  it.effect("a new file goes through a link to a folder below the root", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/file.txt": "", link: { link: "a" } })
      const { path } = yield* write(root, { path: "link/b/new.txt", content: "new" })
      assert.deepStrictEqual([path, textOf(root, "a/b/new.txt")], ["link/b/new.txt", "new"])
    }))

  it.effect("leaves nothing else behind", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "old" })
      yield* write(root, { path: "a.txt", content: "new" })
      yield* write(root, { path: "b.txt", content: "new" })
      assert.deepStrictEqual(treeOf(root), { "a.txt": "new", "b.txt": "new" })
    }))

  it.effect("a name may be as long as the file system allows", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const name = "x".repeat(255)
      yield* write(root, { path: name, content: "new" })
      assert.strictEqual(textOf(root, name), "new")
    }))

  it.effect("a longer name is refused", () =>
    Effect.gen(function*() {
      const { message, reason } = yield* refusal(yield* sandbox(), "write_file", { path: "x".repeat(256), content: "" })
      assert.strictEqual(reason, "InvalidPath")
      assert.include(message, "is too long for a path (ENAMETOOLONG). Choose a shorter one.")
    }))

  it.effect.each(["a", "a/", "missing/", "."])("a folder is refused: %s", (path) =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/file.txt": "" })
      const { message, reason } = yield* refusal(root, "write_file", { path, content: "" })
      assert.deepStrictEqual([reason, message], ["NotAFile", `"${path}" is a folder: name a file in it.`])
    }))

  it.effect.each(["file.txt/new.txt", "file.txt/a/b/new.txt"])(
    "a file has nothing below it: %s",
    (path) =>
      Effect.gen(function*() {
        const root = yield* sandbox({ "file.txt": "x" })
        const { message, reason } = yield* refusal(root, "write_file", { path, content: "" })
        assert.strictEqual(reason, "NotAFolder")
        assert.include(message, "is a file, not a folder: nothing can be in it. Choose another path.")
      })
  )

  it.effect("a FIFO is refused without blocking", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      yield* Effect.sync(() => execFileSync("mkfifo", [join(root, "pipe")]))
      const { message, reason } = yield* refusal(root, "write_file", { path: "pipe", content: "" })
      assert.strictEqual(reason, "NotAFile")
      assert.include(message, "no regular file")
    }))

  it.effect("a file that this user may not write to is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "old" })
      chmodSync(root, 0o777)
      chmodSync(join(root, "a.txt"), 0o444)
      const { message, reason } = yield* withPermissions(refusal(root, "write_file", { path: "a.txt", content: "new" }))
      assert.strictEqual(reason, "NotWritable")
      assert.include(message, "this user may not (EACCES)")
      assert.deepStrictEqual(treeOf(root), { "a.txt": "old" })
    }))

  it.effect("a folder that this user may not write to is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "old" })
      chmodSync(root, 0o555)
      const { reason } = yield* withPermissions(refusal(root, "write_file", { path: "b.txt", content: "new" }))
      assert.strictEqual(reason, "NotWritable")
    }))

  it.effect("a folder that this user may not create is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "old" })
      chmodSync(root, 0o555)
      const { message } = yield* withPermissions(refusal(root, "write_file", { path: "b/c.txt", content: "new" }))
      assert.include(message, "this user may not (EACCES)")
    }))

  it.effect.each(["a\0b", "half \ud800 pair"])(
    "content that is not text is refused",
    (content) =>
      Effect.gen(function*() {
        const root = yield* sandbox({ "a.txt": "old" })
        const { reason } = yield* refusal(root, "write_file", { path: "a.txt", content })
        assert.deepStrictEqual([reason, textOf(root, "a.txt")], ["NotText", "old"])
      })
  )

  it.effect("is interrupted before or after the write, never during it", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "old" })
      const [reached, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const hold = () => Effect.andThen(Deferred.succeed(reached, undefined), Deferred.await(go))
      const fiber = yield* Effect.forkChild(
        Effect.provideService(write(root, { path: "a.txt", content: "new" }), BeforeRename, hold)
      )
      yield* Deferred.await(reached)
      const interrupted = yield* Effect.forkChild(Fiber.interrupt(fiber))
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(interrupted)
      assert.deepStrictEqual(treeOf(root), { "a.txt": "new" })
    }))

  it.effect.runIf(process.platform === "linux")(
    "leaves no descriptor open, whatever the outcome",
    () =>
      Effect.gen(function*() {
        const root = yield* sandbox({ "a.txt": "a" })
        mkdirSync(join(root, "folder"))
        const count = () => readdirSync("/proc/self/fd").length
        yield* write(root, { path: "a.txt", content: "b" })
        const before = count()
        yield* write(root, { path: "a.txt", content: "c" })
        yield* write(root, { path: "b/c/d.txt", content: "c" })
        yield* refusal(root, "write_file", { path: "folder", content: "" })
        assert.strictEqual(count(), before)
      })
  )
})
