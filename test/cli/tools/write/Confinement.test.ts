import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import { mkdirSync, realpathSync, renameSync, rmSync, symlinkSync } from "node:fs"
import { createServer } from "node:net"
import { dirname, join, resolve } from "node:path"
import { BetweenCheckAndOpen, DescriptorPath } from "../../../../src/cli/tools/files/OpenFile.ts"
import { BeforeRename } from "../../../../src/cli/tools/write/AtomicWrite.ts"
import * as Maze from "../files/Maze.ts"
import { canary, outsideOf, sandbox } from "../files/Sandbox.ts"
import { beside, call, edit, refusal, textOf, treeOf, write } from "./Calls.ts"

describe("a path of any segments", () => {
  it.effect.prop(
    "is written below the root or not at all",
    [Maze.segments(7), Maze.Starts],
    ([parts, start]) =>
      Effect.gen(function*() {
        const root = yield* sandbox(Maze.files(canary))
        const [outside, inside] = [beside(root), treeOf(root)]
        const path = Maze.startOf(root, start) + parts.join("/")
        const result = yield* call(root, "write_file", { path, content: "new" })
        assert.deepStrictEqual(beside(root), outside, path)
        if (result.isFailure) return assert.deepStrictEqual(treeOf(root), inside, path)
        const real = realpathSync(resolve(root, path))
        assert.isTrue(real.startsWith(`${root}/`), path)
        assert.strictEqual(textOf("/", real), "new", path)
      }).pipe(Effect.scoped),
    { arbitrary: { runs: 150 } }
  )

  it.effect.prop(
    "is edited below the root or not at all",
    [Maze.segments(5), Maze.Starts],
    ([parts, start]) =>
      Effect.gen(function*() {
        const root = yield* sandbox(Maze.files(canary))
        const outside = beside(root)
        const path = Maze.startOf(root, start) + parts.join("/")
        const result = yield* call(root, "edit_file", { path, oldText: canary, newText: "new" })
        assert.deepStrictEqual(beside(root), outside, path)
        if (!result.isFailure) assert.strictEqual(textOf("/", realpathSync(resolve(root, path))), "new", path)
      }).pipe(Effect.scoped),
    { arbitrary: { runs: 100 } }
  )

  it.effect.prop(
    "is where a command runs, below the root, or none runs",
    [Maze.segments(5), Maze.Starts],
    ([parts, start]) =>
      Effect.gen(function*() {
        const root = yield* sandbox(Maze.files(canary))
        const result = yield* call(root, "run_command", {
          command: ["pwd", "-P"],
          cwd: Maze.startOf(root, start) + parts.join("/")
        })
        if (result.isFailure) return
        const { output } = result.encodedResult as { readonly output: string }
        assert.isTrue(`${output.trimEnd()}/`.startsWith(`${root}/`), output)
      }).pipe(Effect.scoped),
    { arbitrary: { runs: 30 } }
  )
})

describe("confinement of writing, case by case", () => {
  it.effect.each([
    "../new.txt",
    "a/../../new.txt",
    "../root-evil/new.txt",
    "/tmp/new.txt",
    "out/new.txt",
    "out/hidden-name.txt",
    "out/missing/new.txt",
    "a/out/folder/new.txt",
    "leak",
    "nowhere",
    "circle",
    "circle/new.txt",
    "up/new.txt",
    "nowhere/new.txt"
  ])("%s is refused, whether it exists or not", (path) =>
    Effect.gen(function*() {
      const root = yield* sandbox(Maze.files(canary))
      const { message, reason } = yield* refusal(root, "write_file", { path, content: "new" })
      assert.strictEqual(reason, "OutsideRoot")
      assert.include(message, `"${path}" is not below the root folder`)
    }))

  it.effect("a NUL character is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const { reason } = yield* refusal(root, "write_file", { path: "a.txt\0.png", content: "" })
      assert.strictEqual(reason, "InvalidPath")
    }))
})

/** Swaps a file or folder after the path was checked, or just before the new content replaces the old. */
const afterCheck = (swap: () => void) => Effect.provideService(BetweenCheckAndOpen, () => Effect.sync(swap))
const beforeRename = (swap: () => void) => Effect.provideService(BeforeRename, () => Effect.sync(swap))

/** As on a platform whose kernel does not say where a descriptor is. */
const withoutProc = Effect.provideService(DescriptorPath, () => Promise.resolve(undefined))

const replace = (path: string, target: string) => () => {
  rmSync(path, { recursive: true, force: true })
  symlinkSync(target, path)
}

/** Puts a link out in place of the folder `a`, which is kept as `kept`. */
const swapFolder = (root: string) => () => {
  renameSync(join(root, "a"), join(root, "kept"))
  symlinkSync(outsideOf(root), join(root, "a"))
}

const asks = [
  ["write_file", { path: "a/hidden-name.txt", content: "new" }],
  ["edit_file", { path: "a/hidden-name.txt", oldText: "inside", newText: "new" }]
] as const

describe.each(asks)("a swap under %s, after the check,", (tool, params) => {
  const files = { "a/hidden-name.txt": "inside" }

  it.effect("of the parent folder for a link that leads out, is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox(files)
      const outside = beside(root)
      const { reason } = yield* refusal(root, tool, params).pipe(afterCheck(swapFolder(root)))
      assert.strictEqual(reason, "OutsideRoot")
      assert.deepStrictEqual(beside(root), outside)
      assert.strictEqual(textOf(root, "kept/hidden-name.txt"), "inside")
    }))

  it.effect("of a folder further up, is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/folder/hidden-name.txt": "inside" })
      const outside = beside(root)
      const { reason } = yield* refusal(root, tool, { ...params, path: "a/folder/hidden-name.txt" }).pipe(
        afterCheck(swapFolder(root))
      )
      assert.strictEqual(reason, "OutsideRoot")
      assert.deepStrictEqual(beside(root), outside)
    }))

  it.effect("of the file for a socket, is refused as one", () =>
    Effect.gen(function*() {
      const root = yield* sandbox(files)
      const server = createServer().listen(join(root, "socket"))
      yield* Effect.promise(() => once(server, "listening"))
      yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
      const swap = () => renameSync(join(root, "socket"), join(root, "a/hidden-name.txt"))
      const { reason } = yield* refusal(root, tool, params).pipe(afterCheck(swap))
      assert.strictEqual(reason, "NotAFile")
    }))

  it.effect("of the parent folder for a link to another folder below the root, is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ ...files, "b/hidden-name.txt": "inside" })
      const { reason } = yield* refusal(root, tool, params).pipe(afterCheck(() => replace(join(root, "a"), "b")()))
      assert.strictEqual(reason, "OutsideRoot")
      assert.strictEqual(textOf(root, "b/hidden-name.txt"), "inside")
    }))

  it.effect("of a folder further up, is refused even if the kernel cannot say where a descriptor is", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/folder/hidden-name.txt": "inside" })
      const outside = beside(root)
      const { reason } = yield* refusal(root, tool, { ...params, path: "a/folder/hidden-name.txt" }).pipe(
        afterCheck(swapFolder(root)),
        withoutProc
      )
      assert.strictEqual(reason, "OutsideRoot")
      assert.deepStrictEqual(beside(root), outside)
    }))

  it.effect("of the parent folder, is refused even if the kernel cannot say where a descriptor is", () =>
    Effect.gen(function*() {
      const root = yield* sandbox(files)
      const outside = beside(root)
      const { reason } = yield* refusal(root, tool, params).pipe(afterCheck(swapFolder(root)), withoutProc)
      assert.strictEqual(reason, "OutsideRoot")
      assert.deepStrictEqual(beside(root), outside)
    }))

  it.effect("of a folder above for a link to one below the root, is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/b/hidden-name.txt": "inside", "other/b/hidden-name.txt": "inside" })
      const { reason } = yield* refusal(root, tool, { ...params, path: "a/b/hidden-name.txt" }).pipe(
        afterCheck(replace(join(root, "a"), "other"))
      )
      assert.strictEqual(reason, "OutsideRoot")
      assert.strictEqual(textOf(root, "other/b/hidden-name.txt"), "inside")
    }))

  it.effect("of the file for a link that leads out, is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox(files)
      const outside = beside(root)
      const swap = replace(join(root, "a/hidden-name.txt"), join(outsideOf(root), "hidden-name.txt"))
      const { reason } = yield* refusal(root, tool, params).pipe(afterCheck(swap))
      assert.strictEqual(reason, "OutsideRoot")
      assert.deepStrictEqual(beside(root), outside)
    }))
})

describe.each(asks)("a swap under %s, before the new content replaces the old,", (tool, params) => {
  const files = { "a/hidden-name.txt": "inside" }

  it.effect.runIf(process.platform === "linux")(
    "of the parent folder, writes to the folder that was checked",
    () =>
      Effect.gen(function*() {
        const root = yield* sandbox(files)
        const outside = beside(root)
        const result = yield* call(root, tool, params).pipe(beforeRename(swapFolder(root)))
        assert.isFalse(result.isFailure)
        assert.deepStrictEqual(beside(root), outside)
        assert.deepStrictEqual(treeOf(join(root, "kept")), { "hidden-name.txt": "new" })
      })
  )

  it.effect("of the parent folder, is refused if the kernel cannot say where a descriptor is", () =>
    Effect.gen(function*() {
      const root = yield* sandbox(files)
      const outside = beside(root)
      const { reason } = yield* refusal(root, tool, params).pipe(beforeRename(swapFolder(root)), withoutProc)
      assert.strictEqual(reason, "OutsideRoot")
      assert.deepStrictEqual(beside(root), outside)
    }))

  it.effect.runIf(process.platform === "linux")(
    "of the folder to a place outside the root, is refused",
    () =>
      Effect.gen(function*() {
        const root = yield* sandbox(files)
        const moved = join(dirname(root), "moved")
        const { reason } = yield* refusal(root, tool, params).pipe(
          beforeRename(() => renameSync(join(root, "a"), moved))
        )
        assert.strictEqual(reason, "OutsideRoot")
        assert.deepStrictEqual(treeOf(moved), { "hidden-name.txt": "inside" })
      })
  )

  it.effect("of the file for a link that leads out, is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox(files)
      const outside = beside(root)
      const swap = replace(join(root, "a/hidden-name.txt"), join(outsideOf(root), "hidden-name.txt"))
      const { reason } = yield* refusal(root, tool, params).pipe(beforeRename(swap))
      assert.strictEqual(reason, "ChangedMeanwhile")
      assert.deepStrictEqual(beside(root), outside)
    }))

  it.effect("of the file for a folder, is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox(files)
      const { reason } = yield* refusal(root, tool, params).pipe(beforeRename(() => {
        rmSync(join(root, "a/hidden-name.txt"))
        mkdirSync(join(root, "a/hidden-name.txt"))
      }))
      assert.strictEqual(reason, "ChangedMeanwhile")
      assert.deepStrictEqual(treeOf(join(root, "a")), { "hidden-name.txt/": "" })
    }))
})

describe("a folder about to be created", () => {
  it.effect("that is a link leading out by then is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/file.txt": "" })
      const outside = beside(root)
      const { reason } = yield* refusal(root, "write_file", { path: "a/new/folder/file.txt", content: "new" }).pipe(
        afterCheck(() => symlinkSync(outsideOf(root), join(root, "a/new")))
      )
      assert.strictEqual(reason, "OutsideRoot")
      assert.deepStrictEqual(beside(root), outside)
    }))

  it.effect("that is a folder by then is used", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      yield* write(root, { path: "new/file.txt", content: "new" }).pipe(afterCheck(() => mkdirSync(join(root, "new"))))
      assert.strictEqual(textOf(root, "new/file.txt"), "new")
    }))
})

describe("if the kernel cannot say where a descriptor is", () => {
  it.effect("files are still written, created and edited", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/file.txt": "old" })
      yield* write(root, { path: "b/c/file.txt", content: "one" }).pipe(withoutProc)
      yield* edit(root, { path: "a/file.txt", oldText: "old", newText: "new" }).pipe(withoutProc)
      assert.deepStrictEqual(treeOf(root), {
        "a/": "",
        "a/file.txt": "new",
        "b/": "",
        "b/c/": "",
        "b/c/file.txt": "one"
      })
    }))
})

describe("the folder of a command", () => {
  it.effect("swapped after the check for a link that leads out is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/file.txt": "" })
      const { reason } = yield* refusal(root, "run_command", { command: ["touch", "new.txt"], cwd: "a" }).pipe(
        afterCheck(swapFolder(root))
      )
      assert.strictEqual(reason, "OutsideRoot")
      assert.notProperty(beside(root), "outside/new.txt")
    }))
})
