/** Who hears a request to abort a run, in every session store that supports it; a part of `SessionStoreSuite`. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as SessionStore from "../../services/SessionStore.ts"
import { aborted, completed, notice, open, started, write } from "./Fixtures.ts"
import { assert, describe, type Test } from "./TestRunner.ts"

/** Asks, and returns whether anybody can be asked; nobody can in a store that does not support it. */
const ask = (sessionId: string, runId: string) =>
  Effect.flatMap(
    SessionStore.SessionStore,
    (store) => store.askToAbort === undefined ? Effect.undefined : store.askToAbort(sessionId, runId)
  )

/** A writer that listens, and the runs that it was asked to abort. */
const listening = Effect.fnUntraced(function*(options: Partial<SessionStore.OpenOptions> = {}, sessionId = "s") {
  const heard: Array<string> = []
  const { runId = "run-1" } = options
  const session = yield* open(sessionId, { ...options, onAbortAsked: Effect.sync(() => void heard.push(runId)) })
  return { session, heard }
})

/** What a writer hears that leaves again. */
const passing = (options?: Partial<SessionStore.OpenOptions>, sessionId?: string) =>
  Effect.scoped(Effect.map(listening(options, sessionId), ({ heard }) => heard))

/** Asks to abort "run-1", whose writer leaves before it has ended; returns whether the store can. */
const left = Effect.scoped(Effect.gen(function*() {
  const { session } = yield* listening()
  yield* session.append([started({ seq: 1 })])
  return (yield* ask("s", "run-1")) !== undefined
}))

export const abortsAsked = (name: string, test: Test): void => {
  describe(`${name}: requested aborts`, () => {
    test(
      "reach the owner that holds the session for that run, once per request",
      Effect.gen(function*() {
        const { heard, session } = yield* listening()
        yield* session.append([started({ seq: 1 })])
        const told = [yield* ask("s", "run-1"), yield* ask("s", "run-2"), yield* ask("s", "run-1")]
        const isKnown = told[0] !== undefined
        assert.deepStrictEqual(told, isKnown ? [true, false, true] : [undefined, undefined, undefined])
        assert.deepStrictEqual(heard, isKnown ? ["run-1", "run-1"] : [])
      })
    )

    test(
      "reach nobody when no one holds the session or its writer does not listen",
      Effect.gen(function*() {
        const isKnown = (yield* ask("nowhere", "run-1")) !== undefined
        yield* Effect.scoped(Effect.flatMap(listening(), ({ session }) => session.append([started({ seq: 1 })])))
        const told = [yield* ask("s", "run-1")]
        yield* open("s")
        told.push(yield* ask("s", "run-1"))
        assert.deepStrictEqual(told, isKnown ? [false, false] : [undefined, undefined])
      })
    )

    test(
      "no longer reach an owner that has left or lost the session",
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        const left = yield* Scope.provide(listening(), scope)
        yield* left.session.append([started({ seq: 1 })])
        yield* Scope.close(scope, Exit.void)
        const lost = yield* listening()
        const now = yield* listening({ runId: "run-2", takeOver: true })
        const told = [yield* ask("s", "run-1"), yield* ask("s", "run-2")]
        const isKnown = told[0] !== undefined
        assert.deepStrictEqual(told, isKnown ? [false, true] : [undefined, undefined])
        assert.deepStrictEqual([left.heard, lost.heard, now.heard], [[], [], isKnown ? ["run-2"] : []])
      })
    )

    test(
      "reach whoever opens the session for that run after an owner that did not carry them out, each time",
      Effect.gen(function*() {
        const isKnown = yield* left
        assert.deepStrictEqual(yield* passing({ runId: "run-2" }), [])
        // neither does one that does not listen take them away
        yield* write("s", [notice({ seq: 2 })])
        yield* Effect.scoped(
          Effect.flatMap(open("s", { isAfterAborts: true }), (session) => session.append([notice({ seq: 3 })]))
        )
        for (const _ of [1, 2]) assert.deepStrictEqual(yield* passing(), isKnown ? ["run-1"] : [])
      })
    )

    test(
      "do not reach an owner that comes after them, nor anybody after that once it has written",
      Effect.gen(function*() {
        const isKnown = yield* left
        assert.deepStrictEqual(yield* passing({ isAfterAborts: true }), [])
        assert.deepStrictEqual(yield* passing(), isKnown ? ["run-1"] : [])
        yield* Effect.scoped(Effect.gen(function*() {
          const { heard, session } = yield* listening({ isAfterAborts: true })
          assert.deepStrictEqual(heard, [])
          yield* session.append([notice({ seq: 2 })])
        }))
        assert.deepStrictEqual(yield* passing(), [])
      })
    )

    test(
      "no longer reach anybody once their run has completed",
      Effect.gen(function*() {
        yield* left
        yield* write("s", [completed({ seq: 2 })])
        assert.deepStrictEqual(yield* passing(), [])
      })
    )

    test(
      "are dropped for all runs by an owner that comes after them and has written",
      Effect.gen(function*() {
        yield* left
        yield* Effect.scoped(Effect.gen(function*() {
          const { session } = yield* listening({ runId: "run-2", isAfterAborts: true })
          yield* session.append([started({ seq: 2, runId: "run-2" })])
        }))
        assert.deepStrictEqual(yield* passing(), [])
      })
    )

    test(
      "do not reach anybody after an owner that comes after them and was interrupted while it wrote",
      Effect.gen(function*() {
        yield* left
        yield* Effect.scoped(Effect.gen(function*() {
          const { session } = yield* listening({ isAfterAborts: true })
          const writing = yield* Effect.forkChild(session.append([notice({ seq: 2 })]), { startImmediately: true })
          yield* Fiber.interrupt(writing)
          assert.strictEqual(session.head(), 2)
        }))
        assert.deepStrictEqual(yield* passing(), [])
      })
    )

    test(
      "reach an owner that comes after others, and whoever comes after it",
      Effect.gen(function*() {
        const isKnown = yield* left
        yield* Effect.scoped(Effect.gen(function*() {
          const { heard, session } = yield* listening({ isAfterAborts: true })
          yield* ask("s", "run-1")
          assert.deepStrictEqual(heard, isKnown ? ["run-1"] : [])
          yield* session.append([notice({ seq: 2 })])
        }))
        assert.deepStrictEqual(yield* passing(), isKnown ? ["run-1"] : [])
      })
    )

    test(
      "are not waited for, neither by who asks nor by who opens the session",
      Effect.gen(function*() {
        const isKnown = yield* left
        yield* Effect.scoped(Effect.gen(function*() {
          yield* open("s", { onAbortAsked: Effect.never })
          assert.strictEqual(yield* ask("s", "run-1"), isKnown ? true : undefined)
        }))
      })
    )

    test(
      "are about one session: not about a copy of it, nor about one that gets its id later",
      Effect.gen(function*() {
        yield* left
        const store = yield* SessionStore.SessionStore
        yield* write("s", [aborted({ seq: 2 }, "crashed")])
        yield* store.fork("s", { to: "copy" })
        assert.deepStrictEqual(yield* passing({}, "copy"), [])
        yield* store.remove("s")
        yield* write("s", [started({ seq: 1 })])
        assert.deepStrictEqual(yield* passing(), [])
      })
    )
  })
}
