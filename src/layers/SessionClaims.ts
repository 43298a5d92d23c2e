/**
 * Who may write to a session: claims in the sessions table, with an epoch that fences and a lease that tells liveness.
 *
 *     free ---open---> owned ---release---> free
 *                        |
 *                        +--lease over, process dead, or takeOver--> owned by the next, the epoch raised
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import type * as SessionStore from "../services/SessionStore.ts"
import * as OwnerLiveness from "./OwnerLiveness.ts"
import * as SessionErrors from "./SessionErrors.ts"
import * as SessionRows from "./SessionRows.ts"

/** A session that this process holds: `epoch` is its fence. */
export interface Claim {
  readonly session: SessionRows.SessionRow["session"]
  readonly epoch: SessionRows.SessionRow["epoch"]
  readonly info: SessionStore.SessionInfo
}

type Fault = SqlError.SqlError | SessionStore.StoreError

export interface SessionClaims {
  /** The row of a session that has events. */
  readonly find: (sessionId: string) => Effect.Effect<SessionRows.SessionRow | undefined, SqlError.SqlError>
  /** The owner that keeps others from a session at this time. */
  readonly ownerOf: (row: SessionRows.SessionRow, now: number) => { readonly runId: string } | undefined
  readonly claim: (sessionId: string, options: SessionStore.OpenOptions) => Effect.Effect<Claim, Fault>
  /** Adds a session that nobody holds, still without events, in the transaction under way. Refuses an id that is in use. */
  readonly add: (sessionId: string, now: number) => Effect.Effect<Claim["session"], Fault>
  /** Renews the lease, for ever. A failed try is made up for by the next; only an append must know that it is fenced. */
  readonly keep: (claim: Claim) => Effect.Effect<never>
  /** Gives the session back, and takes it away when it holds nothing. Does nothing once another has it. */
  readonly release: (claim: Claim, head: number) => Effect.Effect<void, SqlError.SqlError>
}

export const make = (sql: SqlClient.SqlClient, liveness: OwnerLiveness.Liveness): SessionClaims => {
  /** Claims of this process are live until they are released, also when it was too busy to renew a lease in time. */
  const held = new Set<string>()
  const keyOf = (row: Pick<Claim, "session" | "epoch">) => `${row.session}.${row.epoch}`
  const leaseFrom = (now: number) => now + Duration.toMillis(liveness.lease)

  const lookUp = (sessionId: string) =>
    Effect.map(
      sql<SessionRows.SessionRow>`SELECT * FROM fiberloop_sessions WHERE id = ${sessionId}`,
      (rows) => rows[0]
    )

  const ownerOf = (row: SessionRows.SessionRow, now: number) => {
    const owner = SessionRows.toOwner(row)
    if (owner === undefined) return undefined
    if (held.has(keyOf(row))) return owner
    return Number(row.lease) > now && !liveness.isDead(owner) ? owner : undefined
  }

  const create = (sessionId: string, runId: string | undefined, now: number) =>
    sql<SessionRows.SessionRow>`
      INSERT INTO fiberloop_sessions ${
      sql.insert({
        id: sessionId,
        epoch: 1,
        owner: runId === undefined ? null : JSON.stringify(OwnerLiveness.self(runId)),
        lease: runId === undefined ? 0 : leaseFrom(now),
        head: 0,
        title: "",
        turns: 0,
        created_at: now,
        updated_at: now
      })
    } ON CONFLICT (id) DO NOTHING RETURNING *`

  const raise = (row: SessionRows.SessionRow, runId: string, now: number) =>
    sql<SessionRows.SessionRow>`
      UPDATE fiberloop_sessions
      SET epoch = epoch + 1,
        owner = ${JSON.stringify(OwnerLiveness.self(runId))},
        lease = ${leaseFrom(now)},
        created_at = CASE WHEN head = 0 THEN ${now} ELSE created_at END
      WHERE session = ${row.session} AND epoch = ${row.epoch} RETURNING *`

  const claim = Effect.fnUntraced(function*(sessionId: string, options: SessionStore.OpenOptions) {
    while (true) {
      const now = yield* Clock.currentTimeMillis
      const row = yield* lookUp(sessionId)
      if (!options.create && (row === undefined || row.head === 0)) {
        return yield* Effect.fail(SessionErrors.notFound(sessionId))
      }
      const owner = row === undefined || options.takeOver === true ? undefined : ownerOf(row, now)
      if (owner !== undefined) return yield* Effect.fail(SessionErrors.busy(sessionId, owner.runId))
      const [claimed] = row === undefined
        ? yield* create(sessionId, options.runId, now)
        : yield* raise(row, options.runId, now)
      // None: another was faster. The next look finds it as the owner.
      if (claimed === undefined) continue
      held.add(keyOf(claimed))
      return { session: claimed.session, epoch: claimed.epoch, info: SessionRows.toInfo(claimed) }
    }
  })

  const add = Effect.fnUntraced(function*(sessionId: string, now: number) {
    while (true) {
      const row = yield* lookUp(sessionId)
      if (row !== undefined) {
        if (row.head > 0) return yield* Effect.fail(SessionErrors.taken(sessionId))
        const owner = ownerOf(row, now)
        if (owner !== undefined) return yield* Effect.fail(SessionErrors.busy(sessionId, owner.runId))
        yield* removeUnwritten(row)
      }
      const [added] = yield* create(sessionId, undefined, now)
      // None: another was faster. The next look finds what it made.
      if (added !== undefined) return added.session
    }
  })

  const removeUnwritten = ({ epoch, session }: Pick<Claim, "session" | "epoch">) =>
    sql`DELETE FROM fiberloop_sessions WHERE session = ${session} AND epoch = ${epoch} AND head = 0`

  const renew = (claim: Claim) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      sql`UPDATE fiberloop_sessions SET lease = ${leaseFrom(now)}
        WHERE session = ${claim.session} AND epoch = ${claim.epoch}`)

  const release = Effect.fnUntraced(function*({ epoch, session }: Claim, head: number) {
    held.delete(keyOf({ session, epoch }))
    if (head === 0) yield* removeUnwritten({ session, epoch })
    yield* sql`UPDATE fiberloop_sessions SET owner = NULL, lease = 0 WHERE session = ${session} AND epoch = ${epoch}`
  })

  return {
    find: (sessionId) => Effect.map(lookUp(sessionId), (row) => row === undefined || row.head === 0 ? undefined : row),
    ownerOf,
    claim,
    add,
    keep: (claim) => renew(claim).pipe(Effect.ignore, Effect.delay(liveness.renewEvery), Effect.forever),
    release
  }
}
