/** What `list` shows of sessions whose ids begin alike, in every session store; a part of `SessionStoreSuite`. */
import * as Effect from "effect/Effect"
import * as SessionStore from "../../services/SessionStore.ts"
import { completed, open, started, write } from "./Fixtures.ts"
import { assert, describe, type Test } from "./TestRunner.ts"

const listed = (options: SessionStore.ListOptions) =>
  SessionStore.SessionStore.use((store) => store.list(options)).pipe(
    Effect.map((infos) => infos.map(({ sessionId }) => sessionId))
  )

/** Stores sessions with these ids, one after the other; of those with an odd place in the list the run has ended. */
const writeAll = Effect.fnUntraced(function*(...ids: ReadonlyArray<string>) {
  for (const [at, id] of ids.entries()) {
    const begin = started({ seq: 1, at })
    yield* write(id, at % 2 === 0 ? [begin] : [begin, completed({ seq: 2, at })])
  }
})

export const prefixes = (name: string, test: Test): void => {
  describe(`${name}: prefixes`, () => {
    test(
      "sessions are filtered by what their ids begin with",
      Effect.gen(function*() {
        yield* writeAll("acme", "acme/1", "acme/2", "acme0", "Acme/3", "ac", "x/acme/")
        assert.deepStrictEqual(yield* listed({ prefix: "acme/" }), ["acme/2", "acme/1"])
        assert.deepStrictEqual(yield* listed({ prefix: "acme" }), ["acme0", "acme/2", "acme/1", "acme"])
        assert.deepStrictEqual(yield* listed({ prefix: "acme/2" }), ["acme/2"])
        assert.deepStrictEqual(yield* listed({ prefix: "acme/20" }), [])
        assert.lengthOf(yield* listed({ prefix: "" }), 7)
      })
    )

    test(
      "a prefix is compared as it is, whatever it consists of",
      Effect.gen(function*() {
        const ids = [
          "%",
          "a_b",
          "a%",
          "é/1",
          "e\u0301/1",
          "\ud7ff1",
          "\ue0001",
          "🐟/1",
          "🐠/1",
          "\u{10ffff}/1",
          "\u{10ffff}"
        ]
        yield* writeAll(...ids)
        for (const prefix of ["%", "a_", "a%", "é", "e\u0301", "\ud7ff", "🐟", "\u{10ffff}", "\u{10ffff}/"]) {
          const expected = ids.filter((id) => id.startsWith(prefix)).reverse()
          assert.deepStrictEqual(yield* listed({ prefix }), expected, JSON.stringify(prefix))
        }
        // half of a fish
        for (const prefix of ["\ud83d", "a\0", "a\ud800"]) assert.deepStrictEqual(yield* listed({ prefix }), [])
      })
    )

    test(
      "the filter goes with the others, and with pages",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* writeAll("a/1", "a/2", "b/1", "b/2", "a/3")
        assert.deepStrictEqual(yield* listed({ prefix: "a/", ends: ["RunCompleted"] }), ["a/2"])
        assert.deepStrictEqual(yield* listed({ prefix: "a/", ends: [undefined, "RunCompleted"] }), [
          "a/3",
          "a/2",
          "a/1"
        ])
        assert.deepStrictEqual(yield* listed({ prefix: "a/", parents: ["a/1"] }), [])
        const [first] = yield* store.list({ prefix: "a/", limit: 1 })
        assert.deepStrictEqual(yield* listed({ prefix: "a/", limit: 1, after: first }), ["a/2"])
        yield* Effect.scoped(Effect.gen(function*() {
          yield* open("a/2")
          assert.deepStrictEqual(yield* listed({ prefix: "a/", unowned: true }), ["a/3", "a/1"])
        }))
      })
    )
  })
}
