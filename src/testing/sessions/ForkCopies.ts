/** What the copy made by `fork` contains, in every session store; a part of `SessionStoreSuite`. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as SessionStore from "../../services/SessionStore.ts"
import * as Draft from "./Drafts.ts"
import { base, completed, type Durable, idle, notice, notices, readAll, started, write } from "./Fixtures.ts"
import { conversation, fork } from "./Forking.ts"
import { assert, describe, type Test } from "./TestRunner.ts"

export const forkCopies = (name: string, test: Test): void => {
  describe(`${name}: fork, the copy`, () => {
    test(
      "is the log up to its last end, unchanged",
      Effect.gen(function*() {
        yield* write("s", conversation)
        yield* fork("s", "copy")
        assert.deepStrictEqual(yield* readAll("copy"), conversation.slice(0, 10))
      })
    )

    test(
      "is the log up to the last turn when no run has ended",
      Effect.gen(function*() {
        yield* write("s", Arr.take(conversation, 8) as Arr.NonEmptyArray<Durable>)
        yield* fork("s", "copy")
        assert.deepStrictEqual((yield* readAll("copy")).slice(0, 6), conversation.slice(0, 6))
      })
    )

    for (const at of [6, 9, 10]) {
      test(
        `is the log up to event ${at} when requested`,
        Effect.gen(function*() {
          yield* write("s", conversation)
          yield* fork("s", "copy", at)
          assert.deepStrictEqual((yield* readAll("copy")).slice(0, at), conversation.slice(0, at))
        })
      )
    }

    for (const end of [Draft.limited(), Draft.suspended, Draft.aborted, Draft.failed("Authentication")]) {
      test(
        `may end with ${end._tag}, which stays unchanged`,
        Effect.gen(function*() {
          const log = Draft.log(Draft.started("x"), Draft.turnStarted(1), end)
          yield* write("s", log)
          assert.strictEqual((yield* fork("s", "copy", 3)).end, end._tag)
          assert.deepStrictEqual(yield* readAll("copy"), [...log])
        })
      )
    }

    test(
      "keeps events of unknown types, and any text",
      Effect.gen(function*() {
        const tomorrow = { _tag: "FromTomorrow", ...base({ seq: 2 }), payload: { deep: [1, null, "\0"] } }
        const log = [
          started({ seq: 1 }, "👩‍👩‍👧‍👦 \u202eabc\u202c a\0b \ud800 \u2028"),
          tomorrow as unknown as Durable,
          notice({ seq: 3, runId: "run-7", at: 2 }, "\udfff"),
          completed({ seq: 4 })
        ] as const
        yield* write("s", log)
        yield* fork("s", "copy")
        assert.deepStrictEqual(yield* readAll("copy"), [...log])
      })
    )

    test(
      "may have thousands of events",
      Effect.gen(function*() {
        yield* write("s", [...notices(1, 2500), completed({ seq: 2501 })])
        yield* fork("s", "copy")
        assert.deepStrictEqual(yield* readAll("copy"), [...notices(1, 2500), completed({ seq: 2501 })])
      })
    )

    test(
      "continues on its own and leaves the session alone",
      Effect.gen(function*() {
        yield* write("s", conversation)
        yield* fork("s", "copy")
        yield* write("copy", [started({ seq: 11, runId: "run-3" }, "copy only")])
        yield* write("s", [notice({ seq: 13 }, "session only")])
        assert.deepStrictEqual(yield* readAll("s"), [...conversation, notice({ seq: 13 }, "session only")])
        assert.deepStrictEqual(yield* readAll("copy"), [
          ...conversation.slice(0, 10),
          started({ seq: 11, runId: "run-3" }, "copy only")
        ])
      })
    )

    test(
      "outlives the removal of the session",
      Effect.gen(function*() {
        yield* write("s", conversation)
        yield* fork("s", "copy")
        yield* (yield* SessionStore.SessionStore).remove("s")
        assert.deepStrictEqual(yield* readAll("copy"), conversation.slice(0, 10))
      })
    )

    test(
      "can itself be forked",
      Effect.gen(function*() {
        yield* write("s", conversation)
        yield* fork("s", "copy", 6)
        yield* fork("copy", "copy of the copy")
        assert.deepStrictEqual(yield* readAll("copy of the copy"), yield* readAll("copy"))
      })
    )

    test(
      "reaches watchers that waited for it",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const fiber = yield* Effect.forkChild(Stream.runCollect(Stream.take(store.watch("copy"), 10)))
        yield* write("s", conversation)
        yield* idle
        yield* fork("s", "copy")
        assert.deepStrictEqual(yield* Fiber.join(fiber), conversation.slice(0, 10))
      })
    )
  })
}
