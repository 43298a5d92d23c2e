/** What `fork` refuses in every session store; a part of `SessionStoreSuite`. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as RunEvent from "../../run/RunEvent.ts"
import { completed, type Durable, notices, open, readAll, reasonOf, started, tagOf, write } from "./Fixtures.ts"
import { conversation, fork, infoOf, refusalOf } from "./Forking.ts"
import { assert, describe, type Test } from "./TestRunner.ts"

export const forkRefusals = (name: string, test: Test): void => {
  describe(`${name}: fork, refused`, () => {
    for (
      const [at, nearest] of [
        [1, "place is event 6"],
        [5, "place is event 6"],
        [7, "places are events 6 and 9"],
        [8, "places are events 6 and 9"],
        [11, "place is event 10"],
        [99, "place is event 10"],
        [Infinity, "place is event 10"],
        [NaN, "place is event 10"],
        [0, "place is event 6"],
        [-1, "place is event 6"],
        [6.5, "places are events 6 and 9"]
      ] as const
    ) {
      test(
        `at event ${at}, as the nearest ${nearest}`,
        Effect.gen(function*() {
          yield* write("s", conversation)
          const { field, message } = yield* refusalOf(fork("s", "copy", at))
          assert.strictEqual(field, "at")
          for (const part of [`"s"`, `event ${at},`, `nearest ${nearest}.`]) assert.include(message, part)
          assert.isUndefined(yield* infoOf("copy"))
        })
      )
    }

    test(
      "before any turn has ended",
      Effect.gen(function*() {
        yield* write("s", Arr.take(conversation, 5) as Arr.NonEmptyArray<Durable>)
        for (const at of [undefined, 3]) {
          const { field, message } = yield* refusalOf(fork("s", "copy", at))
          assert.strictEqual(field, "at")
          assert.include(message, "none of its turns has ended")
        }
        assert.isUndefined(yield* infoOf("copy"))
      })
    )

    test(
      "for an unknown session",
      Effect.gen(function*() {
        yield* open("unwritten")
        assert.strictEqual(yield* tagOf(fork("s", "copy")), "SessionNotFound")
        assert.strictEqual(yield* tagOf(fork("unwritten", "copy")), "SessionNotFound")
      })
    )

    for (const to of ["other", "s"]) {
      test(
        `to the id of ${to === "s" ? "the session itself" : "another session"}, which stays as it is`,
        Effect.gen(function*() {
          yield* write("s", conversation)
          yield* write("other", notices(1, 3))
          const before = yield* readAll(to)
          const { field, message } = yield* refusalOf(fork("s", to))
          assert.strictEqual(field, "to")
          assert.include(message, `"${to}"`)
          assert.deepStrictEqual(yield* readAll(to), before)
        })
      )
    }

    test(
      "to an id that another writer has open",
      Effect.gen(function*() {
        yield* write("s", conversation)
        const session = yield* open("copy", { runId: "first" })
        const reason = yield* reasonOf(fork("s", "copy"))
        assert.isTrue(reason._tag === "SessionBusy" && reason.runId === "first" && reason.sessionId === "copy")
        yield* session.append([started({ seq: 1 })])
        assert.deepStrictEqual(yield* readAll("copy"), [started({ seq: 1 })])
      })
    )

    test(
      "to an id that a database cannot store",
      Effect.gen(function*() {
        yield* write("s", conversation)
        assert.strictEqual(yield* tagOf(fork("s", "a\0b")), "StoreRefused")
        assert.strictEqual(yield* tagOf(fork("s", "a\ud800b")), "StoreRefused")
      })
    )

    test(
      "after an event of a newer version, but not before it",
      Effect.gen(function*() {
        const newer = { ...completed({ seq: 3 }), version: RunEvent.version + 1 }
        yield* write("s", [started({ seq: 1 }), completed({ seq: 2 }), newer, completed({ seq: 4 })])
        const reason = yield* reasonOf(fork("s", "copy"))
        assert.strictEqual(reason._tag, "StoreRefused")
        assert.include(reason.message, `Event 3 of session "s" has version ${RunEvent.version + 1}`)
        assert.isUndefined(yield* infoOf("copy"))
        assert.strictEqual((yield* fork("s", "copy", 2)).head, 2)
      })
    )

    test(
      "to all but one of those that want the same id at once",
      Effect.gen(function*() {
        yield* write("s", conversation)
        const results = yield* Effect.forEach(
          Arr.range(1, 20),
          () =>
            Effect.match(fork("s", "copy", 6), { onFailure: ({ reason }) => reason._tag, onSuccess: () => "forked" }),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(results.toSorted(), [...Arr.replicate("InvalidInput", 19), "forked"])
        assert.deepStrictEqual((yield* readAll("copy")).slice(0, 6), conversation.slice(0, 6))
      })
    )
  })
}
