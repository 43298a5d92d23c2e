/**
 * The single writer of a claimed session: one append at a time, each in full, until another has the session.
 *
 *     append --> stored --> append ...
 *            \-> refused by the fence: stale for ever
 *            \-> outcome unknown --> the fence is raised: what is stored now is all there will be
 *                    \-> no answer --> reported as failed; the next append asks again before it writes
 *
 * Does not own the statement that appends (`SessionAppend`), nor who may take a session (`SessionClaims`).
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Semaphore from "effect/Semaphore"
import type * as SqlError from "effect/sql/SqlError"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import * as SessionErrors from "../store/SessionErrors.ts"
import type * as SessionAppend from "./SessionAppend.ts"
import type * as SessionClaims from "./SessionClaims.ts"
import * as SessionRows from "./SessionRows.ts"

type Events = Arr.NonEmptyReadonlyArray<RunEvent.Durable>
type Appending = Effect.Effect<void, SessionStore.StoreError>

interface SessionWriter {
  readonly claim: SessionClaims.Claim
  readonly head: () => number
  /**
   * An append of which it is not known whether it was stored, because the connection was lost, fails only where the
   * database does not tell within a few seconds, or where it got lost each time. It may be made again then, with the same
   * events first: those that are stored by now are not stored twice.
   */
  readonly append: (events: Events) => Appending
  /** Waits for the append under way and releases the claim. */
  readonly close: Effect.Effect<void>
}

/** How long, and how often, the database is asked what is stored. */
const asking = Schedule.min([Schedule.exponential("50 millis"), Schedule.spaced("500 millis")]).pipe(
  Schedule.upTo({ duration: "5 seconds" })
)
/** How often an append is made that each time got lost on its way. */
const mostTries = 3

export const make = (options: {
  readonly claim: SessionClaims.Claim
  readonly claims: SessionClaims.SessionClaims
  readonly append: SessionAppend.Append
  readonly explain: (error: SqlError.SqlError) => SessionStore.StoreError
  /** called when events were stored */
  readonly onAppend: () => void
}): SessionWriter => {
  const { claims, explain, onAppend } = options
  const { sessionId } = options.claim.info
  let claim = options.claim
  let info = claim.info
  let isLost = false
  /** what may be stored or not */
  let open: { readonly events: Events; readonly next: SessionStore.SessionInfo } | undefined
  /** appends, and then the release, one at a time in the order they came */
  const permit = Semaphore.makeUnsafe(1)

  const stored = (next: SessionStore.SessionInfo): Effect.Effect<void> => {
    info = next
    onAppend()
    return Effect.void
  }

  const lost = (): Effect.Effect<never, SessionStore.StoreError> => {
    isLost = true
    return Effect.fail(SessionErrors.stale(sessionId))
  }

  /** Asks what became of the open append, which it settles: raises the fence, and is where `info` stands then. */
  const settle = Effect.fnUntraced(function*() {
    if (open === undefined) return
    const fence = yield* Effect.mapError(Effect.retry(claims.refence(claim), asking), explain)
    const { next } = open
    open = undefined
    isLost = fence === undefined
    if (fence === undefined) return
    claim = fence.claim
    if (fence.head === next.head) yield* stored(next)
  })

  /** The events that are not stored, of which the first may be those of an append that was reported as failed. */
  const restOf = (events: Events, failed: Events): ReadonlyArray<RunEvent.Durable> => {
    const known = failed.filter((event, i) => event.seq <= info.head && isSame(event, events[i])).length
    return events.slice(known)
  }

  const write = (
    events: Events,
    rows: SessionAppend.Rows,
    next: SessionStore.SessionInfo,
    tries: number
  ): Appending => {
    const { epoch, session } = claim
    return Effect.matchEffect(options.append({ session, epoch, before: info, next }, rows), {
      onSuccess: (isStored) => isStored ? stored(next) : lost(),
      onFailure: (error) => {
        if (isConflict(error)) return lost()
        if (!isUnknown(error)) return Effect.fail(explain(error))
        open = { events, next }
        return Effect.flatMap(settle(), () => {
          if (info.head === next.head) return Effect.void
          if (isLost) return lost()
          return tries === mostTries ? Effect.fail(explain(error)) : write(events, rows, next, tries + 1)
        })
      }
    })
  }

  const check = (events: Events): Appending => {
    if (isLost) return lost()
    const gap = SessionErrors.checkSeq(info.head, events)
    if (gap !== undefined) return Effect.die(gap)
    const rows = SessionRows.toSmallRows(events)
    const tooLarge = rows === undefined ? SessionErrors.tooLarge(events) : undefined
    if (tooLarge !== undefined) return Effect.fail(tooLarge)
    return write(events, rows ?? Arr.map(events, SessionRows.toRow), events.reduce(SessionStore.evolveInfo, info), 1)
  }

  const append = (events: Events): Appending => {
    if (isLost) return lost()
    if (open === undefined) return check(events)
    const failed = open.events
    return Effect.flatMap(settle(), () => {
      if (isLost) return lost()
      const rest = restOf(events, failed)
      return Arr.isReadonlyArrayNonEmpty(rest) ? check(rest) : Effect.void
    })
  }

  return {
    claim,
    head: () => info.head,
    append: (events) => Effect.uninterruptible(permit.withPermit(Effect.suspend(() => append(events)))),
    close: permit.withPermit(Effect.suspend(() => {
      isLost = true
      return claims.release(claim, info.head)
    }))
  }
}

const isSame = (one: RunEvent.Durable, other: RunEvent.Durable | undefined): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other)

/** The connection was lost: the statement may have been carried out, or may yet be. Other errors say that it was not. */
const isUnknown = ({ reason }: SqlError.SqlError): boolean =>
  reason._tag === "ConnectionError" || codeOf(reason.cause).startsWith("57P0")

/** Engines differ in what they call an event that is there already: another's, who moved the fence. */
const isConflict = ({ reason }: SqlError.SqlError): boolean =>
  reason._tag === "UniqueViolation" || reason._tag === "ConstraintError"

const codeOf = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : ""
