/**
 * Sessions in a SQL database, over effect/sql: one implementation for SQLite and Postgres. The fence is in the database:
 * a writer appends only while the session's epoch is the one that its opening raised, whatever clocks, leases and frozen
 * processes do.
 *
 * Does not own the connection, nor what an engine's errors mean; both come from the engine's layer.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as SqlClient from "effect/sql/SqlClient"
import * as SqlError from "effect/sql/SqlError"
import * as Tracing from "../services/fibers/Tracing.ts"
import { Migrations } from "../services/Migrations.ts"
import type * as SessionStore from "../services/SessionStore.ts"
import * as OwnerLiveness from "./OwnerLiveness.ts"
import * as Answered from "./sql/Answered.ts"
import * as Looking from "./sql/Looking.ts"
import * as Passing from "./sql/Passing.ts"
import * as SessionAborts from "./sql/SessionAborts.ts"
import type * as SessionAppend from "./sql/SessionAppend.ts"
import * as SessionClaims from "./sql/SessionClaims.ts"
import * as SessionFork from "./sql/SessionFork.ts"
import * as SessionList from "./sql/SessionList.ts"
import * as SessionLog from "./sql/SessionLog.ts"
import * as SessionReading from "./sql/SessionReading.ts"
import * as SessionSent from "./sql/SessionSent.ts"
import * as SessionsInUse from "./sql/SessionsInUse.ts"
import * as SessionTables from "./sql/SessionTables.ts"
import { SessionWriter } from "./sql/SessionWriter.ts"
import * as SessionErrors from "./store/SessionErrors.ts"
import * as SessionSignals from "./store/SessionSignals.ts"

/** How the engine stores events, and what else is its own. */
export interface Options extends SessionAppend.Appending {
  /** What an error of the engine means to a caller: names the database, and what to check. */
  readonly explain: (error: SqlError.SqlError) => SessionStore.StoreError
  /** How long the database may take to answer; default: no limit. */
  readonly timeout?: Duration.Input | undefined
  /** The tables may only be read: they are looked at, and refused if they would have to be brought up to date. Default: `false`. */
  readonly isReadOnly?: boolean | undefined
  /**
   * Tables of an older version are refused, and not brought up to date, while a program has a session in them: for who looks at
   * the database of others. Default: `false`.
   */
  readonly isVisitor?: boolean | undefined
  /** The engine's own way to wake watchers, including those of other processes, where it has one. */
  readonly signals?: SessionSignals.SessionSignals | undefined
}

/**
 * Brings the tables up to date and opens the store. Captures `OwnerLiveness` and `Migrations`. Closing waits for sessions that
 * are still open, at most the grace period: layers close side by side, and runs that end with them still have a store to write
 * to. Requests after that fail with `StoreRefused`.
 */
export const make = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<SessionStore.Store, SessionStore.StoreError, SqlClient.SqlClient | Scope.Scope> {
  const sql = yield* SqlClient.SqlClient
  const answered = yield* Answered.untilClosed(options.timeout)
  const explain = (error: SqlError.SqlError) =>
    error.reason.cause instanceof Answered.Closed ? SessionErrors.closed() : options.explain(error)
  const { isReadOnly = false, isVisitor = false } = options
  const liveness = yield* OwnerLiveness.OwnerLiveness
  if (isVisitor) yield* SessionTables.checkIdle(liveness)(explain, answered)
  yield* (isReadOnly ? SessionTables.check : SessionTables.migrate)(explain, answered)
  const claims = yield* SessionClaims.make(sql, liveness, answered)
  const log = SessionLog.make(sql, yield* Migrations, options.add)
  const sessions = SessionList.make(sql, claims)
  const copy = SessionFork.make(sql, claims, log)
  const signals = options.signals ?? SessionSignals.make()
  const aborts = SessionAborts.make(sql, claims)
  const sent = SessionSent.make(sql, claims)
  const looking = yield* Looking.make(Effect.andThen(aborts.look, sent.look), answered)
  const inUse = yield* SessionsInUse.make

  const asked = <A>(question: Effect.Effect<A, SqlError.SqlError | SessionStore.StoreError>) =>
    Effect.mapError(
      Effect.suspend(() => answered(Passing.waited(question))),
      (error) => SqlError.isSqlError(error) ? explain(error) : error
    )

  const { read, watch } = SessionReading.make({ claims, log, signals, asked })

  const acquire = (sessionId: string, opening: SessionStore.OpenOptions) =>
    Effect.map(asked(claims.claim(sessionId, opening)), (claim) => ({
      claim,
      writer: new SessionWriter({
        claim,
        claims,
        append: (head, rows) => answered(options.append(head, rows)),
        explain,
        isAfterAborts: opening.isAfterAborts === true && opening.onAbortAsked !== undefined,
        onAppend: () => signals.notify(sessionId)
      })
    }))

  const take = Effect.fnUntraced(function*(
    sessionId: string,
    options: SessionStore.OpenOptions,
    beyond: Tracing.Beyond
  ) {
    const badId = SessionErrors.checkIds(sessionId, options.runId)
    if (badId !== undefined) return yield* badId
    yield* asked(log.check(sessionId))
    yield* inUse.hold
    const { claim, writer } = yield* Effect.acquireRelease(
      acquire(sessionId, options),
      ({ writer }) => beyond(writer.close)
    )
    const { onAbortAsked = Effect.void } = options
    const abort = Effect.forkDetach(beyond(onAbortAsked), { startImmediately: true })
    // nothing that its run still does can be stored once another has the session
    yield* Effect.forkScoped(beyond(Effect.andThen(claims.keep(claim), abort)))
    if (options.onSent !== undefined) yield* sent.listen(claim.owner, options.onSent)
    if (options.onSent !== undefined || options.onAbortAsked !== undefined) yield* looking.hold
    if (options.onAbortAsked !== undefined) {
      yield* aborts.listen(claim.owner, onAbortAsked)
      const isDue = options.isAfterAborts !== true && (yield* asked(aborts.isDue(claim, options.runId)))
      if (isDue) yield* abort
    }
    return { sessionId, head: writer.head, append: writer.append }
  })

  const open = (sessionId: string, options: SessionStore.OpenOptions) =>
    Tracing.spanned("SessionStore.open", (beyond) => take(sessionId, options, beyond))

  const lastOf = (sessionId: string, type: SessionStore.Landmark, runId?: string) =>
    Tracing.spanned("SessionStore.lastOf", () => asked(log.lastOf(sessionId, type, runId)))

  const list = Effect.fn("SessionStore.list")((options: SessionStore.ListOptions = {}) => asked(sessions.list(options)))

  const info = Effect.fn("SessionStore.info")((sessionId: string) => asked(sessions.info(sessionId)))

  const fork = Effect.fn("SessionStore.fork")(function*(sessionId: string, options: SessionStore.ForkOptions) {
    const badId = SessionErrors.checkIds(options.to)
    if (badId !== undefined) return yield* badId
    const info = yield* asked(copy(sessionId, options))
    signals.notify(options.to)
    return info
  })

  const remove = Effect.fn("SessionStore.remove")((sessionId: string) =>
    Effect.map(asked(sessions.remove(sessionId)), () => signals.notify(sessionId))
  )

  const askToAbort = Effect.fn("SessionStore.askToAbort")(function*(sessionId: string, runId: string) {
    const badId = SessionErrors.checkIds(sessionId, runId)
    return yield* badId === undefined ? asked(aborts.ask(sessionId, runId)) : Effect.fail(badId)
  })

  const send = Effect.fn("SessionStore.send")(
    function*(sessionId: string, runId: string, said: SessionStore.Sent) {
      const badId = SessionErrors.checkIds(sessionId, runId)
      return yield* badId === undefined ? asked(sent.send(sessionId, runId, said)) : Effect.fail(badId)
    }
  )

  return { open, read, lastOf, watch, list, info, fork, remove, askToAbort, send }
})
