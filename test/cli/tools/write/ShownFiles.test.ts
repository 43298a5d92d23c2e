/** A yes counts for the file that was shown: a call and its description, on files that change in between. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { mkdirSync, symlinkSync, truncateSync, unlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import * as Describe from "../../../../src/cli/approval/Describe.ts"
import * as ChangingTools from "../../../../src/cli/tools/ChangingTools.ts"
import * as Root from "../../../../src/cli/tools/files/Root.ts"
import * as ShownFiles from "../../../../src/cli/tools/write/ShownFiles.ts"
import { sandbox } from "../files/Sandbox.ts"
import { textOf } from "./Calls.ts"

const write = { path: "a.txt", content: "new\n" }
const edit = { path: "a.txt", oldText: "one", newText: "two" }

/** Shows the call, lets something happen, and makes the call: the reason of its failure, or "made". */
const shownThen = Effect.fnUntraced(function*(
  files: Record<string, string>,
  [tool, params]: readonly ["write_file", typeof write] | readonly ["edit_file", typeof edit],
  happens: (file: string) => void
) {
  const root = yield* sandbox(files)
  const shown = ShownFiles.make()
  yield* Describe.describe(yield* Root.make(root), shown)(tool, params)
  happens(join(root, "a.txt"))
  const made = Effect.gen(function*() {
    const tools = yield* ChangingTools.toolkit
    const results = yield* Stream.runCollect(yield* tools.handle(tool, params as never))
    const { encodedResult, isFailure } = results.at(-1)!
    return isFailure ? (encodedResult as { readonly reason: string }).reason : "made"
  }).pipe(Effect.provide(ChangingTools.layer(root, shown)))
  return { root, made, first: yield* made }
})

const linked = (to: string) => (file: string) => {
  unlinkSync(file)
  symlinkSync(to, file)
}

describe("a call that was shown", () => {
  const cases: Record<string, readonly [files: Record<string, string>, call: any, happens: (file: string) => void]> = {
    "a new file, which is there by then": [{}, ["write_file", write], (file) => writeFileSync(file, "work\n")],
    "a diff, and the file is another": [{ "a.txt": "one\n" }, ["write_file", write], (file) => {
      writeFileSync(file, "two\n")
    }],
    "a diff, and the file is gone": [{ "a.txt": "one\n" }, ["write_file", write], (file) => unlinkSync(file)],
    "that nothing changes, and now it would": [{ "a.txt": "new\n" }, ["write_file", write], (file) => {
      writeFileSync(file, "work\n")
    }],
    "a small file, which is too large by then": [{ "a.txt": "one\n" }, ["write_file", write], (file) => {
      truncateSync(file, 20_000_000)
    }],
    "an edit, and there is more in the file": [{ "a.txt": "one\n" }, ["edit_file", edit], (file) => {
      writeFileSync(file, "one and more\n")
    }],
    "a diff, and the file is a link to another with the same text": [
      { "a.txt": "one\n", "b.txt": "one\n" },
      ["write_file", write],
      linked("b.txt")
    ],
    "an edit, and the file is a link to another with the same text": [
      { "a.txt": "one\n", "b.txt": "one\n" },
      ["edit_file", edit],
      linked("b.txt")
    ],
    "a new file, whose folder is a link by then": [
      { "hooks/other.txt": "" },
      ["write_file", { ...write, path: "new/a.txt" }],
      (file) => symlinkSync("hooks", join(dirname(file), "new"))
    ],
    "an edit that would fail, and now would not": [{ "a.txt": "none\nnone\n" }, ["edit_file", edit], (file) => {
      writeFileSync(file, "one\n")
    }]
  }
  for (const [what, [files, call, happens]] of Object.entries(cases)) {
    it.effect(`is not made if it showed ${what}`, () =>
      Effect.gen(function*() {
        assert.strictEqual((yield* shownThen(files, call, happens)).first, "ChangedMeanwhile")
      }))
  }

  it.effect("is made if the file is as it was shown, even if it was rewritten", () =>
    Effect.gen(function*() {
      const { first, root } = yield* shownThen({ "a.txt": "one\n" }, ["edit_file", edit], (file) => {
        writeFileSync(file, "one\n")
      })
      assert.deepStrictEqual([first, textOf(root, "a.txt")], ["made", "two\n"])
    }))

  it.effect("is made if a missing folder exists by then", () =>
    Effect.gen(function*() {
      const call = ["write_file", { ...write, path: "new/a.txt" }] as const
      const { first, root } = yield* shownThen({}, call, (file) => mkdirSync(join(dirname(file), "new")))
      assert.deepStrictEqual([first, textOf(root, "new/a.txt")], ["made", "new\n"])
    }))

  it.effect("is compared with what was shown only once", () =>
    Effect.gen(function*() {
      const { made, root } = yield* shownThen({}, ["write_file", write], (file) => writeFileSync(file, "work\n"))
      assert.strictEqual(yield* made, "made")
      assert.strictEqual(textOf(root, "a.txt"), "new\n")
    }))
})
