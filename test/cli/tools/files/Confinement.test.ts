import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { readFileSync, realpathSync, statSync } from "node:fs"
import { join, resolve } from "node:path"
import * as Maze from "./Maze.ts"
import { call, canary, outsideOf, read, refusal, sandbox } from "./Sandbox.ts"

const inside = "inside-content"

/** A root that all properties share: they change nothing. */
class Shared extends Context.Service<Shared, { readonly root: string }>()("test/Shared") {
  static readonly layer = Layer.effect(
    Shared,
    Effect.map(
      sandbox(Maze.files(inside)),
      (root) => ({ root })
    )
  )
}

const escapes = (text: string) => text.includes(canary) || text.includes("hidden-name.txt\",\"bytes")

it.effect("everything is below the file system's root folder", () =>
  Effect.gen(function*() {
    const folder = yield* sandbox({ "a.txt": inside })
    const { path, text } = yield* read("/", { path: join(folder, "a.txt") })
    assert.deepStrictEqual([path, text], [join(folder, "a.txt").slice(1), inside])
  }))

layer(Shared.layer)("confinement", (it) => {
  it.effect.prop(
    "a path of any segments reads a file below the root or nothing",
    [Maze.segments(7), Maze.Starts],
    ([parts, start]) =>
      Effect.gen(function*() {
        const { root } = yield* Shared
        const path = Maze.startOf(root, start) + parts.join("/")
        const result = yield* call(root, "read_file", { path })
        assert.isFalse(escapes(JSON.stringify(result.encodedResult)), path)
        assert.strictEqual(!result.isFailure, isReadable(root, path), path)
      }),
    { arbitrary: { runs: 500 } }
  )

  it.effect.prop(
    "a folder of any segments lists and searches below the root or nothing",
    [Maze.segments(7)],
    ([parts]) =>
      Effect.gen(function*() {
        const { root } = yield* Shared
        const folder = parts.join("/")
        const listed = yield* call(root, "list_files", { folder })
        assert.isFalse(escapes(JSON.stringify(listed.encodedResult)), folder)
        const searched = yield* call(root, "search_text", { text: "CONTENT", folder })
        assert.isFalse(escapes(JSON.stringify(searched.encodedResult)), folder)
      }),
    { arbitrary: { runs: 200 } }
  )

  it.effect.prop("any string as a path reads nothing outside", [Schema.String], ([path]) =>
    Effect.gen(function*() {
      const { root } = yield* Shared
      for (const attempt of [path, `../${path}`, `out/${path}`, `/${path}`]) {
        const result = yield* call(root, "read_file", { path: attempt })
        assert.isFalse(escapes(JSON.stringify(result.encodedResult)), attempt)
      }
    }))
})

/** The same by the system's own means: the path leads to a file, and that file is below the root. */
const isReadable = (root: string, path: string): boolean => {
  try {
    if (path.includes("\0")) return false
    const real = realpathSync(resolve(root, path))
    return path !== "" && real.startsWith(`${root}/`) && `${resolve(root, path)}/`.startsWith(`${root}/`) &&
      statSync(real).isFile() && readFileSync(real, "utf8") === inside
  } catch {
    return false
  }
}

describe("confinement, case by case", () => {
  it.effect.each([
    "../hidden-name.txt",
    "a/../../hidden-name.txt",
    "../root-evil/hidden-name.txt",
    "../outside/folder/../hidden-name.txt"
  ])("%s is outside", (path) =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/file.txt": inside })
      const { message, reason } = yield* refusal(root, "read_file", { path })
      assert.strictEqual(reason, "OutsideRoot")
      assert.include(message, `"${path}" is outside the root folder: only files below the root can be read.`)
    }))

  it.effect("an absolute path outside the root is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const { reason } = yield* refusal(root, "read_file", { path: join(outsideOf(root), "hidden-name.txt") })
      assert.strictEqual(reason, "OutsideRoot")
    }))

  it.effect("a sibling whose name starts with the root's name is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const { reason } = yield* refusal(root, "read_file", { path: `${root}-evil/hidden-name.txt` })
      assert.strictEqual(reason, "OutsideRoot")
    }))

  it.effect("an absolute path below the root is read", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/file.txt": inside })
      const result = yield* read(root, { path: join(root, "a/file.txt") })
      assert.deepStrictEqual([result.path, result.text], ["a/file.txt", inside])
    }))

  it.effect("a NUL character is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "file.txt": inside })
      const { reason } = yield* refusal(root, "read_file", { path: "file.txt\0.png" })
      assert.strictEqual(reason, "InvalidPath")
    }))

  it.effect("a link to a file outside is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ leak: { link: "../outside/hidden-name.txt" } })
      const { message, reason } = yield* refusal(root, "read_file", { path: "leak" })
      assert.strictEqual(reason, "OutsideRoot")
      assert.include(message, "only files below the root can be read")
    }))

  it.effect("a file behind a linked parent folder is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/out": { link: "../../outside" } })
      const { reason } = yield* refusal(root, "read_file", { path: "a/out/folder/hidden-name.txt" })
      assert.strictEqual(reason, "OutsideRoot")
    }))

  it.effect("a chain of links that leads out is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ one: { link: "two" }, two: { link: "../outside" } })
      const { reason } = yield* refusal(root, "read_file", { path: "one/hidden-name.txt" })
      assert.strictEqual(reason, "OutsideRoot")
    }))

  it.effect("what is said about a path outside does not reveal whether it exists", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ out: { link: "../outside" }, nowhere: { link: "../outside/nothing" } })
      const said = Effect.fnUntraced(function*(path: string) {
        const { message, reason } = yield* refusal(root, "read_file", { path })
        return `${reason}: ${message.replace(`"${path}"`, "PATH")}`
      })
      const there = yield* said("out/hidden-name.txt")
      for (const path of ["out/nothing", "out/folder/nothing/below", "out/hidden-name.txt/below", "nowhere"]) {
        assert.strictEqual(yield* said(path), there)
      }
    }))

  it.effect("a link below the root to another file below the root is read under the file's own path", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/file.txt": inside, link: { link: "a/file.txt" } })
      const result = yield* read(root, { path: "link" })
      assert.deepStrictEqual([result.path, result.text], ["link", inside])
    }))

  it.effect("a missing file behind a link that stays inside is missing, not outside", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a/file.txt": inside, link: { link: "a" } })
      const { reason } = yield* refusal(root, "read_file", { path: "link/nothing" })
      assert.strictEqual(reason, "NotFound")
    }))

  it.effect("a path below a file is missing", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "file.txt": inside })
      const { reason } = yield* refusal(root, "read_file", { path: "file.txt/below" })
      assert.strictEqual(reason, "NotFound")
    }))

  it.effect("a circle of links comes to an end", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ one: { link: "two" }, two: { link: "one" } })
      const { message } = yield* refusal(root, "read_file", { path: "one" })
      assert.include(message, "in a circle")
    }))
})
