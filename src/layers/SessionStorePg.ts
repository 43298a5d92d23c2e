/**
 * Sessions in a Postgres database, for many processes and machines. Needs `@effect/sql-pg`, so the index of `fiberloop` does
 * not export it: `import * as SessionStorePg from "fiberloop/layers/SessionStorePg"`.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as PgTypes from "@effect/sql-pg/PgTypes"
import * as Config from "effect/Config"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as SqlClient from "effect/sql/SqlClient"
import * as Grace from "../services/Grace.ts"
import * as SessionStore from "../services/SessionStore.ts"
import * as PgAppend from "./postgres/PgAppend.ts"
import * as PgErrors from "./postgres/PgErrors.ts"
import * as PgOptions from "./postgres/PgOptions.ts"
import * as PgPlace from "./postgres/PgPlace.ts"
import * as PgSignals from "./postgres/PgSignals.ts"
import * as SessionStoreSql from "./SessionStoreSql.ts"
import * as Answered from "./sql/Answered.ts"
import * as Passing from "./sql/Passing.ts"
import * as SessionErrors from "./store/SessionErrors.ts"

export interface Options {
  /**
   * `postgres://user:password@host:5432/database`, with the query parameters of libpq, such as `sslmode`. The setting
   * `PGPASSWORD` is the password where the URL has none, the environment's `USER` the user.
   */
  readonly url: string | Redacted.Redacted
  /** The most connections, each made when it is needed; one more while sessions are watched. Default: 10. */
  readonly maxConnections?: number | undefined
  /** How long an idle connection is kept. Default: 60 seconds. */
  readonly idleTimeout?: Duration.Input | undefined
  /** How long to wait for a connection to be made. Default: 5 seconds. */
  readonly connectTimeout?: Duration.Input | undefined
  /** How long to wait for an answer, since a server that became unreachable may never give one. Default: 30 seconds. */
  readonly timeout?: Duration.Input | undefined
  /**
   * Whether a pooler in transaction mode is in front of the server. Then nothing is kept on a connection, neither prepared
   * statements nor LISTEN, and what other processes append is found by polling, a few times a second. Default: what the URL
   * says by `pgbouncer=true`, else `false`.
   */
  readonly pooled?: boolean | undefined
}

/**
 * Connects, and makes the missing tables, in the first schema of the user's search path; processes that do so at once make
 * them once. Fails when the server cannot be reached, or the database is not one that it accepts. After that, a lost
 * connection is made again when the next operation needs it.
 */
export const make = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<SessionStore.Store, SessionStore.StoreError, Scope.Scope> {
  const problem = PgOptions.problemOf(options)
  if (problem !== undefined) return yield* SessionErrors.refused(problem)
  // untyped code, or an environment, may have none
  const { url: given }: Partial<Options> = options ?? {}
  const url = Redacted.isRedacted(given) ? given : Redacted.make(String(given))
  const place = PgPlace.ofUrl(url)
  if (place === undefined) {
    return yield* SessionErrors.refused(
      "The URL of the session database is not a Postgres URL: write postgres://user@host:5432/database, " +
        "with %2F, %3F, %23 and %40 for / ? # and @ in a user, a password or a name"
    )
  }
  const explain = PgErrors.explain(place)
  const isPooled = options.pooled ?? PgPlace.isPooled(Redacted.value(url))
  const password = PgPlace.hasPassword(Redacted.value(url)) ? undefined : yield* environmentPassword
  const config = {
    ...options,
    ...PgPlace.ofServer(url, place),
    url,
    password,
    applicationName: "fiberloop",
    keepAlive: "30 seconds",
    maxMessageSize,
    prepare: !isPooled,
    types
  } as const
  // a connection on which nothing answers cannot be given back, and is not waited for
  const scope = yield* Effect.acquireRelease(Scope.make(), Grace.close)
  const client = yield* PgClient.make(config).pipe(
    Scope.provide(scope),
    Effect.mapError(explain),
    Effect.provide(Reactivity.layer)
  )
  const timeout = options.timeout ?? "30 seconds"
  const answered = Answered.within(timeout)
  const signals = yield* PgSignals.make({
    send: (sessionIds) => answered(client`SELECT pg_notify(${channel}, id) FROM unnest(${sessionIds}::text[]) AS id`),
    receive: isPooled
      ? Effect.never
      : Effect.flatMap(PgConnection.make(config), (connection) => connection.listen(channel)),
    idleTimeout: options.idleTimeout ?? "60 seconds"
  })
  const { add, append } = PgAppend.make(client)
  return yield* SessionStoreSql.make({
    explain,
    timeout,
    add,
    append: (head, rows) => Passing.waited(append(head, rows)),
    signals
  }).pipe(
    Effect.provideService(SqlClient.SqlClient, client)
  )
})

export const layer = (options: Options): Layer.Layer<SessionStore.SessionStore, SessionStore.StoreError> =>
  Layer.effect(SessionStore.SessionStore, make(options))

const channel = "fiberloop_sessions"

const environmentPassword = Config.option(Config.Redacted("PGPASSWORD")).pipe(
  Effect.map(Option.getOrUndefined),
  Effect.orElseSucceed(() => undefined)
)

/** One row is one message: an event and its columns. */
const maxMessageSize = 2 * SessionStore.maxEventBytes

/** 64-bit integers as numbers: ours all fit. */
const types = PgTypes.makeRegistry()
types.register<number | bigint>(PgTypes.OID.int8, {
  encode: (value) => {
    const bytes = new Uint8Array(8)
    new DataView(bytes.buffer).setBigInt64(0, BigInt(value))
    return Result.succeed(bytes)
  },
  decode: (bytes) =>
    Result.succeed(Number(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigInt64(0)))
})
