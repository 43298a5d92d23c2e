/** What "always this exact command" covers. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { mkdirSync, rmSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import * as RuleKey from "../../../src/cli/approval/RuleKey.ts"
import * as Root from "../../../src/cli/tools/files/Root.ts"
import { sandbox } from "../tools/files/Sandbox.ts"

/** The keys of calls below a folder that has `src` and `a/b`. */
const keys = Effect.gen(function*() {
  const folder = yield* sandbox({})
  for (const name of ["src", "a/b"]) mkdirSync(join(folder, name), { recursive: true })
  const root = yield* Root.make(folder)
  const keyOf = (tool: string, params: unknown) => RuleKey.of(root, tool, params)
  const run = (command: ReadonlyArray<string>, cwd?: string) =>
    keyOf("run_command", cwd === undefined ? { command } : { command, cwd })
  return { folder, keyOf, run }
})

describe("a rule", () => {
  it.live("covers the same command in the same folder with the same timeout, even if left to its default", () =>
    Effect.gen(function*() {
      const { keyOf, run } = yield* keys
      const of = (timeoutSeconds: number) => keyOf("run_command", { command: ["git", "status"], timeoutSeconds })
      const status = yield* run(["git", "status"])
      assert.isString(status)
      assert.strictEqual(yield* of(100), status)
      assert.notStrictEqual(yield* of(3_600), status)
      assert.notStrictEqual(yield* of(5), status)
    }))

  it.live.each(
    [
      [["git"], undefined],
      [["git", "status", "-s"], undefined],
      [["git status"], undefined],
      [["git", "status", ""], undefined],
      [["git", "statu"], undefined],
      [["git", "status"], "src"]
    ] as const
  )("on git status does not cover %j in %s", ([command, cwd]) =>
    Effect.gen(function*() {
      const { run } = yield* keys
      assert.notStrictEqual(yield* run(command, cwd), yield* run(["git", "status"]))
    }))

  it.live.prop(
    "on a command covers no other",
    [Schema.NonEmptyArray(Schema.String), Schema.NonEmptyArray(Schema.String), Schema.Literals([".", "a", "a/b"])],
    ([one, other, cwd]) =>
      Effect.gen(function*() {
        const { run } = yield* keys
        const isSame = JSON.stringify(one) === JSON.stringify(other)
        assert.strictEqual((yield* run(one, cwd)) === (yield* run(other, cwd)), isSame)
      })
  )

  it.live.each([["src", "./src/"], ["src", "a/../src"], [".", undefined], [".", "./."]])(
    "is the same for the folders %s and %s",
    ([one, other]) =>
      Effect.gen(function*() {
        const { run } = yield* keys
        assert.isString(yield* run(["ls"], one))
        assert.strictEqual(yield* run(["ls"], one), yield* run(["ls"], other))
      })
  )

  it.live("in a folder that a link leads to holds for that folder, also by its own name, and not where the link leads next", () =>
    Effect.gen(function*() {
      const { folder, run } = yield* keys
      const link = join(folder, "current")
      symlinkSync("src", link)
      const before = yield* run(["make", "deploy"], "current")
      assert.isString(before)
      assert.strictEqual(before, yield* run(["make", "deploy"], "src"))
      rmSync(link)
      symlinkSync("a", link)
      assert.notStrictEqual(yield* run(["make", "deploy"], "current"), before)
    }))

  it.live("treats null as the tool does: as left out", () =>
    Effect.gen(function*() {
      const { keyOf, run } = yield* keys
      const params = { command: ["git", "status"], cwd: null, timeoutSeconds: null }
      assert.strictEqual(yield* keyOf("run_command", params), yield* run(["git", "status"]))
    }))

  it.live("covers no change to a file, not even the same one, nor one that mentions the command", () =>
    Effect.gen(function*() {
      const { keyOf } = yield* keys
      for (const more of [{}, { command: ["git", "status"] }]) {
        assert.isUndefined(yield* keyOf("write_file", { path: "a.txt", content: "x", ...more }))
        assert.isUndefined(yield* keyOf("edit_file", { path: "a.txt", oldText: "x", newText: "y", ...more }))
      }
    }))

  it.live("cannot be made from parameters that the tool refuses, for a folder that is not there, nor for other tools", () =>
    Effect.gen(function*() {
      const { keyOf, run } = yield* keys
      assert.isUndefined(yield* run([]))
      assert.isUndefined(yield* run(["ls"], "nowhere"))
      assert.isUndefined(yield* run(["ls"], ".."))
      assert.isUndefined(yield* keyOf("run_command", { command: "git status" }))
      assert.isUndefined(yield* keyOf("delete_file", { path: "a.txt" }))
    }))
})
