/** What `watch` emits in every session store; a part of `SessionStoreSuite`. */
import * as Arr from "effect/Array"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as RunEvent from "../../run/RunEvent.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import { type Durable, idle, notice, notices, open, readAll, seqs, started, tagOf, write } from "./Fixtures.ts"
import { assert, describe, type Test } from "./TestRunner.ts"

export const watching = (name: string, test: Test): void => {
  describe(`${name}: watch`, () => {
    test(
      "replays the log, then delivers what is appended",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const session = yield* open("s")
        yield* session.append(notices(1, 3))
        const replayed = yield* Deferred.make<void>()
        const fiber = yield* store.watch("s").pipe(
          Stream.tap((event) => event.seq === 3 ? Deferred.succeed(replayed, undefined) : Effect.void),
          Stream.take(6),
          Stream.runCollect,
          Effect.forkChild
        )
        yield* Deferred.await(replayed)
        yield* idle
        yield* session.append(notices(4, 5))
        yield* idle
        yield* session.append(notices(6, 6))
        assert.deepStrictEqual(yield* Fiber.join(fiber), notices(1, 6))
      })
    )

    test(
      "delivers each event once and in order while others are appended",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const session = yield* open("s")
        yield* session.append(notices(1, 10))
        const watchers: Array<Fiber.Fiber<Array<Durable>, SessionStore.StoreError>> = []
        for (let from = 11, size = 1; from <= 300; from += size, size = size % 9 + 1) {
          if (watchers.length < 8) {
            watchers.push(yield* Effect.forkChild(Stream.runCollect(Stream.take(store.watch("s"), 300))))
          }
          yield* session.append(notices(from, Math.min(300, from + size - 1)))
          yield* Effect.yieldNow
        }
        for (const watcher of watchers) assert.deepStrictEqual(seqs(yield* Fiber.join(watcher)), Arr.range(1, 300))
      })
    )

    test(
      "starts at the given seq, even beyond the end",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const session = yield* open("s")
        yield* session.append(notices(1, 3))
        assert.deepStrictEqual(seqs(yield* Stream.runCollect(Stream.take(store.watch("s", 2), 2))), [2, 3])
        const fiber = yield* Effect.forkChild(Stream.runCollect(Stream.take(store.watch("s", 6), 2)))
        yield* idle
        yield* session.append(notices(4, 5))
        yield* idle
        yield* session.append(notices(6, 8))
        assert.deepStrictEqual(seqs(yield* Fiber.join(fiber)), [6, 7])
      })
    )

    for (const [from, expected] of [[-2, [1, 2]], [1.5, [2, 3]], [NaN, [1, 2]]] as const) {
      test(
        `starts at the first event from ${from} on`,
        Effect.gen(function*() {
          const store = yield* SessionStore.SessionStore
          yield* write("s", notices(1, 3))
          assert.deepStrictEqual(seqs(yield* Stream.runCollect(Stream.take(store.watch("s", from), 2))), [...expected])
        })
      )
    }

    test(
      "waits for a session that does not exist yet",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const fiber = yield* Effect.forkChild(Stream.runCollect(Stream.take(store.watch("s"), 1)))
        yield* idle
        yield* write("s", [started({ seq: 1 })])
        assert.deepStrictEqual(seqs(yield* Fiber.join(fiber)), [1])
      })
    )

    test(
      "continues across a change of writers",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const fiber = yield* Effect.forkChild(Stream.runCollect(Stream.take(store.watch("s"), 3)))
        for (const seq of [1, 2, 3]) {
          yield* idle
          yield* write("s", [notice({ seq })])
        }
        assert.deepStrictEqual(seqs(yield* Fiber.join(fiber)), [1, 2, 3])
      })
    )

    test(
      "fails when the session is removed",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const seen = yield* Deferred.make<void>()
        yield* write("s", [started({ seq: 1 })])
        const fiber = yield* store.watch("s").pipe(
          Stream.tap(() => Deferred.succeed(seen, undefined)),
          Stream.runDrain,
          Effect.forkChild
        )
        yield* Deferred.await(seen)
        yield* idle
        yield* store.remove("s")
        assert.strictEqual(yield* tagOf(Fiber.join(fiber)), "SessionNotFound")
      })
    )

    test(
      "fails when the session is removed, and emits nothing of another that has its id by then",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const [seen, another] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        yield* write("s", [started({ seq: 1 })])
        const fiber = yield* store.watch("s").pipe(
          Stream.tap(() => Effect.andThen(Deferred.succeed(seen, undefined), Deferred.await(another))),
          Stream.take(2),
          Stream.runCollect,
          Effect.forkChild
        )
        yield* Deferred.await(seen)
        yield* store.remove("s")
        yield* write("s", notices(1, 2))
        yield* Deferred.succeed(another, undefined)
        assert.strictEqual(yield* tagOf(Fiber.join(fiber)), "SessionNotFound")
      })
    )

    test(
      "ends when interrupted, and the session continues",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const session = yield* open("s")
        const seen = yield* Deferred.make<void>()
        const fiber = yield* store.watch("s").pipe(
          Stream.tap(() => Deferred.succeed(seen, undefined)),
          Stream.runDrain,
          Effect.forkChild
        )
        yield* session.append([started({ seq: 1 })])
        yield* Deferred.await(seen)
        yield* Fiber.interrupt(fiber)
        yield* session.append([notice({ seq: 2 })])
        assert.deepStrictEqual(seqs(yield* readAll("s")), [1, 2])
      })
    )

    test(
      "fails at an event of a newer version",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* write("s", [{ ...notice({ seq: 1 }), version: RunEvent.version + 1 }])
        assert.strictEqual(yield* tagOf(Stream.runDrain(store.watch("s"))), "StoreRefused")
      })
    )
  })
}
