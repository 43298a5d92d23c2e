import { assert, describe, it } from "@effect/vitest"
import * as Paint from "../../../src/cli/render/Paint.ts"
import * as RenderSessions from "../../../src/cli/render/RenderSessions.ts"
import * as SessionStore from "../../../src/services/SessionStore.ts"

const now = 1_000_000_000
const info = (id: string, more: Partial<SessionStore.SessionInfo> = {}): SessionStore.SessionInfo => ({
  ...SessionStore.newInfo(id, now),
  head: 1,
  ...more
})
const lines = (infos: ReadonlyArray<SessionStore.SessionInfo>, columns = Infinity) =>
  RenderSessions.lines(infos, { paint: Paint.plain, columns, now })

const minute = 60_000
describe("a list of sessions", () => {
  it("has columns: id, end, turns, age, first words", () => {
    assert.strictEqual(
      lines([
        info("a", { title: "one", turns: 1, end: "RunCompleted" }),
        info("long", { title: "two", turns: 12, updatedAt: now - 3 * minute })
      ]),
      "a     completed   1 turn    just now   one\nlong  unfinished  12 turns  3 min ago  two\n"
    )
  })

  it("may be longer than a call may have arguments", () => {
    const all = lines(Array.from({ length: 200_000 }, () => info("a")))
    assert.strictEqual(all.length, 200_000 * lines([info("a")]).length)
  })

  it("has a word for every end", () => {
    const ends = ["RunCompleted", "RunLimited", "RunSuspended", "RunFailed", "RunAborted", undefined] as const
    assert.deepStrictEqual(
      ends.map((end) => RenderSessions.end(info("a", { end }))),
      ["completed", "limited", "waiting", "failed", "aborted", "unfinished"]
    )
  })

  it("colours the ends: green for completed, red for failed, yellow for those that may go on", () => {
    const colourOf = (end: SessionStore.SessionInfo["end"]) => {
      const look = { paint: Paint.coloured, columns: Infinity, now }
      const word = RenderSessions.end(info("a", { end }))
      return RenderSessions.lines([info("a", { end })], look).split(word)[0]!.split("\u001b").at(-1)
    }
    const ends = ["RunCompleted", "RunFailed", "RunLimited", "RunSuspended", "RunAborted", undefined] as const
    assert.deepStrictEqual(ends.map(colourOf), ["[32m", "[31m", "[33m", "[33m", "[33m", "[33m"])
  })

  it("cuts wide words to fit the terminal", () => {
    const [line] = lines([info("a", { title: "三".repeat(40) })], 60).split("\n")
    assert.match(line!, /三…$/)
    assert.isAtMost(Array.from(line!, (char) => char === "三" ? 2 : 1).reduce((a, b) => a + b, 0), 60)
  })

  it("keeps its columns if an id is wide", () => {
    const [wide, narrow] = lines([info("三三"), info("abcd")]).split("\n")
    assert.strictEqual(wide!.replace("三三", "abcd"), narrow)
  })

  it("never cuts an id", () => assert.include(lines([info("x".repeat(60))], 20), "x".repeat(60)))

  it("escapes control characters in ids and words", () => {
    const shown = lines([info("a\u001b[2Jb", { title: "c\u202ed\u0007" })])
    assert.include(shown, "a\\x1b[2Jb")
    assert.include(shown, "c\\u202ed\\x07")
  })

  it("is JSON that says so when no run has ended", () => {
    const json = RenderSessions.json(info("a", { title: "\u202e" }))
    assert.notInclude(json, "\u202e")
    assert.deepStrictEqual(JSON.parse(json), { ...info("a", { title: "\u202e" }), end: null })
  })
})
