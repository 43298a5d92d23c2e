/** What a URL of Postgres says about its server. */
import { assert, it } from "@effect/vitest"
import * as Redacted from "effect/Redacted"
import * as PgPlace from "../../../src/layers/postgres/PgPlace.ts"

it.each<readonly [string, ReturnType<typeof PgPlace.ofServer>]>([
  ["postgres://ann:secret@db.example:55432/app", { host: "db.example", port: 55432, database: "app" }],
  ["postgres://ann@db.example", { host: "db.example", port: 5432, database: "ann" }],
  ["postgres://ann@[::1]:5433/app", { host: "::1", port: 5433, database: "app" }],
  ["postgres://ann@x/app?host=/run/postgresql", { host: "/run/postgresql", port: 5432, database: "app" }],
  ["postgres://x/y?host=db&port=1234&dbname=z%20z&user=u", { host: "db", port: 1234, database: "z z" }],
  ["postgres://ann@db/app?port=many", { host: "db", database: "app" }]
])("host, port and database are read from %s", (text, server) => {
  const url = Redacted.make(text)
  const place = PgPlace.ofUrl(url)
  assert.isDefined(place)
  assert.deepStrictEqual(PgPlace.ofServer(url, place), server)
})
