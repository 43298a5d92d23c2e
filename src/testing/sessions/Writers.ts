/** Who may write to a session in every session store; a part of `SessionStoreSuite`. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as SessionStore from "../../services/SessionStore.ts"
import { notice, notices, open, readAll, reasonOf, seqs, started, tagOf, write } from "./Fixtures.ts"
import { assert, describe, type Test } from "./TestRunner.ts"

export const writers = (name: string, test: Test): void => {
  describe(`${name}: one writer`, () => {
    test(
      "a second writer is refused, naming the run of the first",
      Effect.gen(function*() {
        const session = yield* open("s", { runId: "first" })
        yield* session.append([started({ seq: 1 })])
        const reason = yield* reasonOf(open("s", { runId: "second" }))
        assert.isTrue(reason._tag === "SessionBusy" && reason.runId === "first" && reason.sessionId === "s")
        assert.include(reason.message, "first")
      })
    )

    test(
      "a run cannot open its session twice, and its first writer continues",
      Effect.gen(function*() {
        const session = yield* open("s", { runId: "first" })
        assert.strictEqual(yield* tagOf(open("s", { runId: "first" })), "SessionBusy")
        yield* session.append([started({ seq: 1 })])
      })
    )

    test(
      "an interrupted opening leaves the session free",
      Effect.gen(function*() {
        for (let steps = 0; steps < 6; steps++) {
          const opening = Effect.scoped(Effect.andThen(open("s"), Effect.never))
          const fiber = yield* Effect.forkChild(opening, { startImmediately: true })
          for (let step = 0; step < steps; step++) yield* Effect.yieldNow
          yield* Fiber.interrupt(fiber)
          yield* Effect.scoped(open("s"))
        }
      })
    )

    test(
      "exactly one of many concurrent openers gets the session",
      Effect.gen(function*() {
        const tags = yield* Effect.forEach(
          Arr.range(1, 20),
          (n) =>
            Effect.match(open("s", { runId: `run-${n}` }), {
              onFailure: (_) => _.reason._tag,
              onSuccess: () => "open"
            }),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(tags.filter((tag) => tag === "open"), ["open"])
        assert.strictEqual(tags.filter((tag) => tag === "SessionBusy").length, 19)
      })
    )

    test(
      "a session whose writer left reopens where it ended",
      Effect.gen(function*() {
        yield* write("s", notices(1, 3))
        const session = yield* open("s", { create: false })
        assert.strictEqual(session.head(), 3)
        yield* session.append([notice({ seq: 4 })])
        assert.deepStrictEqual(seqs(yield* readAll("s")), [1, 2, 3, 4])
      })
    )

    test(
      "a writer whose session was taken over is stale and writes nothing",
      Effect.gen(function*() {
        const first = yield* open("s")
        yield* first.append([started({ seq: 1 })])
        const second = yield* open("s", { runId: "second", takeOver: true })
        assert.strictEqual(yield* tagOf(first.append([notice({ seq: 2 }, "stale")])), "StaleWriter")
        assert.deepStrictEqual(seqs(yield* readAll("s")), [1])
        yield* second.append([notice({ seq: 2 }, "fresh")])
        assert.strictEqual(yield* tagOf(first.append([notice({ seq: 3 }, "stale")])), "StaleWriter")
        assert.deepStrictEqual(yield* readAll("s"), [started({ seq: 1 }), notice({ seq: 2 }, "fresh")])
      })
    )

    test(
      "a writer whose session was taken over does not count the new writer's events",
      Effect.gen(function*() {
        const first = yield* open("s")
        yield* first.append([started({ seq: 1 })])
        const second = yield* open("s", { runId: "second", takeOver: true })
        assert.strictEqual(second.head(), 1)
        yield* second.append([notice({ seq: 2 }), notice({ seq: 3 })])
        assert.strictEqual(first.head(), 1)
        assert.strictEqual(yield* tagOf(first.append([notice({ seq: 2 }, "stale")])), "StaleWriter")
        assert.deepStrictEqual([first.head(), second.head()], [1, 3])
      })
    )

    test(
      "an append under way while its session is taken over is stored before that, or refused and never stored",
      Effect.gen(function*() {
        for (let steps = 0; steps < 6; steps++) {
          const id = `${steps}`
          const first = yield* open(id)
          yield* first.append([started({ seq: 1 })])
          const appending = yield* first.append([notice({ seq: 2 }, "first")]).pipe(
            Effect.match({ onFailure: ({ reason }) => reason._tag, onSuccess: () => "stored" }),
            Effect.forkChild({ startImmediately: true })
          )
          for (let step = 0; step < steps; step++) yield* Effect.yieldNow
          const second = yield* open(id, { runId: "second", takeOver: true })
          const found = second.head()
          assert.strictEqual(yield* Fiber.join(appending), found === 2 ? "stored" : "StaleWriter")
          yield* second.append([notice({ seq: found + 1 }, "second")])
          const texts = found === 2 ? ["first", "second"] : ["second"]
          assert.deepStrictEqual(yield* readAll(id), [
            started({ seq: 1 }),
            ...texts.map((text, i) => notice({ seq: 2 + i }, text))
          ])
        }
      })
    )

    test(
      "a writer whose session was taken over before its first write is stale",
      Effect.gen(function*() {
        const first = yield* open("s")
        yield* Effect.scoped(open("s", { takeOver: true }))
        assert.strictEqual(yield* tagOf(first.append([started({ seq: 1 })])), "StaleWriter")
        const second = yield* open("s", { takeOver: true })
        assert.strictEqual(yield* tagOf(first.append([started({ seq: 1 })])), "StaleWriter")
        yield* second.append([started({ seq: 1 }, "fresh")])
        assert.deepStrictEqual(yield* readAll("s"), [started({ seq: 1 }, "fresh")])
      })
    )

    test(
      "a stale writer that leaves does not release the session of the new one",
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        yield* Scope.provide(open("s"), scope)
        const second = yield* open("s", { runId: "second", takeOver: true })
        yield* Scope.close(scope, Exit.void)
        const reason = yield* reasonOf(open("s"))
        assert.isTrue(reason._tag === "SessionBusy" && reason.runId === "second")
        yield* second.append([started({ seq: 1 })])
      })
    )

    test(
      "a writer is stale once its scope has closed",
      Effect.gen(function*() {
        const session = yield* Effect.scoped(Effect.tap(open("s"), (_) => _.append([started({ seq: 1 })])))
        assert.strictEqual(yield* tagOf(session.append([notice({ seq: 2 })])), "StaleWriter")
        assert.deepStrictEqual(seqs(yield* readAll("s")), [1])
      })
    )

    test(
      "a stale writer stays stale when its session is removed and created again",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        const first = yield* open("s")
        yield* first.append([started({ seq: 1 })])
        yield* Effect.scoped(open("s", { takeOver: true }))
        yield* store.remove("s")
        const second = yield* open("s")
        yield* second.append([started({ seq: 1 })])
        assert.strictEqual(yield* tagOf(first.append([notice({ seq: 2 })])), "StaleWriter")
        assert.deepStrictEqual(seqs(yield* readAll("s")), [1])
      })
    )
  })
}
