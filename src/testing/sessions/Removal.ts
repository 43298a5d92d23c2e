/** What `remove` does in every session store; a part of `SessionStoreSuite`. */
import * as Effect from "effect/Effect"
import * as SessionStore from "../../services/SessionStore.ts"
import { notice, notices, open, readAll, reasonOf, seqs, started, tagOf, write } from "./Fixtures.ts"
import { assert, describe, type Test } from "./TestRunner.ts"

export const removal = (name: string, test: Test): void => {
  describe(`${name}: remove`, () => {
    test(
      "a removed session leaves nothing behind, and its id is free",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* write("s", notices(1, 3))
        yield* write("other", notices(1, 2))
        yield* store.remove("s")
        assert.isUndefined(yield* store.info("s"))
        assert.strictEqual(yield* tagOf(readAll("s")), "SessionNotFound")
        assert.deepStrictEqual((yield* store.list()).map((info) => info.sessionId), ["other"])
        yield* write("s", [started({ seq: 1 }, "new")])
        assert.deepStrictEqual(yield* readAll("s"), [started({ seq: 1 }, "new")])
        assert.deepStrictEqual(seqs(yield* readAll("other")), [1, 2])
      })
    )

    test(
      "a session with a live writer is busy",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const session = yield* open("s", { runId: "live" })
        yield* session.append([started({ seq: 1 })])
        const reason = yield* reasonOf(store.remove("s"))
        assert.isTrue(reason._tag === "SessionBusy" && reason.runId === "live")
        yield* session.append([notice({ seq: 2 })])
        assert.deepStrictEqual(seqs(yield* readAll("s")), [1, 2])
      })
    )

    test(
      "an unknown session fails with SessionNotFound",
      Effect.gen(function*() {
        assert.strictEqual(yield* tagOf((yield* SessionStore.SessionStore).remove("s")), "SessionNotFound")
      })
    )
  })
}
