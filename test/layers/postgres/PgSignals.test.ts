/** How often watchers of a session poll (seldom when notified of appends), and what is notified. */
import type * as PgConnection from "@effect/sql-pg/PgConnection"
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type * as SqlError from "effect/sql/SqlError"
import * as TestClock from "effect/testing/TestClock"
import * as PgSignals from "../../../src/layers/postgres/PgSignals.ts"

type Told = PgConnection.Notification

const make = ({ receive, send = () => Effect.void }: Partial<Parameters<typeof PgSignals.make>[0]>) =>
  PgSignals.make({ send, receive: receive ?? Effect.never, idleTimeout: "1 minute" })

/** Connections that receive, each until its scope is closed. */
const connections = () => {
  const counts = { made: 0, open: 0 }
  const receive = Effect.acquireRelease(
    Effect.andThen(Queue.unbounded<Told, SqlError.SqlError>(), (queue) => {
      counts.made++
      counts.open++
      return Effect.succeed(queue)
    }),
    () => Effect.sync(() => counts.open--)
  )
  return { counts, receive }
}

it.effect("without notifications, as behind a pooler, watchers poll four times a second", () =>
  Effect.gen(function*() {
    const signals = yield* make({})
    yield* signals.listen("s")
    yield* Effect.yieldNow
    assert.strictEqual(signals.pollEvery(), "250 millis")
  }))

it.effect("with notifications, watchers poll every two seconds and are woken by each", () =>
  Effect.gen(function*() {
    const queue = yield* Queue.unbounded<Told, SqlError.SqlError>()
    const signals = yield* make({ receive: Effect.succeed(queue) })
    const latch = yield* signals.listen("s")
    yield* Effect.yieldNow
    assert.strictEqual(signals.pollEvery(), "2 seconds")
    latch.closeUnsafe()
    yield* Queue.offer(queue, { processId: 1, channel: "fiberloop_sessions", payload: "s" })
    yield* latch.await
  }))

it.effect("the connection that receives is closed when nobody has watched for as long as an idle one is kept", () =>
  Effect.gen(function*() {
    const { counts, receive } = connections()
    const signals = yield* make({ receive })
    for (const made of [1, 2]) {
      yield* Effect.scoped(Effect.andThen(signals.listen("s"), Effect.yieldNow))
      yield* TestClock.adjust("59 seconds")
      assert.deepStrictEqual(counts, { made, open: 1 })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(counts, { made, open: 0 })
      assert.strictEqual(signals.pollEvery(), "250 millis")
    }
  }))

it.effect("watchers that leave and come back share one connection, as long as one of them watches", () =>
  Effect.gen(function*() {
    const { counts, receive } = connections()
    const signals = yield* make({ receive })
    for (let n = 0; n < 3; n++) {
      yield* Effect.scoped(signals.listen("s"))
      yield* TestClock.adjust("40 seconds")
    }
    yield* signals.listen("s")
    yield* Effect.scoped(signals.listen("t"))
    yield* TestClock.adjust("1 hour")
    assert.deepStrictEqual(counts, { made: 1, open: 1 })
  }))

it.effect("a connection that takes long to be given back does not hide that another one receives", () =>
  Effect.gen(function*() {
    const { counts, receive } = connections()
    const isClosed = yield* Deferred.make<void>()
    const closing = Effect.addFinalizer(() => Deferred.await(isClosed))
    const signals = yield* make({ receive: Effect.andThen(closing, receive) })
    yield* Effect.scoped(signals.listen("s"))
    yield* TestClock.adjust("61 seconds")
    yield* signals.listen("s")
    yield* TestClock.adjust("1 second")
    yield* Deferred.succeed(isClosed, undefined)
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(counts, { made: 2, open: 1 })
    assert.strictEqual(signals.pollEvery(), "2 seconds")
  }))

it.effect("the connection that receives keeps nothing of the request that watched first", () =>
  Effect.gen(function*() {
    class Request extends Context.Service<Request, string>()("test/Request") {}
    const seen = yield* Deferred.make<Option.Option<string>>()
    const receive = Effect.andThen(
      Effect.flatMap(Effect.serviceOption(Request), (request) => Deferred.succeed(seen, request)),
      Effect.never
    )
    const signals = yield* make({ receive })
    yield* Effect.provideService(signals.listen("s"), Request, "the first one")
    assert.deepStrictEqual(yield* Deferred.await(seen), Option.none())
  }))

it.effect("of sessions that changed together, only those whose id fits a notification are sent", () =>
  Effect.gen(function*() {
    const sent = yield* Deferred.make<ReadonlyArray<string>>()
    const send = (sessionIds: ReadonlyArray<string>) => Deferred.succeed(sent, sessionIds)
    const signals = yield* make({ send })
    for (const id of ["x".repeat(8_000), "s"]) signals.notify(id)
    assert.deepStrictEqual(yield* Deferred.await(sent), ["s"])
  }))

it.effect("what changed last is notified even if the store closes right after it", () =>
  Effect.gen(function*() {
    const sent: Array<string> = []
    const send = (sessionIds: ReadonlyArray<string>) => Effect.sync(() => sent.push(...sessionIds))
    const made = make({ send })
    yield* Effect.scoped(Effect.map(made, (signals) => signals.notify("s")))
    assert.deepStrictEqual(sent, ["s"])
  }))
