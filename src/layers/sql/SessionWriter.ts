/**
 * The single writer of a claimed session: one append at a time, each in full, until another has the session.
 *
 *     Claimed --append--> Claimed     it is stored, or refused with nothing written
 *        |
 *        +--the answer was lost--> Unsettled --the fence is raised--> Claimed     what is stored now is all there will be
 *        |                             |
 *        |                             +--no answer--> Unsettled     reported as failed; the next append asks again
 *        |                             |
 *        +--another has the session----+--> Lost
 *        |                             |
 *        +--close----------------------+--> Released
 *
 * Does not own the statement that appends (`SessionAppend`), what its errors say (`AppendFaults`), nor who may take a
 * session (`SessionClaims`).
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Semaphore from "effect/Semaphore"
import type * as SqlError from "effect/sql/SqlError"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import * as SessionErrors from "../store/SessionErrors.ts"
import * as AppendFaults from "./AppendFaults.ts"
import type * as SessionAppend from "./SessionAppend.ts"
import type * as SessionClaims from "./SessionClaims.ts"
import * as SessionRows from "./SessionRows.ts"

type Events = Arr.NonEmptyReadonlyArray<RunEvent.Durable>
type Appending = Effect.Effect<void, SessionStore.StoreError>

interface Options {
  readonly claim: SessionClaims.Claim
  readonly claims: Pick<SessionClaims.SessionClaims, "refence" | "release">
  readonly append: SessionAppend.Append
  /** what owners before it were asked is dropped with the first append */
  readonly isAfterAborts: boolean
  readonly explain: (error: SqlError.SqlError) => SessionStore.StoreError
  /** called when events were stored */
  readonly onAppend: () => void
}

/** Events that may or may not be stored; `next` is the session if they were. */
interface Unsettled {
  readonly _tag: "Unsettled"
  readonly next: SessionStore.SessionInfo
}

type State = { readonly _tag: "Claimed" } | Unsettled | { readonly _tag: "Lost" } | { readonly _tag: "Released" }

const claimed: State = { _tag: "Claimed" }

/** How long, and how often, the database is asked what is stored. */
const asking = Schedule.min([Schedule.exponential("50 millis"), Schedule.spaced("500 millis")]).pipe(
  Schedule.upTo({ duration: "5 seconds" })
)
/** How often an append is made when it is lost each time. */
const mostTries = 3

export class SessionWriter {
  readonly #options: Options
  #state: State = claimed
  /** with the fence as it was last raised */
  #claim: SessionClaims.Claim
  /** as of the last event that is known to be stored */
  #info: SessionStore.SessionInfo
  /** whether nothing is known to be stored that comes after what owners before it were asked */
  #dropsAborts: boolean
  /** what the append was asked to store that was reported as failed and may be stored, in part or whole; empty once another is stored */
  #failed: ReadonlyArray<RunEvent.Durable> = []
  /** appends, and then the release, one at a time in the order they came */
  readonly #permit = Semaphore.makeUnsafe(1)

  constructor(options: Options) {
    this.#options = options
    this.#claim = options.claim
    this.#info = options.claim.info
    this.#dropsAborts = options.isAfterAborts
  }

  readonly head = (): number => this.#info.head

  /**
   * An append that may or may not be stored, because the connection was lost, fails only when the database does not answer
   * within a few seconds, or when the append was lost each time. It may then be made again, with the same events first: those
   * that are stored by now are not stored twice.
   */
  readonly append = (events: Events): Appending =>
    Effect.uninterruptible(this.#permit.withPermit(Effect.suspend(() => this.#append(events))))

  /** Waits for the append under way and releases the claim. */
  readonly close: Effect.Effect<void> = this.#permit.withPermit(Effect.suspend(() => {
    this.#state = { _tag: "Released" }
    return this.#options.claims.release(this.#claim, this.#info.head)
  }))

  #append(events: Events): Appending {
    switch (this.#state._tag) {
      case "Claimed":
        return this.#storeRest(events)
      case "Unsettled":
        return Effect.flatMap(this.#settle(this.#state, this.#failed), () => this.#storeRest(events))
      case "Lost":
      case "Released":
        return this.#stale()
    }
  }

  /** Stores the events of `asked` that are not stored: after an append that was reported as failed, the first ones may be. */
  #storeRest(asked: Events): Appending {
    if (this.#failed.length === 0) return this.#check(asked, asked)
    const isStored = (event: RunEvent.Durable, i: number) => event.seq <= this.#info.head && isSame(event, asked[i])
    const rest = asked.slice(this.#failed.filter(isStored).length)
    return Arr.isReadonlyArrayNonEmpty(rest) ? this.#check(rest, asked) : this.#done()
  }

  #check(events: Events, asked: Events): Appending {
    const misplaced = SessionErrors.checkPlaces(this.#info.head, events)
    if (misplaced !== undefined) return Effect.die(misplaced)
    const rows = SessionRows.toSmallRows(events)
    const tooLarge = rows === undefined ? SessionErrors.tooLarge(events) : undefined
    if (tooLarge !== undefined) return Effect.fail(tooLarge)
    const next = events.reduce(SessionStore.evolveInfo, this.#info)
    return this.#write(asked, rows ?? Arr.map(events, SessionRows.toRow), next, 1)
  }

  #write(asked: Events, rows: SessionAppend.Rows, next: SessionStore.SessionInfo, tries: number): Appending {
    const { epoch, owner, session } = this.#claim
    const onlyAbortsOf = this.#dropsAborts ? owner : undefined
    return Effect.matchEffect(this.#options.append({ session, epoch, before: this.#info, next, onlyAbortsOf }, rows), {
      onSuccess: (isStored) => {
        if (!isStored) return this.#lost()
        this.#stored(next)
        return this.#done()
      },
      onFailure: (error) => {
        if (AppendFaults.isConflict(error)) return this.#lost()
        if (!AppendFaults.isUnknown(error)) return Effect.fail(this.#options.explain(error))
        const unsettled: Unsettled = { _tag: "Unsettled", next }
        this.#state = unsettled
        return Effect.flatMap(this.#settle(unsettled, asked), () => {
          if (this.#info.head === next.head) return this.#done()
          if (tries === mostTries) return Effect.fail(this.#options.explain(error))
          return this.#write(asked, rows, next, tries + 1)
        })
      }
    })
  }

  /** Finds out what became of an append, which was asked for `asked`: raises the fence, and sets `#info` to what is stored then. */
  #settle({ next }: Unsettled, asked: ReadonlyArray<RunEvent.Durable>): Appending {
    const { claims, explain } = this.#options
    return Effect.matchEffect(Effect.retry(claims.refence(this.#claim), asking), {
      onFailure: (error) => {
        this.#failed = asked
        return Effect.fail(explain(error))
      },
      onSuccess: (fence) => {
        if (fence === undefined) return this.#lost()
        this.#state = claimed
        this.#claim = fence.claim
        if (fence.head === next.head) this.#stored(next)
        return Effect.void
      }
    })
  }

  #stored(next: SessionStore.SessionInfo): void {
    this.#info = next
    this.#dropsAborts = false
    this.#options.onAppend()
  }

  /** All that was asked for is stored. */
  #done(): Effect.Effect<void> {
    this.#failed = []
    return Effect.void
  }

  #lost(): Appending {
    this.#state = { _tag: "Lost" }
    return this.#stale()
  }

  #stale(): Appending {
    return Effect.fail(SessionErrors.stale(this.#info.sessionId))
  }
}

const isSame = (one: RunEvent.Durable, other: RunEvent.Durable | undefined): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other)
