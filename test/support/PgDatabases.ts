/** Databases of the test run's Postgres, and what tests do to them behind a store's back. */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { once } from "node:events"
import { connect } from "node:net"
import { text } from "node:stream/consumers"
import { inject } from "vitest"
import type { Answer } from "./PostgresServer.ts"

/** The URL of the server's own database. */
const server: Effect.Effect<string> = Effect.promise(async () => {
  const socket = connect(inject("postgres"))
  await once(socket, "connect")
  const answer = JSON.parse(await text(socket)) as Answer
  if ("error" in answer) throw new Error(answer.error)
  return answer.url
})

/** Runs a statement on a connection of its own. */
export const query = (url: string, statement: string) =>
  PgConnection.make({ url: Redacted.make(url) }).pipe(
    Effect.flatMap((connection) => connection.query(statement, [], false)),
    Effect.map(({ rows }) => rows),
    Effect.scoped,
    Effect.orDie
  )

export const named = (url: string, database: string): string => {
  const named = new URL(url)
  named.pathname = `/${database}`
  return named.href
}

let made = 0

/** An empty database, removed with the scope. */
export const database = Effect.gen(function*() {
  const url = yield* server
  const name = `fiberloop_${process.pid}_${Date.now()}_${++made}`
  yield* Effect.acquireRelease(
    query(url, `CREATE DATABASE ${name}`),
    () => query(url, `DROP DATABASE ${name} WITH (FORCE)`)
  )
  return named(url, name)
})

/** An empty schema in a database, instead of a separate database, which takes ten times as long to create. */
export const schema = Effect.fnUntraced(function*(url: string) {
  const name = `schema_${++made}`
  yield* query(url, `CREATE SCHEMA ${name}`)
  const inSchema = new URL(url)
  inSchema.searchParams.set("options", `-c search_path=${name}`)
  return inSchema.href
})

/** Locks tables, as another program does, until the returned effect has run, or the scope closes. */
export const lock = (url: string, ...tables: ReadonlyArray<string>) => hold(url, "ACCESS EXCLUSIVE", tables)

/** Keeps tables from being changed, as a backup does. */
export const keep = (url: string, ...tables: ReadonlyArray<string>) => hold(url, "ACCESS SHARE", tables)

const hold = Effect.fnUntraced(function*(url: string, mode: string, tables: ReadonlyArray<string>) {
  const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  const other = yield* Effect.orDie(Scope.provide(PgConnection.make({ url: Redacted.make(url) }), scope))
  yield* Effect.orDie(other.query("BEGIN", [], false))
  yield* Effect.orDie(other.query(`LOCK TABLE ${tables.join(", ")} IN ${mode} MODE`, [], false))
  return Scope.close(scope, Exit.void)
})
