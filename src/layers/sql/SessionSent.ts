/**
 * What one process says to a run of another: one row each, addressed to the claim that has the session. The claim's owner
 * takes its rows while it holds the session. A row whose claim is over has nobody to take it: its sender looks for who has the
 * session then.
 *
 * Does not own what becomes of it: the store carries it, and the log says that.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import * as TimeOfDay from "../../services/fibers/TimeOfDay.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as SessionErrors from "../store/SessionErrors.ts"
import * as Looking from "./Looking.ts"
import type * as SessionClaims from "./SessionClaims.ts"
import * as SessionRows from "./SessionRows.ts"

type Owner = SessionClaims.Claim["owner"]
type OnSent = (sent: SessionStore.Sent) => Effect.Effect<void>

interface SessionSent {
  /** Takes what was sent to owners that listen. */
  readonly look: Effect.Effect<void, SqlError.SqlError>
  /** Runs `onSent` with what a look finds for the owner, until the scope closes; does not wait for it. */
  readonly listen: (owner: Owner, onSent: OnSent) => Effect.Effect<void, never, Scope.Scope>
  /** `false` where nobody has the session; `SessionBusy` where its owner cannot be told. */
  readonly send: (
    sessionId: string,
    runId: string,
    sent: SessionStore.Sent
  ) => Effect.Effect<boolean, SqlError.SqlError | SessionStore.StoreError>
}

export const make = (
  sql: SqlClient.SqlClient,
  claims: Pick<SessionClaims.SessionClaims, "find" | "ownerOf">
): SessionSent => {
  const listening = new Map<Owner, OnSent>()

  const tell = (onSent: OnSent, sent: SessionStore.Sent) => Effect.forkDetach(onSent(sent), { startImmediately: true })

  const take = Effect.fnUntraced(function*({ id, session }: Sent, onSent: OnSent) {
    const taken = yield* sql<{ readonly body: string }>`
      DELETE FROM fiberloop_sent WHERE session = ${session} AND id = ${id} RETURNING body`
    for (const { body } of taken) {
      const sent = SessionRows.toSent(id, body)
      if (sent !== undefined) yield* tell(onSent, sent)
    }
  })

  const look = Effect.gen(function*() {
    const sent = yield* sql<Sent>`SELECT session, id, owner, sent_at FROM fiberloop_sent ORDER BY sent_at, id`
    const now = yield* Clock.currentTimeMillis
    for (const one of sent) {
      const onSent = listening.get(one.owner)
      if (onSent !== undefined) yield* take(one, onSent)
      else if (now >= Number(one.sent_at) + Looking.forgottenAfter) {
        yield* sql`DELETE FROM fiberloop_sent WHERE session = ${one.session} AND id = ${one.id}`
      }
    }
  })

  const listen: SessionSent["listen"] = (owner, onSent) =>
    Effect.acquireRelease(
      Effect.sync(() => listening.set(owner, onSent)),
      () => Effect.sync(() => listening.delete(owner))
    )

  const send = Effect.fnUntraced(function*(sessionId: string, runId: string, sent: SessionStore.Sent) {
    while (true) {
      const row = yield* claims.find(sessionId)
      const owner = row && claims.ownerOf(row)
      if (row === undefined || row.owner === null || owner === undefined) return false
      if (owner.runId !== runId || owner.hearsSent !== true) {
        return yield* SessionErrors.busy(sessionId, owner.runId)
      }
      const onSent = listening.get(row.owner)
      if (onSent !== undefined) {
        yield* tell(onSent, sent)
        return true
      }
      const at = yield* TimeOfDay.now
      const added = yield* sql`
        INSERT INTO fiberloop_sent (id, owner, session, sent_at, body)
        SELECT ${sent.id}, owner, session, ${at}, ${SessionRows.toSentBody(sent)} FROM fiberloop_sessions
        WHERE session = ${row.session} AND owner = ${row.owner}
        ON CONFLICT (session, id) DO UPDATE SET owner = excluded.owner, sent_at = excluded.sent_at
        RETURNING id`
      // otherwise somebody else has it by now, or nobody
      if (added.length > 0) return true
    }
  })

  return { look, listen, send }
}

interface Sent {
  readonly session: SessionClaims.Claim["session"]
  readonly id: string
  readonly owner: Owner
  readonly sent_at: number | string
}
