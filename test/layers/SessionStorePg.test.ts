/** Sessions in a real Postgres. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import { afterAll, beforeAll } from "vitest"
import * as SessionStorePg from "../../src/layers/SessionStorePg.ts"
import { suite } from "../../src/testing/SessionStoreSuite.ts"
import * as PgDatabases from "../support/PgDatabases.ts"
import * as Traces from "../support/Traces.ts"

const scope = Scope.makeUnsafe()
let url: string
beforeAll(async () => {
  url = await Effect.runPromise(Scope.provide(PgDatabases.database, scope))
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

suite(
  "SessionStorePg",
  Layer.unwrap(
    Effect.map(Effect.suspend(() => PgDatabases.schema(url)), (url) => SessionStorePg.layer({ url, maxConnections: 4 }))
  )
)

it.effect("the spans of its statements say which server and database they are of", () =>
  Effect.gen(function*() {
    const { spans, tracer } = Traces.make()
    const inSchema = yield* PgDatabases.schema(url)
    yield* Effect.scoped(Effect.andThen(SessionStorePg.make({ url: inSchema }), Effect.void)).pipe(
      Effect.provideService(Tracer.Tracer, tracer)
    )
    const { hostname, pathname, port } = new URL(url)
    const told = spans.filter(({ attributes }) => attributes.has("db.system.name"))
    assert.isNotEmpty(told)
    for (const { attributes } of told) {
      const of = ["server.address", "server.port", "db.namespace"].map((name) => attributes.get(name))
      assert.deepStrictEqual(of, [hostname, Number(port), pathname.slice(1)])
    }
  }))
