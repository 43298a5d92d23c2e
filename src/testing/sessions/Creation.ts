/** How sessions come into being in every session store; a part of `SessionStoreSuite`. */
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import * as SessionStore from "../../services/SessionStore.ts"
import { open, readAll, reasonOf, seqs, started, tagOf, write } from "./Fixtures.ts"
import { assert, describe, type Test } from "./TestRunner.ts"

export const creation = (name: string, test: Test): void => {
  describe(`${name}: creation`, () => {
    test(
      "a session comes into being with its first event",
      Effect.gen(function*() {
        const session = yield* open("s")
        assert.strictEqual(session.head(), 0)
        yield* session.append([started({ seq: 1 })])
        assert.strictEqual(session.head(), 1)
        assert.deepStrictEqual(yield* readAll("s"), [started({ seq: 1 })])
      })
    )

    test(
      "opening an unknown session without creating it fails with SessionNotFound",
      Effect.gen(function*() {
        const reason = yield* reasonOf(open("s", { create: false }))
        assert.strictEqual(reason._tag, "SessionNotFound")
        assert.include(reason.message, `"s"`)
      })
    )

    test(
      "a session that is open but not yet written to does not exist",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* open("s")
        assert.isUndefined(yield* store.info("s"))
        assert.deepStrictEqual(yield* store.list(), [])
        assert.strictEqual(yield* tagOf(readAll("s")), "SessionNotFound")
        assert.strictEqual(yield* tagOf(store.remove("s")), "SessionNotFound")
        assert.strictEqual(yield* tagOf(open("s", { create: false })), "SessionNotFound")
      })
    )

    test(
      "a session closed without a write leaves nothing behind",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* Effect.scoped(open("s"))
        assert.isUndefined(yield* store.info("s"))
        assert.strictEqual(yield* tagOf(Effect.scoped(open("s", { create: false }))), "SessionNotFound")
        yield* write("s", [started({ seq: 1 })])
        assert.deepStrictEqual(seqs(yield* readAll("s")), [1])
      })
    )

    test(
      "a session closed without a write is created by its first later write",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* Effect.scoped(open("s"))
        yield* TestClock.adjust("5 seconds")
        yield* write("s", [started({ seq: 1 })])
        assert.strictEqual((yield* store.info("s"))?.createdAt, 5000)
      })
    )

    test(
      "times are whole milliseconds, also by a clock that tells parts of them",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* TestClock.adjust(1.5)
        yield* write("s", [started({ seq: 1 })])
        assert.strictEqual((yield* store.info("s"))?.createdAt, 1)
      })
    )

    test(
      "a session that is open but not yet written to is busy",
      Effect.gen(function*() {
        yield* open("s", { runId: "first" })
        const reason = yield* reasonOf(open("s"))
        assert.isTrue(reason._tag === "SessionBusy" && reason.runId === "first")
      })
    )

    for (const id of ["a'b\"c`; DROP TABLE x --", "日本語 👩‍👩‍👧", "%_*", "x".repeat(1000), " "]) {
      test(
        `a session id may be ${JSON.stringify(id.slice(0, 24))}`,
        Effect.gen(function*() {
          const store = yield* SessionStore.SessionStore
          yield* write(id, [started({ seq: 1 })])
          assert.deepStrictEqual(seqs(yield* readAll(id)), [1])
          assert.strictEqual((yield* store.info(id))?.sessionId, id)
        })
      )
    }

    for (
      const [claim, ids] of [
        ["case", ["a", "A", "İ", "i", "ı", "I"]],
        ["normal form", ["\u00e9", "e\u0301", "\ufb01", "fi"]],
        ["blanks", ["a", "a ", " a", "a\u00a0", "a\n"]],
        ["the value of a number", ["1", "01", "1.0", "1e0"]],
        ["a part of a path", ["a", "./a", "a/", "b/../a"]]
      ] as const
    ) {
      test(
        `ids that differ in ${claim} are different sessions`,
        Effect.gen(function*() {
          for (const id of ids) yield* write(id, [started({ seq: 1 }, JSON.stringify(id))])
          for (const id of ids) assert.deepStrictEqual(yield* readAll(id), [started({ seq: 1 }, JSON.stringify(id))])
        })
      )
    }

    for (const id of ["a\0b", "a\ud800b"]) {
      test(
        `an id that a database cannot store is refused: ${JSON.stringify(id)}`,
        Effect.gen(function*() {
          assert.strictEqual(yield* tagOf(open(id)), "StoreRefused")
          assert.strictEqual(yield* tagOf(open("s", { runId: id })), "StoreRefused")
        })
      )

      test(
        `the same id finds no session, and removes none: ${JSON.stringify(id)}`,
        Effect.gen(function*() {
          const store = yield* SessionStore.SessionStore
          const like = id.replace("\0", "").toWellFormed()
          yield* write(like, [started({ seq: 1 })])
          assert.strictEqual(yield* tagOf(readAll(id)), "SessionNotFound")
          assert.strictEqual(yield* tagOf(store.remove(id)), "SessionNotFound")
          assert.strictEqual(yield* tagOf(store.fork(id, { to: "t" })), "SessionNotFound")
          assert.strictEqual(yield* tagOf(open(id, { create: false })), "StoreRefused")
          assert.isUndefined(yield* store.info(id))
          assert.isUndefined(yield* store.lastOf(id, "RunStarted"))
          assert.isUndefined(yield* store.lastOf(like, "RunStarted", id))
          assert.deepStrictEqual(seqs(yield* readAll(like)), [1])
        })
      )
    }
  })
}
