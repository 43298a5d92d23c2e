/** Real folders for the tests, removed with their scope, and calls of the tools as an executor makes them. */
import { assert } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { Tool } from "effect/ai"
import {
  accessSync,
  chmodSync,
  constants,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import type { FileError } from "../../../../src/cli/tools/files/FileError.ts"
import * as FileTools from "../../../../src/cli/tools/files/FileTools.ts"

/** What the files outside the root contain; it must never be seen. */
export const canary = "CANARY-CONTENT"

/** A folder that contains `root`, and beside it what must not be read. */
export const outsideOf = (root: string) => join(dirname(root), "outside")

export type Content = string | Uint8Array | { readonly link: string }

export const write = (folder: string, files: Record<string, Content>) =>
  Effect.sync(() => {
    for (const [name, content] of Object.entries(files)) {
      const path = join(folder, name)
      mkdirSync(dirname(path), { recursive: true })
      if (typeof content === "object" && "link" in content) symlinkSync(content.link, path)
      else writeFileSync(path, content)
    }
  })

/** A root with these files, in a temp folder with canaries in `outside`, `root-evil` and beside the root. */
export const sandbox = Effect.fnUntraced(function*(files: Record<string, Content> = {}) {
  const base = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const folder = realpathSync(mkdtempSync(join(tmpdir(), "fiberloop-files-")))
      chmodSync(folder, 0o755)
      return folder
    }),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )
  const root = join(base, "root")
  yield* Effect.sync(() => mkdirSync(root))
  yield* write(base, {
    "outside/hidden-name.txt": canary,
    "outside/folder/hidden-name.txt": canary,
    "root-evil/hidden-name.txt": canary,
    "hidden-name.txt": canary
  })
  yield* write(root, files)
  return root
})

type Tools = typeof FileTools.toolkit["tools"]

/** The final element of a call: what the executor would store. */
export const call = <Name extends keyof Tools>(root: string, name: Name, params: Tool.ParametersEncoded<Tools[Name]>) =>
  Effect.gen(function*() {
    const tools = yield* FileTools.toolkit
    const results = yield* Stream.runCollect(yield* tools.handle(name, params))
    return results[results.length - 1]!
  }).pipe(Effect.provide(FileTools.layer(root)))

const success = <Name extends keyof Tools>(name: Name) => (root: string, params: Tool.ParametersEncoded<Tools[Name]>) =>
  Effect.map(call(root, name, params), (result) => {
    assert.isFalse(result.isFailure, JSON.stringify(result.encodedResult))
    return result.encodedResult as Tool.SuccessEncoded<Tools[Name]>
  })

export const list = success("list_files")
export const read = success("read_file")
export const search = success("search_text")

/** The failure of a call, as the model sees it. */
export const refusal = <Name extends keyof Tools>(
  root: string,
  name: Name,
  params: Tool.ParametersEncoded<Tools[Name]>
) =>
  Effect.map(call(root, name, params), (result) => {
    assert.isTrue(result.isFailure, JSON.stringify(result.encodedResult))
    assert.notInclude(JSON.stringify(result.encodedResult), canary)
    return result.encodedResult as typeof FileError.Encoded
  })

/** The paths in a list. */
export const paths = (listed: { readonly entries: ReadonlyArray<{ readonly path: string }> }) =>
  listed.entries.map((entry) => entry.path)

/** Whether code not loaded yet can be loaded under `withPermissions`: not if root's own folder is above it. */
export const canLoad = ((): boolean => {
  if (process.getuid?.() !== 0) return true
  process.seteuid?.(65534)
  try {
    accessSync(import.meta.filename, constants.R_OK)
    return true
  } catch {
    return false
  } finally {
    process.seteuid?.(0)
  }
})()

/** Permission bits do not apply to root: as root, `self` runs as nobody, who owns none of the files. */
export const withPermissions = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  process.getuid?.() === 0
    ? Effect.acquireUseRelease(
      Effect.sync(() => process.seteuid?.(65534)),
      () => self,
      () => Effect.sync(() => process.seteuid?.(0))
    )
    : self
