/**
 * Gives sessions back: clears the owner in their rows, in the background when the database does not answer at once.
 *
 * Does not own who may take a session; that is `SessionClaims`.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as Answered from "./Answered.ts"
import * as SessionDialect from "./SessionDialect.ts"

/** A session that its owner no longer holds, with `head` events in it. */
interface GivenBack {
  readonly sessionId: string
  readonly owner: string
  readonly head: number
}

interface SessionRelease {
  /** Whether an owner has given its session back, from the call of `now` or `later` on, although the row may say otherwise. */
  readonly isGiven: (owner: string) => boolean
  /** Gives it back, or removes it when it has no events. Does nothing where another has it. Continues as `later` on failure. */
  readonly now: (given: GivenBack) => Effect.Effect<void>
  /** Tries again until one try succeeds, the lease is over, or the scope closes. Does not wait for that. */
  readonly later: (given: GivenBack) => Effect.Effect<void>
}

/** How often a release is tried again. */
const releaseEvery = "500 millis"

export const make = Effect.fnUntraced(function*(
  sql: SqlClient.SqlClient,
  lease: Duration.Input,
  answered: Answered.Answered
): Effect.fn.Return<SessionRelease, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const { caughtUp } = SessionDialect.make(sql)
  const given = new Set<string>()

  const give = Effect.fnUntraced(function*({ head, owner, sessionId }: GivenBack) {
    if (head === 0) yield* sql`DELETE FROM fiberloop_sessions WHERE id = ${sessionId} AND owner = ${owner} AND head = 0`
    // what this writer sent, and is still on its way, must not arrive in a free session
    yield* sql`
      UPDATE fiberloop_sessions SET owner = NULL, lease = 0, epoch = epoch + 1 ${caughtUp}
      WHERE id = ${sessionId} AND owner = ${owner}`
  }, answered)

  const done = ({ owner }: GivenBack) => Effect.sync(() => void given.delete(owner))

  const later = (claim: GivenBack) => {
    given.add(claim.owner)
    return give(claim).pipe(
      Effect.delay(releaseEvery),
      Effect.eventually,
      Effect.timeoutOption(lease),
      Effect.andThen(done(claim)),
      Effect.forkIn(scope),
      Effect.asVoid
    )
  }

  const now = (claim: GivenBack) => {
    given.add(claim.owner)
    return Effect.matchEffect(give(claim), {
      onFailure: (error) => Effect.andThen(Effect.logDebug(error), later(claim)),
      onSuccess: () => done(claim)
    })
  }

  return { isGiven: (owner) => given.has(owner), now, later }
})
