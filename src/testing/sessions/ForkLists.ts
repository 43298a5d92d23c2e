/** What lists show of forks in every session store; a part of `SessionStoreSuite`. */
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import * as SessionStore from "../../services/SessionStore.ts"
import { completed, readAll, started, write } from "./Fixtures.ts"
import { conversation, fork, infoOf, refusalOf } from "./Forking.ts"
import { assert, describe, type Test } from "./TestRunner.ts"

export const forkLists = (name: string, test: Test): void => {
  describe(`${name}: fork, in lists`, () => {
    test(
      "the copy has its own counters, and the session keeps its own",
      Effect.gen(function*() {
        yield* write("s", conversation)
        const before = yield* infoOf("s")
        yield* TestClock.adjust("1 minute")
        const info = yield* fork("s", "copy", 6)
        assert.deepStrictEqual(info, {
          sessionId: "copy",
          title: "What is the weather?",
          createdAt: 60_000,
          updatedAt: 60_000,
          head: 7,
          turns: 1,
          end: "RunAborted"
        })
        assert.deepStrictEqual(yield* infoOf("copy"), info)
        assert.deepStrictEqual(yield* infoOf("s"), before)
      })
    )

    test(
      "times are whole milliseconds, also by a clock that tells parts of them",
      Effect.gen(function*() {
        yield* write("s", conversation)
        yield* TestClock.adjust(1.5)
        const { createdAt, updatedAt } = yield* fork("s", "copy", 6)
        const [end] = yield* readAll("copy", { from: 7 })
        assert.deepStrictEqual([createdAt, updatedAt, end?.at], [1, 1, 1])
        assert.strictEqual((yield* infoOf("copy"))?.createdAt, 1)
      })
    )

    test(
      "a copy that ends with a run's end shows that end",
      Effect.gen(function*() {
        yield* write("s", conversation)
        const info = yield* fork("s", "copy")
        assert.deepStrictEqual([info.head, info.turns, info.end], [10, 2, "RunCompleted"])
        assert.deepStrictEqual(yield* infoOf("copy"), info)
      })
    )

    test(
      "the copy comes first, as the last one changed",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* write("s", conversation)
        yield* write("other", [started({ seq: 1, at: 30_000 })])
        yield* TestClock.adjust("1 minute")
        const info = yield* fork("s", "copy")
        const infos = yield* store.list()
        assert.deepStrictEqual(infos.map(({ sessionId }) => sessionId), ["copy", "other", "s"])
        assert.deepStrictEqual(infos[0], info)
      })
    )

    test(
      "the title is taken from the first words of the copy",
      Effect.gen(function*() {
        yield* write("s", [
          started({ seq: 1 }, " "),
          completed({ seq: 2 }),
          started({ seq: 3 }, ""),
          completed({ seq: 4 }),
          started({ seq: 5 }, "words"),
          completed({ seq: 6 })
        ])
        const titles = yield* Effect.forEach([2, 4, 6], (at) => fork("s", `copy ${at}`, at))
        assert.deepStrictEqual(titles.map(({ title }) => title), ["", "", "words"])
      })
    )

    test(
      "a refused fork leaves nothing",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* write("s", conversation)
        yield* refusalOf(fork("s", "copy", 1))
        yield* refusalOf(fork("s", "s"))
        assert.deepStrictEqual((yield* store.list()).map(({ sessionId }) => sessionId), ["s"])
      })
    )
  })
}
