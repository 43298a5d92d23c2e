/** What `lastOf` finds in every session store; a part of `SessionStoreSuite`. */
import * as Effect from "effect/Effect"
import * as SessionStore from "../../services/SessionStore.ts"
import { compacted, completed, notice, notices, open, started, write } from "./Fixtures.ts"
import { assert, describe, type Test } from "./TestRunner.ts"

const lastOf = (sessionId: string, type: SessionStore.Landmark, runId?: string) =>
  Effect.flatMap(SessionStore.SessionStore, (store) => store.lastOf(sessionId, type, runId))

export const landmarks = (name: string, test: Test): void => {
  describe(`${name}: lastOf`, () => {
    test(
      "finds the last event of a type, even as more are written",
      Effect.gen(function*() {
        const session = yield* open("s")
        yield* session.append([started({ seq: 1 }), compacted({ seq: 2 }), notice({ seq: 3 })])
        assert.strictEqual(yield* lastOf("s", "ContextCompacted"), 2)
        yield* session.append([compacted({ seq: 4 }), notice({ seq: 5 })])
        assert.strictEqual(yield* lastOf("s", "ContextCompacted"), 4)
        assert.strictEqual(yield* lastOf("s", "RunStarted"), 1)
      })
    )

    test(
      "finds only events of the run it is given",
      Effect.gen(function*() {
        yield* write("s", [
          started({ seq: 1, runId: "a" }),
          compacted({ seq: 2, runId: "a" }),
          completed({ seq: 3, runId: "a" }),
          started({ seq: 4, runId: "b" }),
          completed({ seq: 5, runId: "b" }),
          started({ seq: 6, runId: "a'; --" })
        ])
        assert.strictEqual(yield* lastOf("s", "RunStarted", "a"), 1)
        assert.strictEqual(yield* lastOf("s", "RunStarted", "b"), 4)
        assert.strictEqual(yield* lastOf("s", "RunStarted", "a'; --"), 6)
        assert.strictEqual(yield* lastOf("s", "ContextCompacted", "a"), 2)
        assert.isUndefined(yield* lastOf("s", "ContextCompacted", "b"))
        assert.isUndefined(yield* lastOf("s", "RunStarted", "c"))
      })
    )

    test(
      "finds an event far from the end of the log",
      Effect.gen(function*() {
        yield* write("s", [started({ seq: 1 }), compacted({ seq: 2 }), ...notices(3, 1500)])
        assert.strictEqual(yield* lastOf("s", "RunStarted"), 1)
        assert.strictEqual(yield* lastOf("s", "RunStarted", "run-1"), 1)
        assert.strictEqual(yield* lastOf("s", "ContextCompacted"), 2)
      })
    )

    test(
      "finds nothing when there is none, and nothing of another session",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* write("s", [notice({ seq: 1 })])
        yield* write("other", [started({ seq: 1 }), compacted({ seq: 2 })])
        assert.isUndefined(yield* lastOf("s", "ContextCompacted"))
        assert.isUndefined(yield* lastOf("unknown", "ContextCompacted"))
        yield* store.remove("other")
        yield* write("other", [notice({ seq: 1 })])
        assert.isUndefined(yield* lastOf("other", "ContextCompacted"))
      })
    )

    test(
      "finds in a fork what was copied",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* write("s", [started({ seq: 1 }), compacted({ seq: 2 }), completed({ seq: 3 }), compacted({ seq: 4 })])
        yield* store.fork("s", { to: "copy" })
        assert.strictEqual(yield* lastOf("copy", "ContextCompacted"), 2)
        assert.strictEqual(yield* lastOf("copy", "RunStarted", "run-1"), 1)
      })
    )
  })
}
