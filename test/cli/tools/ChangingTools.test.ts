import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Stream } from "effect"
import { Tool } from "effect/ai"
import { existsSync, rmSync } from "node:fs"
import { join } from "node:path"
import * as ChangingTools from "../../../src/cli/tools/ChangingTools.ts"
import * as ShownFiles from "../../../src/cli/tools/write/ShownFiles.ts"
import { sandbox } from "./files/Sandbox.ts"
import { call } from "./write/Calls.ts"

const { edit_file, run_command, write_file } = ChangingTools.toolkit.tools

describe("the tools that change something", () => {
  it.effect.each([write_file, edit_file, run_command])(
    "$name says so itself, so that a person is asked",
    (tool) =>
      Effect.sync(() => {
        assert.isTrue(tool.annotations.mapUnsafe.has(Tool.Destructive.key))
        assert.deepStrictEqual(
          [Tool.Destructive, Tool.Readonly, Tool.Idempotent].map((key) => Context.get(tool.annotations, key)),
          [true, false, false]
        )
      })
  )

  it.effect("only a command can reach beyond this machine", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(
        [write_file, edit_file, run_command].map((tool) => Context.get(tool.annotations, Tool.OpenWorld)),
        [false, false, true]
      )
    }))

  it.effect("every tool says of a root that was deleted that it is gone, and does not make it again", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const tools = yield* ChangingTools.toolkit.pipe(
        Effect.provide(ChangingTools.layer(root, ShownFiles.make()))
      )
      rmSync(root, { recursive: true })
      const results = [
        ...(yield* Stream.runCollect(yield* tools.handle("write_file", { path: "b/a.txt", content: "" }))),
        ...(yield* Stream.runCollect(yield* tools.handle("edit_file", { path: "a.txt", oldText: "a", newText: "b" }))),
        ...(yield* Stream.runCollect(yield* tools.handle("run_command", { command: ["true"] })))
      ]
      for (const { encodedResult } of results) {
        assert.include(JSON.stringify(encodedResult), "is gone: nothing can be read, changed or run there.")
      }
      assert.isFalse(existsSync(root))
    }))

  it.effect("a failure is data with a reason and a message", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      for (
        const result of [
          yield* call(root, "write_file", { path: "../a.txt", content: "" }),
          yield* call(root, "edit_file", { path: "a.txt", oldText: "", newText: "" }),
          yield* call(root, "run_command", { command: ["no-such-program"] })
        ]
      ) {
        assert.isTrue(result.isFailure)
        assert.containsAllKeys(result.encodedResult, ["_tag", "reason", "message"])
      }
    }))

  it.effect("a root that is not a folder is refused when the layer is built", () =>
    Effect.gen(function*() {
      const root = join(yield* sandbox({ "a.txt": "" }), "a.txt")
      const error = yield* Effect.flip(call(root, "write_file", { path: "a", content: "" }))
      assert.include(error.message, "is not a folder")
    }))
})
