/**
 * Aborts that one process asks of another: one row for each claim that is asked. A claim's owner looks for its row while it holds
 * the session. The row stays until the run has ended, or somebody who resumes it by hand has stored something, with which it is
 * dropped (`SessionAppend`): it also tells whoever takes the session for that run after the claim.
 *
 * Does not own what an abort is: the store carries the request, and the log says what came of it.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import * as TimeOfDay from "../../services/fibers/TimeOfDay.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Looking from "./Looking.ts"
import type * as SessionClaims from "./SessionClaims.ts"
import * as SessionRows from "./SessionRows.ts"

type Claim = SessionClaims.Claim
type Owner = Claim["owner"]

interface SessionAborts {
  /** Looks whether an owner that listens was asked. */
  readonly look: Effect.Effect<void, SqlError.SqlError>
  /** Runs `onAsked` when a look finds that the owner is asked, until the scope closes; does not wait for it. */
  readonly listen: (owner: Owner, onAsked: Effect.Effect<void>) => Effect.Effect<void, never, Scope.Scope>
  /** `false` where nobody who can be asked holds the session for this run. */
  readonly ask: (
    sessionId: string,
    runId: string
  ) => Effect.Effect<boolean, SqlError.SqlError | SessionStore.StoreError>
  /** Whether an owner of the session was asked to abort this run, and nobody has forgotten that since. */
  readonly isDue: (claim: Claim, runId: string) => Effect.Effect<boolean, SqlError.SqlError>
}

interface Listener {
  readonly onAsked: Effect.Effect<void>
  /** when what it heard of last was asked */
  heard: number | undefined
}

export const make = (
  sql: SqlClient.SqlClient,
  claims: Pick<SessionClaims.SessionClaims, "find" | "ownerOf">
): SessionAborts => {
  const listening = new Map<Owner, Listener>()

  const tell = (listener: Listener, at: number) => {
    listener.heard = at
    return Effect.forkDetach(listener.onAsked, { startImmediately: true })
  }

  const look = Effect.gen(function*() {
    const asked = yield* sql<Asked>`
      SELECT owner, asked_at,
        (SELECT count(*) FROM fiberloop_sessions AS now
          WHERE now.session = fiberloop_aborts.session AND (ended IS NULL OR ended = 'RunSuspended')) AS kept
      FROM fiberloop_aborts`
    const now = yield* Clock.currentTimeMillis
    for (const { asked_at, kept, owner } of asked) {
      const at = Number(asked_at)
      const listener = listening.get(owner)
      if (listener === undefined) {
        if (Number(kept) > 0 || now < at + Looking.forgottenAfter) continue
        yield* sql`DELETE FROM fiberloop_aborts WHERE owner = ${owner}`
      } else if (listener.heard !== at) yield* tell(listener, at)
    }
  })

  const listen: SessionAborts["listen"] = (owner, onAsked) =>
    Effect.acquireRelease(
      Effect.sync(() => listening.set(owner, { onAsked, heard: undefined })),
      () => Effect.sync(() => listening.delete(owner))
    )

  const ask = Effect.fnUntraced(function*(sessionId: string, runId: string) {
    const row = yield* claims.find(sessionId)
    const owner = row && claims.ownerOf(row)
    if (row === undefined || row.owner === null || owner?.runId !== runId || owner.hearsAborts !== true) return false
    const at = yield* TimeOfDay.now
    const asked = yield* sql`
      INSERT INTO fiberloop_aborts (owner, session, asked_at)
      SELECT owner, session, ${at} FROM fiberloop_sessions
      WHERE session = ${row.session} AND owner = ${row.owner}
      ON CONFLICT (owner) DO UPDATE SET asked_at = excluded.asked_at RETURNING owner`
    if (asked.length === 0) return false
    const listener = listening.get(row.owner)
    if (listener !== undefined) yield* tell(listener, at)
    return true
  })

  const isDue = Effect.fnUntraced(function*({ info, session }: Claim, runId: string) {
    // a new session has no run, and one that completed does not go on
    if (info.head === 0 || info.end === "RunCompleted") return false
    const asked = yield* sql<Pick<Asked, "owner">>`SELECT owner FROM fiberloop_aborts WHERE session = ${session}`
    return asked.some((row) => SessionRows.toOwner(row)?.runId === runId)
  })

  return { look, listen, ask, isDue }
}

interface Asked {
  readonly owner: Owner
  readonly asked_at: number | string
  /** whether its run may still go on by itself */
  readonly kept: number | string
}
