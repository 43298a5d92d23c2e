/**
 * Aborts that one process asks another for: a mark in the row of a session, for which whoever has that looks while it does.
 *
 * Does not own what an abort is: the store carries the word, and the log says what came of it.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Answered from "./Answered.ts"
import type * as SessionClaims from "./SessionClaims.ts"

type Hear = NonNullable<SessionStore.OpenOptions["onAbortAsked"]>
type Owner = SessionClaims.Claim["owner"]

interface SessionAborts {
  /** Calls `hear` with what is asked of an owner, until the scope closes. */
  readonly listen: (owner: Owner, hear: Hear) => Effect.Effect<void, never, Scope.Scope>
  /** `false` where nobody has the session who can be asked. */
  readonly ask: (sessionId: string, runId: string) => Effect.Effect<boolean, SqlError.SqlError>
}

/** How often an owner looks. One look is for all sessions of a store. */
const lookEvery = "500 millis"

export const make = Effect.fnUntraced(function*(
  sql: SqlClient.SqlClient,
  claims: Pick<SessionClaims.SessionClaims, "find" | "ownerOf">,
  answered: Answered.Answered
): Effect.fn.Return<SessionAborts, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const listening = new Map<Owner, Hear>()
  let isLooking = false

  const look = Effect.fnUntraced(function*() {
    const asked = yield* sql<{ readonly owner: Owner | null; readonly run: string }>`
      SELECT owner, aborting AS run FROM fiberloop_sessions WHERE aborting IS NOT NULL`
    for (const { owner, run } of asked) {
      const hear = owner === null ? undefined : listening.get(owner)
      if (hear === undefined) continue
      yield* sql`UPDATE fiberloop_sessions SET aborting = NULL WHERE owner = ${owner} AND aborting = ${run}`
      hear(run)
    }
  }, answered)

  // a look that fails is made up for by the next
  const looking = Effect.gen(function*() {
    while (listening.size > 0) yield* Effect.ignore(Effect.delay(look(), lookEvery))
    isLooking = false
  })

  const listen = (owner: Owner, hear: Hear) =>
    Effect.andThen(
      Effect.acquireRelease(
        Effect.sync(() => listening.set(owner, hear)),
        () => Effect.sync(() => listening.delete(owner))
      ),
      Effect.suspend(() => {
        if (isLooking) return Effect.void
        isLooking = true
        return Effect.asVoid(Effect.forkIn(looking, scope))
      })
    )

  const ask = Effect.fnUntraced(function*(sessionId: string, runId: string) {
    const row = yield* claims.find(sessionId)
    const owner = row && claims.ownerOf(row)
    if (row === undefined || row.owner === null || owner?.hearsAborts !== true) return false
    const hear = listening.get(row.owner)
    if (hear !== undefined) {
      hear(runId)
      return true
    }
    const marked = yield* sql`
      UPDATE fiberloop_sessions SET aborting = ${runId} WHERE session = ${row.session} AND owner = ${row.owner}
      RETURNING session`
    return marked.length > 0
  })

  return { listen, ask }
})
