/** The single writer of a claimed session: one append at a time, each in full, until another has the session. */
import type * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type * as SqlError from "effect/sql/SqlError"
import type * as RunEvent from "../run/RunEvent.ts"
import * as SessionStore from "../services/SessionStore.ts"
import type * as SessionClaims from "./SessionClaims.ts"
import * as SessionErrors from "./SessionErrors.ts"
import type * as SessionLog from "./SessionLog.ts"

type Events = Arr.NonEmptyReadonlyArray<RunEvent.Durable>

export interface SessionWriter {
  readonly claim: SessionClaims.Claim
  readonly head: () => number
  readonly append: (events: Events) => Effect.Effect<void, SqlError.SqlError | SessionStore.StoreError>
  /** Waits for the append under way and releases the claim. Where that fails, the lease runs out by itself. */
  readonly close: Effect.Effect<void>
}

export const make = (options: {
  readonly claim: SessionClaims.Claim
  readonly claims: SessionClaims.SessionClaims
  readonly log: SessionLog.SessionLog
  /** called when events were stored */
  readonly onAppend: () => void
}): SessionWriter => {
  const { claim, claims, log, onAppend } = options
  const { sessionId } = claim.info
  const permit = Semaphore.makeUnsafe(1)
  let info = claim.info
  let isLost = false

  const append = (events: Events) =>
    Effect.suspend(() => {
      if (isLost) return Effect.fail(SessionErrors.stale(sessionId))
      const gap = SessionErrors.checkSeq(info.head, events)
      if (gap !== undefined) return Effect.die(gap)
      const tooLarge = SessionErrors.tooLarge(events)
      if (tooLarge !== undefined) return Effect.fail(tooLarge)
      const next = events.reduce(SessionStore.evolveInfo, info)
      return Effect.flatMap(store(events, next), (isStored) => {
        isLost = !isStored
        if (isLost) return Effect.fail(SessionErrors.stale(sessionId))
        info = next
        onAppend()
        return Effect.void
      })
    })

  /** A commit whose outcome is unknown, because the connection was lost, may have happened: then the log tells. */
  const store = (events: Events, next: SessionStore.SessionInfo) =>
    Effect.catchTag(
      log.append({ session: claim.session, epoch: claim.epoch, before: info.head, next }, events),
      "SqlError",
      Effect.fnUntraced(function*(error) {
        const row = yield* claims.find(sessionId)
        const isOurs = row?.session === claim.session && row.epoch === claim.epoch
        return isOurs && row.head === next.head ? true : yield* Effect.fail(error)
      })
    )

  return {
    claim,
    head: () => info.head,
    append: (events) => Effect.uninterruptible(permit.withPermit(append(events))),
    close: permit.withPermit(Effect.suspend(() => {
      isLost = true
      return Effect.ignore(claims.release(claim, info.head), { log: "Debug" })
    }))
  }
}
