/** Sessions in a real Postgres behind a pooler that lends connections for a transaction each. */
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { afterAll, beforeAll } from "vitest"
import * as SessionStorePg from "../../src/layers/SessionStorePg.ts"
import { notice, notices } from "../../src/testing/sessions/Fixtures.ts"
import { suite } from "../../src/testing/SessionStoreSuite.ts"
import * as PgDatabases from "../support/PgDatabases.ts"
import * as TransactionPooler from "../support/TransactionPooler.ts"

const options = { runId: "run-1", create: true }

const through = Effect.fnUntraced(function*(url: string) {
  const pooled = new URL(url)
  pooled.port = String((yield* TransactionPooler.make(Number(pooled.port))).port)
  return pooled.href
})

const scope = Scope.makeUnsafe()
let database: string
beforeAll(async () => {
  database = await Effect.runPromise(Scope.provide(PgDatabases.database, scope))
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

it.live("what one store appends another watches, found by looking", () =>
  Effect.gen(function*() {
    const url = yield* Effect.flatMap(PgDatabases.schema(database), through)
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

suite(
  "SessionStorePg behind a pooler",
  Layer.unwrap(
    Effect.suspend(() => PgDatabases.schema(database)).pipe(
      Effect.flatMap(through),
      Effect.map((url) => SessionStorePg.layer({ url, maxConnections: 4, pooled: true }))
    )
  )
)
