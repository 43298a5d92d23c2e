/** Sessions in a real Postgres. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { afterAll, beforeAll } from "vitest"
import * as SessionStorePg from "../../src/layers/SessionStorePg.ts"
import { suite } from "../../src/testing/SessionStoreSuite.ts"
import * as PgDatabases from "../support/PgDatabases.ts"

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
