/** Who may write to a session when several stores share a file, and for how long. */
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as OwnerLiveness from "../../src/layers/OwnerLiveness.ts"
import { notice } from "../../src/testing/sessions/Fixtures.ts"
import { database, make, options, reasonOf, sqlOn } from "../support/SqliteStores.ts"

describe("a lease", () => {
  /** Two stores on one file, in one process: neither knows what the other holds. */
  const pair = Effect.fnUntraced(function*(liveness: Partial<OwnerLiveness.Liveness> = {}, given?: string) {
    const file = given ?? (yield* database).file
    const all = { ...(yield* OwnerLiveness.OwnerLiveness), ...liveness }
    const store = Effect.provideService(make(file), OwnerLiveness.OwnerLiveness, all)
    return [yield* store, yield* store] as const
  })

  it.effect("is renewed for as long as the session is open", () =>
    Effect.gen(function*() {
      const [one, two] = yield* pair()
      yield* one.open("s", { ...options, runId: "first" })
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* reasonOf(two.open("s", options)))._tag, "SessionBusy")
    }))

  it.effect("outlives two renewals that fail, and goes on with the third", () =>
    Effect.gen(function*() {
      const { file } = yield* database
      const [one, two] = yield* pair({}, file)
      yield* one.open("s", options)
      sqlOn(file, (db) =>
        db.exec(
          `CREATE TRIGGER trap BEFORE UPDATE OF lease ON fiberloop_sessions BEGIN SELECT RAISE(ABORT, 'no'); END`
        ))
      yield* TestClock.adjust("29 seconds")
      assert.strictEqual((yield* reasonOf(two.open("s", options)))._tag, "SessionBusy")
      sqlOn(file, (db) => db.exec("DROP TRIGGER trap"))
      yield* TestClock.adjust("25 seconds")
      assert.strictEqual((yield* reasonOf(two.open("s", options)))._tag, "SessionBusy")
    }))

  it.effect("that is over lets another writer in, and the late one is stale", () =>
    Effect.gen(function*() {
      const [one, two] = yield* pair({ renewEvery: Duration.days(1) })
      const late = yield* one.open("s", options)
      yield* TestClock.adjust("29 seconds")
      assert.strictEqual((yield* reasonOf(two.open("s", options)))._tag, "SessionBusy")
      yield* TestClock.adjust("2 seconds")
      const session = yield* two.open("s", options)
      assert.strictEqual((yield* reasonOf(late.append([notice({ seq: 4 }, "late")])))._tag, "StaleWriter")
      yield* session.append([notice({ seq: 4 })])
      assert.deepStrictEqual(yield* Stream.runCollect(two.read("s", { from: 4 })), [notice({ seq: 4 })])
    }))

  it.effect("that is over does not end a writer for its own store", () =>
    Effect.gen(function*() {
      const [one] = yield* pair({ renewEvery: Duration.days(1) })
      const session = yield* one.open("s", options)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* reasonOf(one.open("s", options)))._tag, "SessionBusy")
      yield* session.append([notice({ seq: 4 })])
    }))

  it.effect("ends at once when its owner is dead", () =>
    Effect.gen(function*() {
      const [one, two] = yield* pair({ isDead: (owner) => owner.runId === "dead" })
      yield* one.open("s", { ...options, runId: "dead" })
      yield* two.open("s", options)
    }))

  it.effect("goes to the faster opener", () =>
    Effect.gen(function*() {
      const { file } = yield* database
      const liveness = yield* OwnerLiveness.OwnerLiveness
      const owner = (runId: string) => JSON.stringify(OwnerLiveness.self(runId))
      const take = (runId: string) =>
        sqlOn(file, (db) =>
          db.prepare("UPDATE fiberloop_sessions SET epoch = epoch + 1, owner = ?, lease = 99999").run(owner(runId)))
      take("dead")
      // Called between the look at the owner and the claim.
      const isDead = ({ runId }: OwnerLiveness.Owner) => {
        if (runId === "dead") {
          take("faster")
        }
        return runId === "dead"
      }
      const store = yield* Effect.provideService(make(file), OwnerLiveness.OwnerLiveness, { ...liveness, isDead })
      const reason = yield* reasonOf(store.open("s", options))
      assert.strictEqual(reason._tag, "SessionBusy")
      assert.include(reason.message, "faster")
    }))

  it.effect("with an unreadable owner does not lock a session", () =>
    Effect.gen(function*() {
      const { file } = yield* database
      sqlOn(file, (db) => db.exec("UPDATE fiberloop_sessions SET owner = '{', lease = 99999"))
      assert.strictEqual((yield* (yield* make(file)).open("s", options)).head(), 3)
    }))

  it.effect("is given back when the session closes", () =>
    Effect.gen(function*() {
      const [one, two] = yield* pair()
      yield* Effect.scoped(one.open("s", options))
      yield* two.open("s", options)
    }))

  it.effect("keeps a session from being removed", () =>
    Effect.gen(function*() {
      const [one, two] = yield* pair()
      const scope = yield* Scope.make()
      yield* Scope.provide(one.open("s", options), scope)
      assert.strictEqual((yield* reasonOf(two.remove("s")))._tag, "SessionBusy")
      yield* Scope.close(scope, Exit.void)
      yield* two.remove("s")
      assert.isUndefined(yield* one.info("s"))
    }))
})
