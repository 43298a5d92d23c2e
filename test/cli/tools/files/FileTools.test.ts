import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Stream } from "effect"
import { Tool } from "effect/ai"
import { rmSync } from "node:fs"
import { join } from "node:path"
import * as FileTools from "../../../../src/cli/tools/files/FileTools.ts"
import { MaxPageBytes } from "../../../../src/cli/tools/files/ReadFile.ts"
import { call, list, refusal, sandbox } from "./Sandbox.ts"

describe("FileTools", () => {
  it("every tool is declared read-only, idempotent, not destructive and closed world", () => {
    const declared = Object.values(FileTools.toolkit.tools).map((tool) => [
      tool.name,
      Context.get(tool.annotations, Tool.Readonly),
      Context.get(tool.annotations, Tool.Idempotent),
      Context.get(tool.annotations, Tool.Destructive),
      Context.get(tool.annotations, Tool.OpenWorld)
    ])
    assert.deepStrictEqual(declared, [
      ["list_files", true, true, false, false],
      ["read_file", true, true, false, false],
      ["search_text", true, true, false, false]
    ])
  })

  it("Destructive is declared, not left to its default", () => {
    for (const tool of Object.values(FileTools.toolkit.tools)) {
      assert.isTrue(tool.annotations.mapUnsafe.has(Tool.Destructive.key))
    }
  })

  it("the parameters have JSON schemas without unions for infinite numbers", () => {
    for (const tool of Object.values(FileTools.toolkit.tools)) {
      assert.notInclude(JSON.stringify(Tool.getJsonSchema(tool)), "Infinity")
    }
  })

  it.effect("a failure reaches the model as data with a reason and a message", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const result = yield* call(root, "read_file", { path: "missing.txt" })
      assert.isTrue(result.isFailure)
      assert.deepStrictEqual(result.encodedResult, {
        _tag: "FileError",
        reason: "NotFound",
        message: "\"missing.txt\" does not exist: see with list_files what is there."
      })
    }))

  it.effect("parameters out of range are refused before any file is read", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const result = yield* call(root, "read_file", { path: "a", fromLine: 0 })
      assert.strictEqual(result.failureOrigin, "parameters")
    }))

  it.effect("a setting from when the layer is built applies to its calls", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ file: "one\ntwo\n" })
      const tools = yield* FileTools.toolkit.pipe(
        Effect.provide(FileTools.layer(root).pipe(Layer.provide(Layer.succeed(MaxPageBytes, 4))))
      )
      const [result] = yield* Stream.runCollect(yield* tools.handle("read_file", { path: "file" }))
      assert.include(JSON.stringify(result?.encodedResult), "\"text\":\"one\\n\"")
    }))

  it.effect("a root that does not exist is a typed error that names it", () =>
    Effect.gen(function*() {
      const root = join(yield* sandbox(), "nowhere")
      const error = yield* Effect.flip(list(root, {}))
      assert.strictEqual(error._tag, "RootError")
      assert.strictEqual(error.message, `The root folder "${root}" does not exist: create it or name another.`)
    }))

  it.effect("a root that is a file is a typed error that names it", () =>
    Effect.gen(function*() {
      const root = join(yield* sandbox({ file: "x" }), "file")
      const error = yield* Effect.flip(list(root, {}))
      assert.strictEqual(error.message, `The root folder "${root}" is not a folder: name the folder that holds it.`)
    }))

  it.effect("a root with a NUL character is a typed error", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(list("/tmp\0/x", {}))
      assert.include(error.message, "NUL")
    }))

  it.effect("a root below a file is a typed error", () =>
    Effect.gen(function*() {
      const root = join(yield* sandbox({ file: "x" }), "file", "below")
      const error = yield* Effect.flip(list(root, {}))
      assert.include(error.message, "cannot be used (ENOTDIR)")
    }))

  it.effect("every tool says of a root that was deleted that it is gone", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const tools = yield* FileTools.toolkit.pipe(Effect.provide(FileTools.layer(root)))
      rmSync(root, { recursive: true })
      const results = [
        ...(yield* Stream.runCollect(yield* tools.handle("list_files", {}))),
        ...(yield* Stream.runCollect(yield* tools.handle("read_file", { path: "a.txt" }))),
        ...(yield* Stream.runCollect(yield* tools.handle("search_text", { text: "a" })))
      ]
      assert.deepStrictEqual(
        results.map(({ encodedResult }) => encodedResult),
        Array(3).fill({
          _tag: "FileError",
          reason: "Unreadable",
          message: `The root folder "${root}" is gone: nothing can be read, changed or run there. Tell the user.`
        })
      )
    }))

  it.effect("a root that is a link is followed once, when the layer is built", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "real/a.txt": "a", link: { link: "real" } })
      const result = yield* call(join(root, "link"), "read_file", { path: join(root, "link", "a.txt") })
      assert.isFalse(result.isFailure)
    }))

  it.effect("a message shortens a path that is too long to repeat", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const { message, reason } = yield* refusal(root, "read_file", { path: "x".repeat(5_000) })
      assert.strictEqual(reason, "InvalidPath")
      assert.isBelow(message.length, 300)
    }))
})
