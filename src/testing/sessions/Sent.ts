/** Who is told what is said to a run, in every session store that passes that on; a part of `SessionStoreSuite`. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Message from "../../run/Message.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import { notice, open, started, tagOf, write } from "./Fixtures.ts"
import { assert, describe, type Test } from "./TestRunner.ts"

const input = (id: string): SessionStore.SentInput => ({
  _tag: "Input",
  id,
  after: 1,
  kind: "steer",
  messages: [Message.user(`this is ${id}: \u0000, \ud83d\udc1f, "quoted"`)]
})

/** Sends, and returns whether somebody was told, or the tag of the error; `otherwise` in a store that passes nothing on. */
const send = <A>(sessionId: string, runId: string, sent: SessionStore.Sent, otherwise: A) =>
  Effect.gen(function*() {
    const store = yield* SessionStore.SessionStore
    if (store.send === undefined) return otherwise
    return yield* Effect.catch(store.send(sessionId, runId, sent), ({ reason }) => Effect.succeed(reason._tag))
  })

const answer = (id: string): SessionStore.SentAnswer => ({
  _tag: "Answer",
  id,
  after: 1,
  decision: { sessionId: "s", approvalId: "run-1/1.0", approved: true, by: "ann", params: { n: [1, null] } }
})

const isKnown = Effect.map(SessionStore.SessionStore, (store) => store.send !== undefined)

/** A writer that listens, and what it was sent. */
const listening = Effect.fnUntraced(function*(options: Partial<SessionStore.OpenOptions> = {}, sessionId = "s") {
  const heard: Array<SessionStore.Sent> = []
  const session = yield* open(sessionId, {
    ...options,
    onSent: (sent) => Effect.sync(() => void heard.push(sent))
  })
  if (session.head() === 0) yield* session.append([started({ seq: 1 })])
  return { session, heard }
})

export const sent = (name: string, test: Test): void => {
  describe(`${name}: what is sent to a run`, () => {
    test(
      "reaches the owner that holds the session for that run, as they were sent",
      Effect.gen(function*() {
        const { heard } = yield* listening()
        const other = yield* listening({}, "other")
        const told = [yield* send("s", "run-1", input("a"), true), yield* send("s", "run-1", answer("b"), true)]
        assert.deepStrictEqual(told, [true, true])
        assert.deepStrictEqual(heard, (yield* isKnown) ? [input("a"), answer("b")] : [])
        assert.deepStrictEqual(other.heard, [])
      })
    )

    test(
      "is refused where the session is held for another run, or by a writer that does not listen",
      Effect.gen(function*() {
        yield* write("deaf", [started({ seq: 1 })])
        yield* open("deaf")
        const { heard } = yield* listening()
        const told = [
          yield* send("s", "run-2", input("a"), "SessionBusy"),
          yield* send("deaf", "run-1", input("a"), "SessionBusy")
        ]
        assert.deepStrictEqual(told, ["SessionBusy", "SessionBusy"])
        assert.deepStrictEqual(heard, [])
      })
    )

    test(
      "reaches nobody when no one holds the session",
      Effect.gen(function*() {
        yield* Effect.scoped(listening())
        assert.deepStrictEqual(
          [yield* send("s", "run-1", input("a"), false), yield* send("nowhere", "run-1", input("a"), false)],
          [false, false]
        )
      })
    )

    test(
      "is for the owner alone: not for one that has left or lost the session, nor for whoever comes after",
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        const left = yield* Scope.provide(listening(), scope)
        yield* send("s", "run-1", input("a"), true)
        yield* Scope.close(scope, Exit.void)
        const lost = yield* listening()
        const now = yield* listening({ takeOver: true })
        yield* send("s", "run-1", input("b"), true)
        const ids = [left, lost, now].map(({ heard }) => heard.map(({ id }) => id))
        assert.deepStrictEqual(ids, (yield* isKnown) ? [["a"], [], ["b"]] : [[], [], []])
      })
    )

    test(
      "is not waited for, neither by who sends it nor by its writer",
      Effect.scoped(Effect.gen(function*() {
        const session = yield* open("s", { onSent: () => Effect.never })
        yield* session.append([started({ seq: 1 })])
        assert.isTrue(yield* send("s", "run-1", input("a"), true))
        yield* session.append([notice({ seq: 2 })])
      }))
    )

    test(
      "may be sent again, with the same id",
      Effect.gen(function*() {
        const { heard } = yield* listening()
        for (const _ of [1, 2]) assert.isTrue(yield* send("s", "run-1", input("a"), true))
        // once or twice: whoever listens tells them apart by the id
        const ids = new Set(heard.map(({ id }) => id))
        assert.deepStrictEqual([...ids], (yield* isKnown) ? ["a"] : [])
      })
    )

    test(
      "goes to no id that the store cannot keep",
      Effect.gen(function*() {
        if (!(yield* isKnown)) return
        const store = yield* SessionStore.SessionStore
        assert.strictEqual(yield* tagOf(store.send!("a\ud800", "run-1", input("a"))), "StoreRefused")
      })
    )
  })
}
