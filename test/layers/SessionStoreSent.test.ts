/** Inputs that one process sends to a run of another through their shared database: here two stores on it. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { DatabaseSync } from "node:sqlite"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import * as Message from "../../src/run/Message.ts"
import type * as SessionStore from "../../src/services/SessionStore.ts"
import { started } from "../../src/testing/sessions/Fixtures.ts"
import { startedProcess } from "../support/Processes.ts"
import { sqlOn } from "../support/SqliteStores.ts"
import * as TwoStores from "../support/TwoStores.ts"

const input = (id: string, text: string = id): SessionStore.SentInput => ({
  _tag: "Input",
  id,
  after: 1,
  kind: "followUp",
  messages: [Message.user(text), Message.user([{ type: "text", text: "\0 🐟 \ud800" }])]
})

/** Opens a session and writes to it; `heard` has what it is sent. */
const writer = Effect.fnUntraced(function*(
  store: TwoStores.Store,
  { sessionId = "s", ...options }: Partial<SessionStore.OpenOptions> & { readonly sessionId?: string } = {}
) {
  const heard: Array<SessionStore.Sent> = []
  const first = Deferred.makeUnsafe<void>()
  const onSent = (sent: SessionStore.Sent) =>
    Effect.sync(() => {
      heard.push(sent)
      Deferred.doneUnsafe(first, Effect.void)
    })
  const session = yield* store.open(sessionId, { runId: "run-1", create: true, onSent, ...options })
  if (session.head() === 0) yield* session.append([started({ seq: 1 })])
  return { heard, first: Deferred.await(first) }
})

describe.each(Object.entries(TwoStores.byEngine))("%s: an input sent to a run", (_, made) => {
  it.live("reaches the session's owner as it was sent, not its previous one", () =>
    Effect.gen(function*() {
      const [here, there] = yield* made
      const before = yield* writer(there)
      const now = yield* writer(there, { runId: "run-2", takeOver: true })
      const large = input("a", "x".repeat(1_000_000))
      assert.isTrue(yield* here.send!("s", "run-2", large))
      yield* now.first
      assert.deepStrictEqual([before.heard, now.heard], [[], [large]])
    }))
})

describe("SQLite: an input sent to a run", () => {
  const waitingIn = (file: string) => sqlOn(file, (db) => db.prepare("SELECT id FROM fiberloop_sent").all())

  it.effect("is heard within a second, in order, and is then gone from the database", () =>
    Effect.gen(function*() {
      const file = yield* TwoStores.newFile
      const [here, there] = yield* TwoStores.onFile(file)
      const { heard } = yield* writer(there)
      for (const id of ["b", "a"]) {
        yield* here.send!("s", "run-1", input(id))
        yield* TestClock.adjust("10 millis")
      }
      assert.deepStrictEqual([heard.length, waitingIn(file).length], [0, 2])
      yield* TwoStores.looked
      assert.deepStrictEqual(heard, [input("b"), input("a")])
      assert.lengthOf(waitingIn(file), 0)
      yield* TwoStores.looked
      assert.lengthOf(heard, 2)
    }))

  it.effect("has its id in its session: another session may have the same", () =>
    Effect.gen(function*() {
      const [here, there] = yield* TwoStores.made
      const [s, t] = [yield* writer(there), yield* writer(there, { sessionId: "t" })]
      yield* here.send!("s", "run-1", input("a", "to s"))
      yield* here.send!("t", "run-1", input("a", "to t"))
      yield* TwoStores.looked
      assert.deepStrictEqual([s.heard, t.heard], [[input("a", "to s")], [input("a", "to t")]])
    }))

  it.effect("that was sent to an owner before goes to the owner now when it is sent again, once", () =>
    Effect.gen(function*() {
      const [here, there] = yield* TwoStores.made
      yield* Effect.scoped(Effect.andThen(writer(there), here.send!("s", "run-1", input("a"))))
      const { heard } = yield* writer(there)
      yield* TwoStores.looked
      assert.lengthOf(heard, 0)
      yield* here.send!("s", "run-1", input("a"))
      yield* here.send!("s", "run-1", input("a"))
      yield* TwoStores.looked
      assert.deepStrictEqual(heard, [input("a")])
    }))

  it.effect("is still heard after a look that failed", () =>
    Effect.gen(function*() {
      const file = yield* TwoStores.newFile
      const [here, there] = yield* TwoStores.onFile(file)
      const { heard } = yield* writer(there)
      yield* here.send!("s", "run-1", input("a"))
      const db = new DatabaseSync(file)
      yield* Effect.addFinalizer(() => Effect.sync(() => db.close()))
      db.exec("ALTER TABLE fiberloop_sent RENAME TO away")
      yield* TwoStores.looked
      assert.deepStrictEqual(heard, [])
      db.exec("ALTER TABLE away RENAME TO fiberloop_sent")
      yield* TwoStores.looked
      assert.deepStrictEqual(heard, [input("a")])
    }))

  it.effect("that this version cannot read is passed over, and is then gone from the database", () =>
    Effect.gen(function*() {
      const file = yield* TwoStores.newFile
      const [here, there] = yield* TwoStores.onFile(file)
      const { heard } = yield* writer(there)
      yield* here.send!("s", "run-1", input("a"))
      sqlOn(file, (db) => db.exec("UPDATE fiberloop_sent SET body = '{}'"))
      yield* here.send!("s", "run-1", input("b"))
      yield* TwoStores.looked
      assert.deepStrictEqual(heard, [input("b")])
      assert.lengthOf(waitingIn(file), 0)
    }))

  it.effect("that nobody took is deleted after some minutes, and with its session at once", () =>
    Effect.gen(function*() {
      const file = yield* TwoStores.newFile
      const [here, there] = yield* TwoStores.onFile(file)
      for (const sessionId of ["left", "removed"]) {
        yield* Effect.scoped(
          Effect.andThen(writer(there, { sessionId }), here.send!(sessionId, "run-1", input(sessionId)))
        )
      }
      yield* there.remove("removed")
      assert.deepStrictEqual(waitingIn(file).map(({ id }) => id), ["left"])
      yield* writer(there)
      yield* TestClock.adjust("9 minutes")
      assert.lengthOf(waitingIn(file), 1)
      yield* TestClock.adjust("2 minutes")
      assert.lengthOf(waitingIn(file), 0)
    }))

  it.live("is SessionBusy while the process that owns the session does not listen, and reaches nobody once it is killed", () =>
    Effect.gen(function*() {
      const file = yield* TwoStores.newFile
      const child = yield* startedProcess(file)
      // as a version that knows of aborts only
      yield* child.ask({ do: "open", sessionId: "s", runId: "run-1", listens: true })
      yield* child.ask({ do: "append", count: 1 })
      const store = yield* SessionStoreSqlite.make({ filename: file })
      const { reason } = yield* Effect.flip(store.send!("s", "run-1", input("a")))
      assert.deepInclude(reason, { _tag: "SessionBusy", runId: "run-1" })
      yield* child.kill
      assert.isFalse(yield* store.send!("s", "run-1", input("a")))
      assert.lengthOf(waitingIn(file), 0)
    }))
})
