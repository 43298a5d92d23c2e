/**
 * An abort of a run on request: from when somebody asks for it, which several may do, until the run is cut off.
 *
 *     asked --its run is in no log, or its end is being written------------------------------------> cut off
 *       |
 *       +--begun--------------------------> announced -----------------------------------------------> cut off
 *       |
 *       +--in a log, unbegun: due --begun--> announced --its drive settles what is open--------------> cut off
 *                              |
 *                              +--not begun within the grace period----------------------------------> cut off
 *
 * Announced: stored as accepted, once, also where a shutdown or a failing store is cutting the run off; a store that does not take that
 * within the grace period does not hold it up. Where an abort that a dead drive had accepted is all that follows, the drive does not
 * begin: the grace period of an abort that is due counts from when the application has said what became of the calls.
 *
 * Does not own the cut (`Stop`), nor what its drive settles before that (`Drive`).
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as RunEvent from "../../run/RunEvent.ts"
import * as Detached from "../../services/fibers/Detached.ts"
import * as Grace from "../../services/Grace.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Live from "./Live.ts"
import * as Stop from "./Stop.ts"

type Asking = Effect.Effect<void, SessionStore.StoreError>

export class AbortRequest {
  /** set where an abort waits for the first event: no turn begins after that; completes once the abort is announced */
  due: Deferred.Deferred<void> | undefined
  readonly #live: Live.Live
  #isAnnounced = false
  /** of a dead drive's calls, where nothing but an abort follows: the application says what became of them, or that is stored */
  #closing: "asking" | "storing" | undefined

  constructor(live: Live.Live) {
    this.#live = live
  }

  /** Somebody asks for it; returns once the run is over. `isInLog`: an abort that is not stored leaves the run to be found again. */
  ask(isInLog: boolean): Effect.Effect<void> {
    const accepted = Effect.suspend(() => {
      if (this.#closing === undefined && (!isInLog || this.#live.env !== undefined)) return this.#carryOut()
      this.due ??= Deferred.makeUnsafe()
      return this.#carryOutInTime()
    })
    // an interrupted caller has announced the abort or has not: the next caller does not wait for one that never comes
    return Effect.andThen(Effect.uninterruptible(accepted), Effect.suspend(() => this.#live.over()))
  }

  /**
   * Around what the application says of a dead drive's calls, where nothing but an abort follows. Nothing that is asked meanwhile cuts
   * that off: the application may take its time, and the next drive would only ask it again.
   */
  around(asking: Asking): Asking {
    return Effect.suspend(() => {
      this.#closing = "asking"
      return Effect.map(asking, () => {
        this.#closing = "storing"
        if (this.due !== undefined) Detached.startHere(this.#carryOutInTime())
      })
    })
  }

  /**
   * Carries it out once the run has begun, or has not within the grace period. While the application is asked, and where it came to be
   * asked meanwhile, that is left to `around`.
   */
  #carryOutInTime(): Effect.Effect<void> {
    const since = this.#closing
    return Effect.andThen(
      Grace.within(this.#live.begun),
      Effect.suspend(() => since === "asking" || this.#closing !== since ? Effect.void : this.#carryOut())
    )
  }

  /** Announces it, and cuts the run off, or leaves that to the drive where it was due. */
  #carryOut(): Effect.Effect<void> {
    const { due } = this
    const { env, stopped } = this.#live
    const cut = () => Stop.cutOff(this.#live, Stop.requested)
    if (env === undefined || (stopped !== undefined && !RunEvent.isLeft(stopped))) return Effect.sync(cut)
    if (this.#isAnnounced) return Effect.void
    this.#isAnnounced = true
    const announced = Grace.within(Effect.suspend(() => announce(this.#live)))
    return Effect.map(announced, due === undefined ? cut : () => Deferred.doneUnsafe(due, Exit.void))
  }
}

/** Stores that an abort was accepted, unless the run has ended by itself. Answers after that would not count. */
const announce = ({ env }: Live.Live): Effect.Effect<void> => {
  if (env === undefined) return Effect.void
  const { journal, waitingCalls } = env
  waitingCalls.close()
  journal.record({ _tag: "AbortRequested", reason: "requested" })
  return Effect.ignore(journal.commit)
}
