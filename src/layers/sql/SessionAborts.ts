/**
 * Aborts that one process asks of another: one row for each claim that is asked. A claim's owner looks for its row while it
 * holds the session.
 *
 * Does not own what an abort is: the store carries the request, and the log says what came of it.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import * as Detached from "../../services/fibers/Detached.ts"
import type * as Answered from "./Answered.ts"
import type * as SessionClaims from "./SessionClaims.ts"
import * as SessionRows from "./SessionRows.ts"

type Owner = SessionClaims.Claim["owner"]

interface SessionAborts {
  /** Runs `onAsked` when the owner is asked, until the scope closes; does not wait for it. */
  readonly listen: (owner: Owner, onAsked: Effect.Effect<void>) => Effect.Effect<void, never, Scope.Scope>
  /** `false` where nobody who can be asked holds the session for this run. */
  readonly ask: (sessionId: string, runId: string) => Effect.Effect<boolean, SqlError.SqlError>
  /**
   * Whether this run was to be aborted by the one that the session was taken from, who has not heard of it: whoever takes the
   * session for the run is to do that. Says so once.
   */
  readonly unheard: (claim: SessionClaims.Claim, runId: string) => Effect.Effect<boolean, SqlError.SqlError>
}

/** How often an owner looks. One look covers all sessions of a store. */
const lookEvery = "500 millis"

/** Milliseconds after which nobody will hear the request any more: its owner is gone, so the row is removed too. */
const forgottenAfter = 600_000

/** Looks in a context of its own, not in that of the first listener. */
export const make = Effect.fnUntraced(function*(
  sql: SqlClient.SqlClient,
  claims: Pick<SessionClaims.SessionClaims, "find" | "ownerOf">,
  answered: Answered.Answered
): Effect.fn.Return<SessionAborts, never, Scope.Scope> {
  const context = yield* Effect.context<never>()
  const listening = new Map<Owner, Effect.Effect<void>>()
  let looking: Fiber.Fiber<void> | undefined
  yield* Effect.addFinalizer(() => looking === undefined ? Effect.void : Fiber.interrupt(looking))

  const look = Effect.fnUntraced(function*() {
    const asked = yield* sql<{ readonly owner: Owner; readonly asked_at: number | string }>`
      SELECT owner, asked_at FROM fiberloop_aborts`
    const now = yield* Clock.currentTimeMillis
    for (const { asked_at, owner } of asked) {
      const onAsked = listening.get(owner)
      if (onAsked !== undefined) yield* Effect.forkDetach(onAsked, { startImmediately: true })
      else if (now < Number(asked_at) + forgottenAfter) continue
      // if this fails, the row stays and the owner is asked again
      yield* sql`DELETE FROM fiberloop_aborts WHERE owner = ${owner}`
    }
  }, answered)

  const lookOn = Effect.gen(function*() {
    // the next look makes up for one that fails
    while (listening.size > 0) yield* Effect.exit(Effect.delay(look(), lookEvery))
    looking = undefined
  })

  const listen: SessionAborts["listen"] = (owner, onAsked) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        listening.set(owner, onAsked)
        looking ??= Detached.start(Effect.withTracerEnabled(lookOn, false), context)
      }),
      () => Effect.sync(() => listening.delete(owner))
    )

  const ask = Effect.fnUntraced(function*(sessionId: string, runId: string) {
    const row = yield* claims.find(sessionId)
    const owner = row && claims.ownerOf(row)
    if (row === undefined || row.owner === null || owner?.runId !== runId || owner.hearsAborts !== true) return false
    const onAsked = listening.get(row.owner)
    if (onAsked !== undefined) return yield* Effect.as(Effect.forkDetach(onAsked, { startImmediately: true }), true)
    const asked = yield* sql`
      INSERT INTO fiberloop_aborts (owner, asked_at)
      SELECT owner, ${yield* Clock.currentTimeMillis} FROM fiberloop_sessions
      WHERE session = ${row.session} AND owner = ${row.owner}
      ON CONFLICT (owner) DO UPDATE SET asked_at = excluded.asked_at RETURNING owner`
    return asked.length > 0
  })

  const unheard = ({ takenFrom = null }: SessionClaims.Claim, runId: string) =>
    SessionRows.toOwner({ owner: takenFrom })?.runId === runId
      ? Effect.map(
        sql`DELETE FROM fiberloop_aborts WHERE owner = ${takenFrom} RETURNING owner`,
        (rows) => rows.length > 0
      )
      : Effect.succeed(false)

  return { listen, ask, unheard }
})
