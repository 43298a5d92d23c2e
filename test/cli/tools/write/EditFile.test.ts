import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { chmodSync, statSync, truncateSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as ChangingTools from "../../../../src/cli/tools/ChangingTools.ts"
import { BeforeRename } from "../../../../src/cli/tools/write/AtomicWrite.ts"
import { MaxDiff, MaxFileBytes } from "../../../../src/cli/tools/write/EditFile.ts"
import * as ShownFiles from "../../../../src/cli/tools/write/ShownFiles.ts"
import { sandbox } from "../files/Sandbox.ts"
import { edit, refusal, textOf, treeOf, write } from "./Calls.ts"

describe("edit_file", () => {
  it.effect("replaces a text and shows what changed", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "one\ntwo\nthree\n" })
      assert.deepStrictEqual(yield* edit(root, { path: "./a.txt", oldText: "two", newText: "2" }), {
        path: "a.txt",
        replacements: 1,
        diff: "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
      })
      assert.strictEqual(textOf(root, "a.txt"), "one\n2\nthree\n")
    }))

  it.effect("replaces every occurrence if told to", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "a b a b a" })
      const { replacements } = yield* edit(root, { path: "a.txt", oldText: "a", newText: "$&", all: true })
      assert.deepStrictEqual([replacements, textOf(root, "a.txt")], [3, "$& b $& b $&"])
    }))

  it.effect("the file's mode is kept", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.sh": "old" })
      chmodSync(join(root, "a.sh"), 0o750)
      yield* edit(root, { path: "a.sh", oldText: "old", newText: "new" })
      assert.strictEqual(statSync(join(root, "a.sh")).mode & 0o777, 0o750)
    }))

  it.effect("a long diff is cut in its middle", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "old\n".repeat(1_000) })
      const { diff } = yield* edit(root, { path: "a.txt", oldText: "old", newText: "new", all: true }).pipe(
        Effect.provideService(MaxDiff, 100)
      )
      assert.isBelow(diff.length, 200)
      assert.match(diff, /^@@ -1,1000 \+1,1000 @@\n-old\n[^]*characters left out[^]*\+new\n$/)
    }))

  it.effect("a missing file is refused", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const { message, reason } = yield* refusal(root, "edit_file", { path: "a/b.txt", oldText: "a", newText: "b" })
      assert.strictEqual(reason, "NotFound")
      assert.include(message, "\"a/b.txt\" does not exist")
      assert.deepStrictEqual(treeOf(root), {})
    }))

  it.effect.each([
    ["a binary file", Buffer.from([0x61, 0, 0x62])],
    ["a file in another encoding", Buffer.from([0x61, 0xe9, 0x62])]
  ])("%s is refused, because editing would corrupt it", ([, content]) =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.bin": content as Buffer })
      const { message, reason } = yield* refusal(root, "edit_file", { path: "a.bin", oldText: "a", newText: "b" })
      assert.deepStrictEqual([reason, message], [
        "NotText",
        "\"a.bin\" is no UTF-8 text: only text files can be edited."
      ])
    }))

  it.effect("half a surrogate pair is not found in a whole one", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "😀" })
      const { reason } = yield* refusal(root, "edit_file", { path: "a.txt", oldText: "\ud83d", newText: "b" })
      assert.deepStrictEqual([reason, textOf(root, "a.txt")], ["NotText", "😀"])
    }))

  it.effect("a file that is too large is refused before it is read", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "" })
      truncateSync(join(root, "a.txt"), 1_001)
      const { reason } = yield* refusal(root, "edit_file", { path: "a.txt", oldText: "a", newText: "b" }).pipe(
        Effect.provideService(MaxFileBytes, 1_000)
      )
      assert.strictEqual(reason, "TooLarge")
    }))

  it.effect("a file of the largest size is edited", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "old" })
      yield* edit(root, { path: "a.txt", oldText: "old", newText: "new" }).pipe(Effect.provideService(MaxFileBytes, 3))
      assert.strictEqual(textOf(root, "a.txt"), "new")
    }))

  it.effect("what somebody else wrote meanwhile is not overwritten", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "old" })
      const { message, reason } = yield* refusal(root, "edit_file", { path: "a.txt", oldText: "old", newText: "new" })
        .pipe(
          Effect.provideService(BeforeRename, () => Effect.sync(() => writeFileSync(join(root, "a.txt"), "abc")))
        )
      assert.strictEqual(reason, "ChangedMeanwhile")
      assert.include(message, "read it again")
      assert.deepStrictEqual(treeOf(root), { "a.txt": "abc" })
    }))

  it.effect("what somebody else wrote meanwhile is not overwritten, even if its modification time is unchanged", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "old" })
      const file = join(root, "a.txt")
      utimesSync(file, 1_000, 1_000)
      const rewrite = Effect.sync(() => {
        writeFileSync(file, "abc")
        utimesSync(file, 1_000, 1_000)
      })
      const { reason } = yield* refusal(root, "edit_file", { path: "a.txt", oldText: "old", newText: "new" }).pipe(
        Effect.provideService(BeforeRename, () => rewrite)
      )
      assert.strictEqual(reason, "ChangedMeanwhile")
      assert.deepStrictEqual(treeOf(root), { "a.txt": "abc" })
    }))

  it.effect("what somebody else created meanwhile is not overwritten", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const { reason } = yield* refusal(root, "write_file", { path: "a.txt", content: "new" }).pipe(
        Effect.provideService(BeforeRename, () => Effect.sync(() => writeFileSync(join(root, "a.txt"), "abc")))
      )
      assert.strictEqual(reason, "ChangedMeanwhile")
      assert.deepStrictEqual(treeOf(root), { "a.txt": "abc" })
    }))
})

describe("calls side by side", () => {
  it.effect("all change the file, one after the other", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "a.txt": "a b c d e f" })
      yield* Effect.gen(function*() {
        const tools = yield* ChangingTools.toolkit
        yield* Effect.forEach(
          ["a", "b", "c", "d", "e", "f"],
          (letter) =>
            Effect.flatMap(
              tools.handle("edit_file", { path: "a.txt", oldText: letter, newText: letter.toUpperCase() }),
              Stream.runDrain
            ),
          { concurrency: "unbounded" }
        )
      }).pipe(Effect.provide(ChangingTools.layer(root, ShownFiles.make())))
      assert.strictEqual(textOf(root, "a.txt"), "A B C D E F")
    }))

  it.effect("a file that was written can be edited", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      yield* write(root, { path: "a.txt", content: "one\n" })
      yield* edit(root, { path: "a.txt", oldText: "one", newText: "two" })
      assert.strictEqual(textOf(root, "a.txt"), "two\n")
    }))
})
