/**
 * Who may write to a session: claims in the sessions table, with an epoch as the fence and a lease that shows liveness.
 *
 *     free ---open---> owned ---release---> free
 *                        |
 *                        +--lease over, process dead, or takeOver--> owned by the next, the epoch raised
 *
 * Does not own the statements (`ClaimStatements`), nor how a session is given back when the database does not answer
 * (`SessionRelease`).
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import * as TimeOfDay from "../../services/fibers/TimeOfDay.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as OwnerLiveness from "../OwnerLiveness.ts"
import * as SessionErrors from "../store/SessionErrors.ts"
import type * as Answered from "./Answered.ts"
import * as ClaimStatements from "./ClaimStatements.ts"
import * as SessionRelease from "./SessionRelease.ts"
import * as SessionRows from "./SessionRows.ts"

/** A session that this store holds: `epoch` is its fence. */
export interface Claim {
  readonly session: SessionRows.SessionRow["session"]
  readonly epoch: SessionRows.SessionRow["epoch"]
  /** as in the row; unique to this claim */
  readonly owner: string
  readonly info: SessionStore.SessionInfo
}

type Fault = SqlError.SqlError | SessionStore.StoreError

export interface SessionClaims {
  /** The row of a session that has events, whatever they are. An id that the database would take for another finds none. */
  readonly look: (sessionId: string) => Effect.Effect<SessionRows.SeenRow | undefined, SqlError.SqlError>
  /** The same; fails where the row is not that of the log. */
  readonly find: (sessionId: string) => Effect.Effect<SessionRows.SeenRow | undefined, Fault>
  /** The row of a session that has events; fails where there is none. */
  readonly get: (sessionId: string) => Effect.Effect<SessionRows.SeenRow, Fault>
  /** The owner that keeps others from the session, if it has one. */
  readonly ownerOf: (row: SessionRows.OwnedRow) => OwnerLiveness.Owner | undefined
  readonly claim: (sessionId: string, options: SessionStore.OpenOptions) => Effect.Effect<Claim, Fault>
  /** Adds an unowned session without events, in the transaction under way. Refuses an id that is in use. */
  readonly add: (sessionId: string, now: number) => Effect.Effect<Claim["session"], Fault>
  /** Renews the lease until another has the session, or nobody. The next try makes up for a failed one. */
  readonly keep: (claim: Claim) => Effect.Effect<void>
  /**
   * Raises the fence over a claim of ours and returns it with the head at that moment: nothing sent before is stored after
   * that. `undefined` once another has the session.
   */
  readonly refence: (
    claim: Claim
  ) => Effect.Effect<{ readonly claim: Claim; readonly head: number } | undefined, SqlError.SqlError>
  /**
   * Gives the session back, and removes it when it has no events. Does nothing once another has it. This store treats it as
   * free from now on. When the database does not answer, others do so once a later try succeeds or the lease is over.
   */
  readonly release: (claim: Claim, head: number) => Effect.Effect<void>
}

/** Claims that could not be released are tried again until the scope closes. */
export const make = Effect.fnUntraced(function*(
  sql: SqlClient.SqlClient,
  liveness: OwnerLiveness.Liveness,
  answered: Answered.Answered
): Effect.fn.Return<SessionClaims, never, Scope.Scope> {
  const releases = yield* SessionRelease.make(sql, liveness.lease, answered)
  const statements = ClaimStatements.make(sql, liveness.lease)
  /** Claims of this store are live until they are released, even when it was too busy to renew a lease in time. */
  const held = new Set<string>()

  const look = Effect.fnUntraced(function*(sessionId: string) {
    if (SessionErrors.checkIds(sessionId) !== undefined) return undefined
    const row = yield* statements.look(sessionId, yield* TimeOfDay.now)
    return row === undefined || (row.head === 0 && !row.behind) ? undefined : row
  })

  const find = Effect.fnUntraced(function*(sessionId: string) {
    const row = yield* look(sessionId)
    return row?.behind ? yield* SessionErrors.isBehind(row) : row
  })

  const ownerOf = (row: SessionRows.OwnedRow) => {
    const owner = SessionRows.toOwner(row)
    if (row.owner === null || owner === undefined || releases.isGiven(row.owner)) return undefined
    if (held.has(row.owner)) return owner
    return Boolean(row.leased) && !liveness.isDead(owner) ? owner : undefined
  }

  const claim = Effect.fnUntraced(function*(sessionId: string, options: SessionStore.OpenOptions) {
    const name = OwnerLiveness.name(options.runId, {
      ...(options.onAbortAsked === undefined ? {} : { hearsAborts: true }),
      ...(options.onSent === undefined ? {} : { hearsSent: true })
    })
    while (true) {
      const now = yield* TimeOfDay.now
      const row = yield* statements.look(sessionId, now)
      if (row?.behind) return yield* SessionErrors.isBehind(row)
      if (!options.create && (row === undefined || row.head === 0)) {
        return yield* SessionErrors.notFound(sessionId)
      }
      const owner = row === undefined || options.takeOver === true ? undefined : ownerOf(row)
      if (owner !== undefined) return yield* SessionErrors.busy(sessionId, owner.runId)
      const taking = row === undefined
        ? statements.insert(sessionId, name, now)
        : statements.raise(row, name, now)
      // The answer may be lost although the session is ours now, and nobody would know.
      const claimed = yield* Effect.onError(
        taking,
        () => releases.later({ sessionId, owner: name, head: row?.head ?? 0 })
      )
      // None: another was faster. The next look finds it as the owner.
      if (claimed === undefined) continue
      held.add(name)
      return toClaim(claimed, name)
    }
  })

  const add = Effect.fnUntraced(function*(sessionId: string, now: number) {
    while (true) {
      const row = yield* statements.look(sessionId, now)
      if (row !== undefined) {
        if (row.head > 0) return yield* SessionErrors.taken(sessionId)
        const owner = ownerOf(row)
        if (owner !== undefined) return yield* SessionErrors.busy(sessionId, owner.runId)
        yield* statements.removeEmpty(row)
      }
      const added = yield* statements.insert(sessionId, null, now)
      // None: another was faster. The next look finds what it made.
      if (added !== undefined) return added.session
    }
  })

  const renew = (claim: Claim) => Effect.flatMap(TimeOfDay.now, (now) => answered(statements.renew(claim, now)))

  const keep = (claim: Claim): Effect.Effect<void> =>
    renew(claim).pipe(
      Effect.catch(() => Effect.succeed(true)),
      Effect.delay(liveness.renewEvery),
      Effect.flatMap((isOurs) => isOurs ? keep(claim) : Effect.void)
    )

  const refence = (claim: Claim) =>
    Effect.map(
      answered(statements.refence(claim)),
      (row) => row === undefined ? undefined : { claim: toClaim(row, claim.owner), head: row.head }
    )

  const release = ({ info: { sessionId }, owner }: Claim, head: number) =>
    Effect.suspend(() => {
      held.delete(owner)
      return releases.now({ sessionId, owner, head })
    })

  return {
    look,
    find,
    get: (sessionId) =>
      Effect.flatMap(
        find(sessionId),
        (row) => row === undefined ? Effect.fail(SessionErrors.notFound(sessionId)) : Effect.succeed(row)
      ),
    ownerOf,
    claim,
    add,
    refence,
    keep,
    release
  }
})

const toClaim = (row: SessionRows.SessionRow, owner: string): Claim => ({
  session: row.session,
  epoch: row.epoch,
  owner,
  info: SessionRows.toInfo(row)
})
