/** What `list` shows of sessions that agents began for calls, in every session store; a part of `SessionStoreSuite`. */
import * as Effect from "effect/Effect"
import * as SessionStore from "../../services/SessionStore.ts"
import { answer, begunFor, completed, open, started, write } from "./Fixtures.ts"
import { assert, describe, type Test } from "./TestRunner.ts"

/** Two sessions that people began, and others that work for their calls. */
const family = Effect.gen(function*() {
  yield* write("a", [started({ seq: 1, at: 1 }), completed({ seq: 2, at: 1 })])
  yield* write("a's", [begunFor("a", { seq: 1, at: 2 }), completed({ seq: 2, at: 2 })])
  yield* write("a's own", [begunFor("a's", { seq: 1, at: 3 })])
  yield* write("b", [started({ seq: 1, at: 4 })])
  yield* write("b's", [begunFor("b", { seq: 1, at: 5 })])
})

const listed = (options: SessionStore.ListOptions) =>
  SessionStore.SessionStore.use((store) => store.list(options)).pipe(
    Effect.map((infos) => infos.map(({ sessionId }) => sessionId))
  )

export const parents = (name: string, test: Test): void => {
  describe(`${name}: parents`, () => {
    test(
      "a session that was begun for a call shows the call's session",
      Effect.gen(function*() {
        yield* family
        const infos = yield* (yield* SessionStore.SessionStore).list()
        assert.deepStrictEqual(infos.map(({ parent, sessionId }) => [sessionId, parent]), [
          ["b's", "b"],
          ["b", undefined],
          ["a's own", "a's"],
          ["a's", "a"],
          ["a", undefined]
        ])
        assert.isFalse("parent" in infos[1]!)
      })
    )

    test(
      "sessions are filtered by their parents",
      Effect.gen(function*() {
        yield* family
        assert.deepStrictEqual(yield* listed({ parents: [undefined] }), ["b", "a"])
        assert.deepStrictEqual(yield* listed({ parents: ["a"] }), ["a's"])
        assert.deepStrictEqual(yield* listed({ parents: ["a", "b", "a"] }), ["b's", "a's"])
        assert.deepStrictEqual(yield* listed({ parents: [undefined, "a's"] }), ["b", "a's own", "a"])
        assert.deepStrictEqual(yield* listed({ parents: ["nobody"] }), [])
        yield* write("other's", [begunFor("a\ufffd", { seq: 1, at: 6 })])
        assert.deepStrictEqual(yield* listed({ parents: ["a\ufffd"] }), ["other's"])
        for (const id of ["a\ud800", "a\0"]) assert.deepStrictEqual(yield* listed({ parents: [id] }), [])
        assert.deepStrictEqual(yield* listed({ parents: [] }), [])
      })
    )

    test(
      "the filter goes with the others, and with pages",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* family
        assert.deepStrictEqual(yield* listed({ parents: [undefined], ends: ["RunCompleted"] }), ["a"])
        assert.deepStrictEqual(yield* listed({ parents: ["a", "b"], ends: [undefined, "RunCompleted"] }), [
          "b's",
          "a's"
        ])
        const [first] = yield* store.list({ parents: [undefined], limit: 1 })
        assert.deepStrictEqual(yield* listed({ parents: [undefined], limit: 1, after: first }), ["a"])
        yield* Effect.scoped(Effect.gen(function*() {
          yield* open("b")
          assert.deepStrictEqual(yield* listed({ parents: [undefined], unowned: true }), ["a"])
        }))
      })
    )

    test(
      "what its first run works for is a session's parent, whoever writes to it after that",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* family
        yield* write("a's", [started({ seq: 3, runId: "run-2" }), answer({ seq: 4, runId: "run-2" })])
        yield* write("a", [begunFor("b", { seq: 3, runId: "run-2" })])
        assert.strictEqual((yield* store.info("a's"))?.parent, "a")
        assert.isUndefined((yield* store.info("a"))?.parent)
      })
    )

    test(
      "a fork has no parent: no agent began it",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* family
        assert.isFalse("parent" in (yield* store.fork("a's", { to: "copy" })))
        assert.isUndefined((yield* store.info("copy"))?.parent)
        assert.deepStrictEqual(yield* listed({ parents: ["a"] }), ["a's"])
        yield* write("copy", [started({ seq: 3, runId: "run-2" })])
        assert.isUndefined((yield* store.info("copy"))?.parent)
      })
    )

    test(
      "a parent that was removed is still shown",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* family
        yield* store.remove("a")
        assert.deepStrictEqual(yield* listed({ parents: ["a"] }), ["a's"])
        assert.strictEqual((yield* store.info("a's"))?.parent, "a")
      })
    )
  })
}
