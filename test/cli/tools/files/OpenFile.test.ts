import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync
} from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { BetweenCheckAndOpen, DescriptorPath, open } from "../../../../src/cli/tools/files/OpenFile.ts"
import * as Root from "../../../../src/cli/tools/files/Root.ts"
import { list, outsideOf, read, refusal, sandbox, search, withPermissions } from "./Sandbox.ts"

/** Swaps a file or folder between check and open. */
const swapping = (swap: () => void) => Effect.provideService(BetweenCheckAndOpen, () => Effect.sync(swap))

/** As on a platform whose kernel does not say where a descriptor is. */
const withoutProc = Effect.provideService(DescriptorPath, () => Promise.resolve(undefined))

const replace = (path: string, target: string) => () => {
  rmSync(path, { recursive: true })
  symlinkSync(target, path)
}

/** Undoes `withPermissions` meanwhile. */
const asOwner = (run: () => void) => () => {
  const isRoot = process.getuid?.() === 0
  if (isRoot) process.seteuid?.(0)
  run()
  if (isRoot) process.seteuid?.(65534)
}

describe("a swap between check and open", () => {
  it.effect("of the file for a link that leads out is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/hidden-name.txt": "inside" })
      const swap = replace(join(root, "a/hidden-name.txt"), join(outsideOf(root), "hidden-name.txt"))
      const { reason } = yield* refusal(root, "read_file", { path: "a/hidden-name.txt" }).pipe(swapping(swap))
      assert.strictEqual(reason, "OutsideRoot")
    }))

  it.effect("of the file for a link is refused before anything is opened through it", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "a", "b.txt": "b" })
      const { message } = yield* refusal(root, "read_file", { path: "a.txt" }).pipe(
        swapping(replace(join(root, "a.txt"), "b.txt"))
      )
      assert.include(message, "symbolic link")
    }))

  it.effect("of a parent folder for a link that leads out is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/hidden-name.txt": "inside" })
      const { message, reason } = yield* refusal(root, "read_file", { path: "a/hidden-name.txt" }).pipe(
        swapping(replace(join(root, "a"), outsideOf(root)))
      )
      assert.strictEqual(reason, "OutsideRoot")
      assert.include(message, "was replaced while it was opened")
    }))

  it.effect("of a parent folder is refused even if the kernel cannot say where a descriptor is", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/hidden-name.txt": "inside" })
      const { reason } = yield* refusal(root, "read_file", { path: "a/hidden-name.txt" }).pipe(
        swapping(replace(join(root, "a"), outsideOf(root))),
        withoutProc
      )
      assert.strictEqual(reason, "OutsideRoot")
    }))

  it.effect("that is undone after opening is refused there, too", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/hidden-name.txt": "inside" })
      const { reason } = yield* refusal(root, "read_file", { path: "a/hidden-name.txt" }).pipe(
        swapping(() => {
          renameSync(join(root, "a"), join(root, "kept"))
          symlinkSync(outsideOf(root), join(root, "a"))
        }),
        Effect.provideService(DescriptorPath, async () => {
          rmSync(join(root, "a"))
          renameSync(join(root, "kept"), join(root, "a"))
          return undefined
        })
      )
      assert.strictEqual(reason, "OutsideRoot")
    }))

  it.effect.runIf(process.platform === "linux")(
    "is revealed by the kernel, even if what was opened is inside the root by then",
    () =>
      Effect.gen(function*() {
        const root = yield* sandbox({ "a/hidden-name.txt": "inside" })
        const { reason } = yield* refusal(root, "read_file", { path: "a/hidden-name.txt" }).pipe(
          swapping(replace(join(root, "a"), outsideOf(root))),
          Effect.provideService(DescriptorPath, async (descriptor) => {
            const told = readlinkSync(`/proc/self/fd/${descriptor}`)
            rmSync(join(root, "a"))
            renameSync(outsideOf(root), join(root, "a"))
            return told
          })
        )
        assert.strictEqual(reason, "OutsideRoot")
      })
  )

  it.effect("of the file for a FIFO does not block", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "a" })
      const { message } = yield* refusal(root, "read_file", { path: "a.txt" }).pipe(swapping(() => {
        rmSync(join(root, "a.txt"))
        execFileSync("mkfifo", [join(root, "a.txt")])
      }))
      assert.include(message, "FIFO")
    }))

  it.effect("of the file for nothing is a missing file", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "a" })
      const { reason } = yield* refusal(root, "read_file", { path: "a.txt" }).pipe(
        swapping(() => rmSync(join(root, "a.txt")))
      )
      assert.strictEqual(reason, "NotFound")
    }))

  it.effect("of the folder being listed is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/file.txt": "inside" })
      const { message } = yield* refusal(root, "list_files", { folder: "a" }).pipe(
        swapping(replace(join(root, "a"), outsideOf(root)))
      )
      assert.include(message, "was replaced")
    }))

  it.effect("of a file about to be listed leaves it out", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "a", "b.txt": "b" })
      const listed = yield* list(root, {}).pipe(Effect.provideService(BetweenCheckAndOpen, (path) =>
        path === "a.txt"
          ? Effect.sync(replace(join(root, "a.txt"), join(outsideOf(root), "hidden-name.txt")))
          : Effect.void))
      assert.deepStrictEqual(listed.entries, [{ path: "b.txt", bytes: 1, lines: 1 }])
      assert.strictEqual(listed.total, 1)
    }))

  it.effect("of a folder about to be listed for one with a file that this user may not open says nothing of that", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/hidden-name.txt": "inside", "b.txt": "b" })
      const outside = outsideOf(root)
      chmodSync(join(outside, "hidden-name.txt"), 0o000)
      const swap = asOwner(replace(join(root, "a"), outside))
      const listed = yield* list(root, {}).pipe(
        Effect.provideService(
          BetweenCheckAndOpen,
          (path) => path === "a/hidden-name.txt" ? Effect.sync(swap) : Effect.void
        ),
        withPermissions
      )
      assert.deepStrictEqual(listed.entries, [{ path: "b.txt", bytes: 1, lines: 1 }])
    }))

  it.effect("of a folder about to be searched finds nothing in it", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/hidden-name.txt": "inside" })
      const found = yield* search(root, { text: "CANARY" }).pipe(Effect.provideService(BetweenCheckAndOpen, (path) =>
        path === "a/hidden-name.txt" ? Effect.sync(replace(join(root, "a"), outsideOf(root))) : Effect.void))
      assert.deepStrictEqual([found.total, found.note], [0, "Files that could not be read: 1."])
    }))
})

describe("opening", () => {
  it.effect("works if the kernel cannot say where a descriptor is", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/file.txt": "inside" })
      assert.strictEqual((yield* read(root, { path: "a/file.txt" }).pipe(withoutProc)).text, "inside")
    }))

  it.effect("a FIFO is refused without blocking", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      yield* Effect.sync(() => execFileSync("mkfifo", [join(root, "pipe")]))
      const { message, reason } = yield* refusal(root, "read_file", { path: "pipe" })
      assert.strictEqual(reason, "NotAFile")
      assert.include(message, "\"pipe\" is no regular file (a FIFO, socket or device)")
    }))

  it.effect("a FIFO is refused before it is opened", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      yield* Effect.sync(() => execFileSync("mkfifo", [join(root, "pipe")]))
      yield* refusal(root, "read_file", { path: "pipe" }).pipe(
        Effect.provideService(BetweenCheckAndOpen, () => Effect.die("about to open"))
      )
    }))

  it.effect("a socket is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      yield* Effect.acquireRelease(
        Effect.callback<ReturnType<typeof createServer>>((resume) => {
          const server = createServer().listen(join(root, "socket"), () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
      )
      const { reason } = yield* refusal(root, "read_file", { path: "socket" })
      assert.strictEqual(reason, "NotAFile")
    }))

  it.effect("a folder is refused with the tool that lists it", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/file.txt": "inside" })
      const { message, reason } = yield* refusal(root, "read_file", { path: "a" })
      assert.strictEqual(reason, "NotAFile")
      assert.include(message, "list_files")
    }))

  it.effect("a file that shrinks while it is read comes to an end", () =>
    Effect.gen(function*() {
      const folder = yield* sandbox({ "big.txt": "x".repeat(200_000) })
      const root = yield* Root.make(folder)
      const file = yield* open(root, join(folder, "big.txt"), "big.txt")
      assert.strictEqual((yield* file.read).length, 65_536)
      truncateSync(join(folder, "big.txt"), 70_000)
      assert.strictEqual((yield* file.read).length, 70_000 - 65_536)
      assert.strictEqual((yield* file.read).length, 0)
    }))

  it.effect("a file that grows while it is read ends where it ended when it was opened", () =>
    Effect.gen(function*() {
      const folder = yield* sandbox({ "log.txt": "ab" })
      const file = yield* open(yield* Root.make(folder), join(folder, "log.txt"), "log.txt")
      writeFileSync(join(folder, "log.txt"), "abcd")
      assert.strictEqual((yield* file.read).toString(), "ab")
      assert.strictEqual((yield* file.read).length, 0)
    }))

  it.effect.runIf(process.platform === "linux")(
    "leaves no descriptor open, whatever the outcome",
    () =>
      Effect.gen(function*() {
        const root = yield* sandbox({ "a.txt": "a", "b.bin": "\0", "c/d.txt": "d" })
        mkdirSync(join(root, "empty"))
        const below = () => readdirSync("/proc/self/fd", { withFileTypes: true }).length
        yield* list(root, {})
        const before = below()
        yield* list(root, {})
        yield* search(root, { text: "a" })
        yield* refusal(root, "read_file", { path: "b.bin" })
        yield* refusal(root, "read_file", { path: "c" })
        assert.strictEqual(below(), before)
      })
  )
})

it.effect.runIf(process.platform === "linux")(
  "a file whose size is 0 although it has content, as in /proc, is read to its end",
  () =>
    Effect.gen(function*() {
      assert.include((yield* read("/proc/self", { path: "status" })).text, `Pid:\t${process.pid}\n`)
    })
)
