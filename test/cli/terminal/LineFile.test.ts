import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { execFileSync } from "node:child_process"
import { truncateSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { badInput } from "../../../src/cli/Refusal.ts"
import * as LineFile from "../../../src/cli/terminal/LineFile.ts"
import { sandbox } from "../tools/files/Sandbox.ts"

const fileOf = (content: string | Uint8Array) =>
  Effect.map(sandbox({ "a.txt": content }), (root) => join(root, "a.txt"))

describe("a file that is read", () => {
  it.effect("is complete when two of its chunks share a character", () =>
    Effect.gen(function*() {
      const text = `x${"é".repeat(100_000)}`
      assert.isTrue((yield* LineFile.readWhole(yield* fileOf(text))) === text)
    }))

  it.effect.skipIf(process.platform === "win32")(
    "may be a named pipe whose writer comes later",
    () =>
      Effect.gen(function*() {
        const pipe = join(yield* sandbox(), "pipe")
        execFileSync("mkfifo", [pipe])
        const reading = yield* Effect.forkChild(LineFile.readWhole(pipe), { startImmediately: true })
        execFileSync("sh", ["-c", "echo one > \"$1\"", "sh", pipe])
        assert.strictEqual(yield* Fiber.join(reading), "one")
      })
  )

  it.effect("is refused if it ends within a character", () =>
    Effect.gen(function*() {
      const file = yield* fileOf(Buffer.from("one é").subarray(0, -1))
      const { code, line } = yield* Effect.flip(LineFile.readWhole(file))
      assert.deepStrictEqual([code, line], [1, `the file ${JSON.stringify(file)} is not UTF-8 text: convert it first`])
    }))

  it.effect("is refused without reading on if a line has no end in sight", () =>
    Effect.gen(function*() {
      const file = yield* fileOf("one\n")
      truncateSync(file, 70_000_000)
      assert.deepStrictEqual(
        yield* Effect.flip(Stream.runDrain(LineFile.read(file))),
        badInput(
          `the file ${JSON.stringify(file)} has a line of more than 64 million characters: give one with shorter lines`
        )
      )
    }))

  it.effect("may be longer than one of its lines may be", () =>
    Effect.gen(function*() {
      const file = yield* fileOf(`${"x".repeat(999_999)}\n`.repeat(70))
      assert.strictEqual(yield* Stream.runCount(LineFile.read(file)), 70)
    }))

  it.effect("is refused as a task if it is larger than a session can keep", () =>
    Effect.gen(function*() {
      const line = `${"x".repeat(999_999)}\n`
      const fits = yield* fileOf(line.repeat(16))
      assert.strictEqual((yield* LineFile.readWhole(fits)).length, 15_999_999)
      const file = yield* fileOf(line.repeat(17))
      assert.deepStrictEqual(
        yield* Effect.flip(LineFile.readWhole(file)),
        badInput(
          `the file ${JSON.stringify(file)} has more than 16 million characters, which no task may have: ` +
            "name a file in the task instead"
        )
      )
    }))

  it.effect("is refused if it is compressed, and the refusal says so", () =>
    Effect.gen(function*() {
      const file = yield* fileOf(gzipSync("one\n"))
      const { line } = yield* Effect.flip(LineFile.readWhole(file))
      assert.strictEqual(line, `the file ${JSON.stringify(file)} is compressed: unpack it first, with gunzip`)
    }))
})
