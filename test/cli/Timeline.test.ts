/** `fiberloop show --timeline` on real sessions. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { idOf, workplace } from "./Invoke.ts"

describe("fiberloop show --timeline", () => {
  it.effect("shows every drive of every run, plain if there is no terminal", () =>
    Effect.gen(function*() {
      const { on, run } = yield* workplace()
      const id = idOf(yield* run(["2+2", "--max-turns", "1"]))
      yield* on("resume", [id, "--max-turns", "5"])
      yield* run(["3+3", "--session", id])
      const { code, stderr, stdout } = yield* on("show", [id, "--timeline"])
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.deepStrictEqual(stdout.match(/^── run \d+(?: · drive \d+)?/gm), [
        "── run 1",
        "── run 1 · drive 2",
        "── run 2"
      ])
      assert.match(stdout, /\nturn 1 {4}offline +[░█]+ +\d+ ms\n {12}calculate +━+ +\d+ ms\n/)
      assert.notInclude(stdout, "\u001b")
    }))

  it.effect("is as wide as the terminal, and coloured there", () =>
    Effect.gen(function*() {
      const { on, run } = yield* workplace()
      const id = idOf(yield* run(["2+2"]))
      const { stdout } = yield* on("show", [id, "--timeline"], { isTerminal: true, columns: 120 })
      assert.include(stdout, "\u001b[32m")
      const axis = stdout.split("\n")[1]!.slice("\u001b[2m".length).slice(0, -"\u001b[0m".length)
      assert.strictEqual(axis.length, 120 - 26)
    }))

  it.effect("is refused together with --context, as wrong usage", () =>
    Effect.gen(function*() {
      const { on, run } = yield* workplace()
      const id = idOf(yield* run(["2+2"]))
      const { code, stderr, stdout } = yield* on("show", [id, "--timeline", "--context"])
      assert.deepStrictEqual([code, stdout], [2, ""])
      assert.strictEqual(stderr, "fiberloop: --timeline and --context are two views: give one of them\n")
    }))

  it.effect("prints its entries as lines of JSON with --json", () =>
    Effect.gen(function*() {
      const { on, run } = yield* workplace()
      const id = idOf(yield* run(["2+2"]))
      const { stdout } = yield* on("show", [id, "--timeline", "--json"])
      const entries = stdout.trimEnd().split("\n").map((line) => JSON.parse(line))
      assert.deepStrictEqual(
        entries.map(({ _tag, kind, name }) => kind === undefined ? _tag : `${kind} ${name}`),
        ["DriveStarted", "model fiberloop/offline", "tool calculate", "model fiberloop/offline", "DriveEnded"]
      )
      for (const { sessionId } of entries) assert.strictEqual(sessionId, id)
      assert.isAtLeast(entries[2].to, entries[2].from)
    }))
})
