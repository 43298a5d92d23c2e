import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as RuleKey from "../../../src/cli/approval/RuleKey.ts"

const keyOf = (tool: string, params: unknown) => Effect.runSync(RuleKey.of(tool, params))
const run = (command: ReadonlyArray<string>, cwd?: string) =>
  keyOf("run_command", cwd === undefined ? { command } : { command, cwd })

describe("a rule", () => {
  it.effect("covers the same command in the same folder with the same timeout, even if left to its default", () =>
    Effect.sync(() => {
      const of = (timeoutSeconds: number) => keyOf("run_command", { command: ["git", "status"], timeoutSeconds })
      assert.isString(run(["git", "status"]))
      assert.strictEqual(of(100), run(["git", "status"]))
      assert.notStrictEqual(of(3_600), run(["git", "status"]))
      assert.notStrictEqual(of(5), run(["git", "status"]))
    }))

  it.effect.each(
    [
      [["git"], undefined],
      [["git", "status", "-s"], undefined],
      [["git status"], undefined],
      [["git", "status", ""], undefined],
      [["git", "statu"], undefined],
      [["git", "status"], "src"]
    ] as const
  )(
    "on git status does not cover %j in %s",
    ([command, cwd]) => Effect.sync(() => assert.notStrictEqual(run(command, cwd), run(["git", "status"])))
  )

  it.effect.prop(
    "on a command covers no other",
    [Schema.NonEmptyArray(Schema.String), Schema.NonEmptyArray(Schema.String), Schema.Literals([".", "a", "a/b"])],
    ([one, other, cwd]) =>
      Effect.sync(() =>
        assert.strictEqual(run(one, cwd) === run(other, cwd), JSON.stringify(one) === JSON.stringify(other))
      )
  )

  it.effect.each([["src", "./src/"], ["src", "a/../src"], [".", ""], [".", "./."]])(
    "is the same for the folders %s and %s",
    ([one, other]) =>
      Effect.sync(() => assert.strictEqual(run(["ls"], one), other === "" ? run(["ls"]) : run(["ls"], other)))
  )

  it.effect("treats null as the tool does: as left out", () =>
    Effect.sync(() => {
      const params = { command: ["git", "status"], cwd: null, timeoutSeconds: null }
      assert.strictEqual(keyOf("run_command", params), run(["git", "status"]))
    }))

  it.effect("covers no change to a file, not even the same one", () =>
    Effect.sync(() => {
      assert.isUndefined(keyOf("write_file", { path: "a.txt", content: "x" }))
      assert.isUndefined(keyOf("edit_file", { path: "a.txt", oldText: "x", newText: "y" }))
    }))

  it.effect("on a command does not cover a file change that mentions the command, either", () =>
    Effect.sync(() => {
      const command = ["git", "status"]
      assert.isUndefined(keyOf("write_file", { path: "a.txt", content: "x", command }))
      assert.isUndefined(keyOf("edit_file", { path: "a.txt", oldText: "x", newText: "y", command }))
    }))

  it.effect("cannot be made from parameters that the tool refuses, nor for other tools", () =>
    Effect.sync(() => {
      assert.isUndefined(run([]))
      assert.isUndefined(keyOf("run_command", { command: "git status" }))
      assert.isUndefined(keyOf("delete_file", { path: "a.txt" }))
    }))
})
