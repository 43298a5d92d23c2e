/** How often watchers of a session poll (seldom when notified of appends), and what is notified. */
import type * as PgConnection from "@effect/sql-pg/PgConnection"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as SqlError from "effect/sql/SqlError"
import * as PgSignals from "../../../src/layers/postgres/PgSignals.ts"

type Told = PgConnection.Notification

it.effect("without notifications, as behind a pooler, watchers poll four times a second", () =>
  Effect.gen(function*() {
    const signals = yield* PgSignals.make({ send: () => Effect.void, receive: Effect.never })
    yield* signals.listen("s")
    yield* Effect.yieldNow
    assert.strictEqual(signals.pollEvery(), "250 millis")
  }))

it.effect("with notifications, watchers poll every two seconds and are woken by each", () =>
  Effect.gen(function*() {
    const queue = yield* Queue.unbounded<Told, SqlError.SqlError>()
    const signals = yield* PgSignals.make({ send: () => Effect.void, receive: Effect.succeed(queue) })
    const latch = yield* signals.listen("s")
    yield* Effect.yieldNow
    assert.strictEqual(signals.pollEvery(), "2 seconds")
    latch.closeUnsafe()
    yield* Queue.offer(queue, { processId: 1, channel: "fiberloop_sessions", payload: "s" })
    yield* latch.await
  }))

it.effect("of sessions that changed together, only those whose id fits a notification are sent", () =>
  Effect.gen(function*() {
    const sent = yield* Deferred.make<ReadonlyArray<string>>()
    const send = (sessionIds: ReadonlyArray<string>) => Deferred.succeed(sent, sessionIds)
    const signals = yield* PgSignals.make({ send, receive: Effect.never })
    for (const id of ["x".repeat(8_000), "s"]) signals.notify(id)
    assert.deepStrictEqual(yield* Deferred.await(sent), ["s"])
  }))

it.effect("what changed last is notified even if the store closes right after it", () =>
  Effect.gen(function*() {
    const sent: Array<string> = []
    const send = (sessionIds: ReadonlyArray<string>) => Effect.sync(() => sent.push(...sessionIds))
    const made = PgSignals.make({ send, receive: Effect.never })
    yield* Effect.scoped(Effect.map(made, (signals) => signals.notify("s")))
    assert.deepStrictEqual(sent, ["s"])
  }))
