/** Calls of the tools that change something, as an executor makes them, and what must not change. */
import { assert } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { Tool } from "effect/ai"
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs"
import { dirname, join } from "node:path"
import * as ChangingTools from "../../../../src/cli/tools/ChangingTools.ts"
import * as ShownFiles from "../../../../src/cli/tools/write/ShownFiles.ts"

type Tools = typeof ChangingTools.toolkit["tools"]

/** The final element of a call: what the executor would store. */
export const call = <Name extends keyof Tools>(root: string, name: Name, params: Tool.ParametersEncoded<Tools[Name]>) =>
  Effect.gen(function*() {
    const tools = yield* ChangingTools.toolkit
    const results = yield* Stream.runCollect(yield* tools.handle(name, params))
    return results[results.length - 1]!
  }).pipe(Effect.provide(ChangingTools.layer(root, ShownFiles.make())))

const success = <Name extends keyof Tools>(name: Name) => (root: string, params: Tool.ParametersEncoded<Tools[Name]>) =>
  Effect.map(call(root, name, params), (result) => {
    assert.isFalse(result.isFailure, JSON.stringify(result.encodedResult))
    return result.encodedResult as Tool.SuccessEncoded<Tools[Name]>
  })

export const write = success("write_file")
export const edit = success("edit_file")
export const run = success("run_command")

/** The failure of a call, as the model sees it. */
export const refusal = <Name extends keyof Tools>(
  root: string,
  name: Name,
  params: Tool.ParametersEncoded<Tools[Name]>
) =>
  Effect.map(call(root, name, params), (result) => {
    assert.isTrue(result.isFailure, JSON.stringify(result.encodedResult))
    return result.encodedResult as { readonly reason: string; readonly message: string }
  })

export const textOf = (root: string, path: string) => readFileSync(join(root, path), "utf8")

/** Everything below a folder by path, links as they are. */
export const treeOf = (folder: string, below = ""): Record<string, string> =>
  Object.fromEntries(
    readdirSync(join(folder, below)).flatMap((name) => {
      const path = join(below, name)
      const status = lstatSync(join(folder, path))
      if (status.isDirectory()) return [[`${path}/`, ""], ...Object.entries(treeOf(folder, path))]
      return [[path, status.isSymbolicLink() ? `-> ${readlinkSync(join(folder, path))}` : textOf(folder, path)]]
    })
  )

/** What is beside the root: it must stay as it is. */
export const beside = (root: string) => {
  const all = treeOf(dirname(root))
  return Object.fromEntries(Object.entries(all).filter(([path]) => !path.startsWith("root/")))
}
