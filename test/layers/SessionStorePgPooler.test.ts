/** Sessions in a real Postgres behind a pooler that lends connections per transaction. */
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as SessionStorePg from "../../src/layers/SessionStorePg.ts"
import { completed, notice, notices, started } from "../../src/testing/sessions/Fixtures.ts"
import * as PgDatabases from "../support/PgDatabases.ts"
import * as TransactionPooler from "./TransactionPooler.ts"

const options = { runId: "run-1", create: true }

const through = Effect.fnUntraced(function*(url: string) {
  const pooled = new URL(url)
  pooled.port = String((yield* TransactionPooler.make(Number(pooled.port))).port)
  return pooled.href
})

const ways: ReadonlyArray<readonly [string, (url: string) => SessionStorePg.Options]> = [
  ["by the option", (url) => ({ url, pooled: true })],
  ["by the URL, as given for databases behind PgBouncer", (url) => ({ url: `${url}?pgbouncer=true` })]
]

it.live.each(ways)(
  "sessions are written, read, copied and removed, with pooling set %s",
  ([, asked]) =>
    Effect.gen(function*() {
      const url = yield* Effect.flatMap(PgDatabases.database, through)
      const store = yield* SessionStorePg.make(asked(url))
      // on another connection each time
      for (const id of ["a", "b"]) {
        yield* Effect.scoped(Effect.gen(function*() {
          const session = yield* store.open(id, options)
          yield* session.append([started({ seq: 1 })])
          yield* session.append([completed({ seq: 2 })])
          assert.strictEqual((yield* Effect.flip(store.open(id, options))).reason._tag, "SessionBusy")
        }))
        assert.strictEqual((yield* store.fork(id, { to: `copy of ${id}` })).head, 2)
        assert.strictEqual((yield* Stream.runCollect(store.read(`copy of ${id}`))).length, 2)
        yield* store.remove(id)
        assert.isUndefined(yield* store.info(id))
      }
      assert.strictEqual((yield* store.list()).length, 2)
    })
)

it.live("without the pooling option the error says how to set it", () =>
  Effect.gen(function*() {
    const url = yield* Effect.flatMap(PgDatabases.database, through)
    const store = yield* SessionStorePg.make({ url })
    yield* Effect.scoped(
      Effect.flatMap(
        store.open("a", options),
        (session) => session.append([started({ seq: 1 }), completed({ seq: 2 })])
      )
    )
    // which of them meets another connection's state is up to the pooler
    const copies = Effect.forEach(["b", "c", "d", "e"], (to) => store.fork("a", { to }))
    const error = yield* Effect.flip(copies)
    assert.strictEqual(error.reason._tag, "StoreRefused")
    assert.include(error.message, "set pooled: true, or ?pgbouncer=true in the URL")
  }))

it.live("another store watches what one appends, by polling", () =>
  Effect.gen(function*() {
    const url = yield* Effect.flatMap(PgDatabases.database, through)
    const [store, other] = [
      yield* SessionStorePg.make({ url, pooled: true }),
      yield* SessionStorePg.make({ url, pooled: true })
    ]
    const session = yield* store.open("s", options)
    yield* session.append([notice({ seq: 1 })])
    const seen = yield* Deferred.make<void>()
    const fiber = yield* other.watch("s").pipe(
      Stream.tap(() => Deferred.succeed(seen, undefined)),
      Stream.take(3),
      Stream.runCollect,
      Effect.forkChild
    )
    yield* Deferred.await(seen)
    yield* session.append(notices(2, 3))
    assert.deepStrictEqual(yield* Fiber.join(fiber), notices(1, 3))
  }))
