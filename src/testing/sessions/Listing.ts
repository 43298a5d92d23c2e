/** What `list` and `info` show in every session store; a part of `SessionStoreSuite`. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as RunEvent from "../../run/RunEvent.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import * as Draft from "./Drafts.ts"
import { aborted, answer, base, completed, notice, open, started, suspended, write } from "./Fixtures.ts"
import { assert, describe, type Test } from "./TestRunner.ts"

export const listing = (name: string, test: Test): void => {
  describe(`${name}: list`, () => {
    test(
      "shows what evolveInfo makes of a log",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const at = 1_700_000_000_000
        const events = [
          started({ seq: 1, at }, "What is\nthe weather?"),
          answer({ seq: 2, at: at + 5 }),
          answer({ seq: 3, at: at + 9 }),
          completed({ seq: 4, at: at + 12 })
        ] as const
        yield* write("s", events)
        const expected: SessionStore.SessionInfo = {
          ...events.reduce(SessionStore.evolveInfo, SessionStore.newInfo("s", 0)),
          createdAt: 0
        }
        assert.deepStrictEqual(yield* store.info("s"), expected)
        assert.deepStrictEqual(yield* store.list(), [expected])
        assert.strictEqual(expected.title, "What is the weather?")
        yield* write("s", [started({ seq: 5, at: at + 20 }, "again")])
        assert.deepStrictEqual(yield* store.info("s"), { ...expected, head: 5, updatedAt: at + 20, end: undefined })
      })
    )

    test(
      "shows a session as it is by now, also while it is written to",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const session = yield* open("s")
        let expected = SessionStore.newInfo("s", 0)
        for (const event of [started({ seq: 1 }), answer({ seq: 2 }), completed({ seq: 3 }), started({ seq: 4 })]) {
          yield* session.append([event])
          expected = SessionStore.evolveInfo(expected, event)
          assert.deepStrictEqual(yield* store.info("s"), expected)
          assert.deepStrictEqual(yield* store.list(), [expected])
        }
      })
    )

    test(
      "a title may be any text",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* write("s", [started({ seq: 1 }, `a\0b 👩‍👧 ${"\ud83d"}`)])
        const title = (yield* store.info("s"))?.title
        assert.isTrue(title?.startsWith("a"))
        assert.isTrue(title?.includes("👩‍👧"))
      })
    )

    test(
      "a title is cut after 80 characters, whatever they consist of",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const longest = "\u{1f4a1}".repeat(80)
        yield* write("fits", [started({ seq: 1 }, longest)])
        yield* write("is cut", [started({ seq: 1 }, `${longest}.`)])
        assert.strictEqual((yield* store.info("fits"))?.title, longest)
        assert.strictEqual((yield* store.info("is cut"))?.title, `${"\u{1f4a1}".repeat(79)}…`)
      })
    )

    test(
      "the session that changed last comes first",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const ids = Effect.map(store.list(), (infos) => infos.map((info) => info.sessionId))
        yield* write("a", [started({ seq: 1, at: 100 })])
        yield* write("b", [started({ seq: 1, at: 200 })])
        yield* write("c", [started({ seq: 1, at: 300 })])
        assert.deepStrictEqual(yield* ids, ["c", "b", "a"])
        yield* write("a", [notice({ seq: 2, at: 400 })])
        assert.deepStrictEqual(yield* ids, ["a", "c", "b"])
      })
    )

    test(
      "pages list every session once, even those with equal times",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        for (let n = 0; n < 25; n++) yield* write(`s${n}`, [started({ seq: 1, at: 100 + n % 3 })])
        const all = yield* store.list()
        const paged: Array<SessionStore.SessionInfo> = []
        for (let page = yield* store.list({ limit: 4 }); page.length > 0;) {
          assert.isAtMost(page.length, 4)
          paged.push(...page)
          page = yield* store.list({ limit: 4, after: page[page.length - 1]! })
        }
        assert.strictEqual(all.length, 25)
        assert.deepStrictEqual(paged, [...all])
      })
    )

    for (const [limit, expected] of [[0, 0], [-1, 0], [1.5, 1], [99, 3], [Infinity, 3], [NaN, 3]] as const) {
      test(
        `a page of ${limit} lists ${expected} of three sessions`,
        Effect.gen(function*() {
          for (const id of ["a", "b", "c"]) yield* write(id, [started({ seq: 1 })])
          assert.strictEqual((yield* (yield* SessionStore.SessionStore).list({ limit })).length, expected)
        })
      )
    }

    test(
      "sessions are filtered by how they ended; those that only their process or their store ended count as having no end",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* write("goes on", [started({ seq: 1, at: 1 })])
        yield* write("completed", [started({ seq: 1, at: 2 }), completed({ seq: 2, at: 2 })])
        yield* write("suspended", [started({ seq: 1, at: 3 }), suspended({ seq: 2, at: 3 })])
        yield* write("crashed", [started({ seq: 1, at: 4 }), aborted({ seq: 2, at: 4 }, "crashed")])
        for (const reason of ["StoreUnavailable", "Authentication"] as const) {
          const end = { ...base({ seq: 2, at: 4 }), ...Draft.failed(reason) }
          yield* write(reason, [started({ seq: 1, at: 4 }), end])
        }
        yield* write("aborted", [started({ seq: 1, at: 5 }), aborted({ seq: 2, at: 5 }, "requested")])
        const listed = (options: SessionStore.ListOptions) =>
          Effect.map(store.list(options), (infos) => infos.map(({ sessionId }) => sessionId))
        assert.deepStrictEqual(yield* listed({ ends: [undefined] }), ["crashed", "StoreUnavailable", "goes on"])
        assert.deepStrictEqual(yield* listed({ ends: ["RunSuspended"] }), ["suspended"])
        assert.deepStrictEqual(yield* listed({ ends: ["RunSuspended", undefined] }), [
          "crashed",
          "StoreUnavailable",
          "suspended",
          "goes on"
        ])
        assert.deepStrictEqual(yield* listed({ ends: ["RunAborted", "RunFailed"] }), ["aborted", "Authentication"])
        assert.deepStrictEqual(yield* listed({ ends: [] }), [])
        const [first] = yield* store.list({ ends: ["RunSuspended", undefined], limit: 1 })
        assert.deepStrictEqual(yield* listed({ ends: ["RunSuspended", undefined], limit: 1, after: first }), [
          "StoreUnavailable"
        ])
      })
    )

    test(
      "unowned sessions can be listed alone, also in pages",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const ids = Arr.range(1, 7).map((n) => `s${n}`)
        for (const [at, id] of ids.entries()) yield* write(id, [started({ seq: 1, at })])
        const unowned = (options: SessionStore.ListOptions = {}) =>
          Effect.map(store.list({ ...options, unowned: true }), (infos) => infos.map(({ sessionId }) => sessionId))
        yield* Effect.scoped(Effect.gen(function*() {
          for (const id of ["s7", "s6", "s5", "s2"]) yield* open(id)
          assert.deepStrictEqual(yield* unowned(), ["s4", "s3", "s1"])
          assert.deepStrictEqual(yield* unowned({ limit: 2 }), ["s4", "s3"])
          const [info] = yield* store.list({ limit: 1, unowned: true })
          assert.deepStrictEqual(yield* unowned({ limit: 2, after: info }), ["s3", "s1"])
          assert.deepStrictEqual(yield* unowned({ ends: ["RunCompleted"] }), [])
          assert.lengthOf(yield* store.list(), 7)
        }))
        assert.deepStrictEqual(yield* unowned(), ids.toReversed())
      })
    )

    test(
      "an unowned session is found behind any number of others",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* write("free", [started({ seq: 1, at: 1 })])
        const taken = Arr.range(1, 100).map((n) => `s${n}`)
        yield* Effect.forEach(taken, (id) => write(id, [started({ seq: 1, at: 2 })]), { concurrency: 8, discard: true })
        yield* Effect.scoped(Effect.gen(function*() {
          yield* Effect.forEach(taken, (id) => open(id), { concurrency: 8, discard: true })
          const infos = yield* store.list({ limit: 1, unowned: true })
          assert.deepStrictEqual(infos.map(({ sessionId }) => sessionId), ["free"])
        }))
      })
    )

    test(
      "without a limit all sessions are listed",
      Effect.gen(function*() {
        const ids = Arr.range(1, 101).map((n) => `s${n}`)
        yield* Effect.forEach(ids, (id) => write(id, [started({ seq: 1 })]), { concurrency: 8, discard: true })
        const infos = yield* (yield* SessionStore.SessionStore).list()
        assert.sameMembers(infos.map((info) => info.sessionId), ids)
      })
    )

    test(
      "removing a session does not disturb the pages after it",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        for (let n = 1; n <= 5; n++) yield* write(`s${n}`, [started({ seq: 1, at: n })])
        const first = yield* store.list({ limit: 2 })
        yield* store.remove(first[1]!.sessionId)
        const rest = yield* store.list({ after: first[1]! })
        assert.deepStrictEqual(rest.map((info) => info.sessionId), ["s3", "s2", "s1"])
      })
    )

    test(
      "a session moving to the front does not disturb the pages after it",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        for (let n = 1; n <= 6; n++) yield* write(`s${n}`, [started({ seq: 1, at: n })])
        const first = yield* store.list({ limit: 2 })
        yield* write("s1", [notice({ seq: 2, at: 99 })])
        const rest = yield* store.list({ after: first[1]! })
        assert.deepStrictEqual(rest.map((info) => info.sessionId), ["s4", "s3", "s2"])
      })
    )

    test(
      "a session whose log cannot be read is still listed",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* write("s", [started({ seq: 1 }, "words"), { ...notice({ seq: 2 }), version: RunEvent.version + 1 }])
        const [info] = yield* store.list()
        assert.deepStrictEqual([info?.title, info?.head], ["words", 2])
      })
    )

    test(
      "an unknown session has no info",
      Effect.gen(function*() {
        assert.isUndefined(yield* (yield* SessionStore.SessionStore).info("s"))
      })
    )
  })
}
