/**
 * The log of a live run as its drive writes it: events are recorded, folded at once, and committed together. What is
 * durable is in the store before any reader sees it, and everything is seen in the order in which it was recorded.
 *
 * Does not own what happens next; the drive reads `state` and decides.
 */
import * as Arr from "effect/Array"
import type * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Frozen from "../../run/Frozen.ts"
import type * as Message from "../../run/Message.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as RunState from "../../run/RunState.ts"
import * as RunStatus from "../../run/RunStatus.ts"
import type * as Transcript from "../../run/Transcript.ts"
import type * as Usage from "../../run/Usage.ts"
import * as Pace from "../../services/fibers/Pace.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as DriveTime from "./DriveTime.ts"
import type * as Feed from "./Feed.ts"
import type * as Fold from "./Fold.ts"
import * as LeftOut from "./LeftOut.ts"
import * as Standstill from "./Standstill.ts"

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never
type TransientDraft = DistributiveOmit<RunEvent.Transient, "runId">

/** An answer as it comes. */
interface ComingIn {
  /** Its deltas so far, including those that are still to be shown; joined, without a gap. */
  readonly soFar: () => ReadonlyArray<RunEvent.Delta>
  readonly content: () => ReadonlyArray<Message.AssistantPart>
  /** what it has used, as far as its provider said */
  readonly used: Usage.Usage
}

/** A live object: its members are as of now, and the fold is that of everything recorded, committed or not. */
export interface Journal extends Standstill.Folded {
  readonly runId: string
  /** the live status, finer than the one in `state` */
  readonly status: RunEvent.Status
  /** the answer under way; none between attempts */
  comingIn: ComingIn | undefined
  /** Folds in a durable event, of this run or of the one before it, and keeps it for the next commit. */
  readonly record: (draft: RunEvent.Draft, ofRun?: string) => void
  /** Makes a move of the status table; dies on one that is not in it. */
  readonly move: (when: RunStatus.Trigger) => void
  /** Shows a transient event: now, or right after what is recorded and not yet committed. */
  readonly emit: (draft: TransientDraft) => void
  /** The same for deltas, which carry their run id already. */
  readonly emitDeltas: (deltas: Arr.NonEmptyReadonlyArray<RunEvent.Delta>) => void
  /**
   * Stores what was recorded, in one write, then shows it. Uninterruptible. When the store refuses, all of it stays for
   * the next commit: the facts are facts, and a drive's end is the last try to keep them. Only what is more than the store
   * holds is left out (`EventTooLarge`), with what follows from it: `state` is then what it would be without that.
   */
  readonly commit: Effect.Effect<void, SessionStore.StoreError>
  /**
   * The last commit, from when this is called, which also succeeds where the store holds all of it but reported a failure: `release`
   * runs between storing and showing. Commits that come meanwhile end with this one, and later ones write nothing. Where something is
   * too large for the store, `seal` is called once more, for the rest.
   */
  readonly seal: (release: Effect.Effect<void>) => Effect.Effect<void, SessionStore.StoreError>
  /** milliseconds since the epoch (`DriveTime`) */
  readonly now: () => number
}

interface Options {
  readonly session: SessionStore.Session
  readonly runId: string
  readonly state: RunState.RunState
  readonly transcript: Transcript.Transcript
  readonly feed: Pick<Feed.Feed, "publish">
  readonly clock: Clock.Clock
}

export const make = (options: Options): Journal => new Writing(options)

type Recorded = Arr.NonEmptyReadonlyArray<RunEvent.RunEvent>
type Facts = Arr.NonEmptyReadonlyArray<RunEvent.Durable>

/** What every event begins with, in the order that stores give it back in, so that their JSON is the same. */
const unplaced = { _tag: "", seq: 0, at: NaN, runId: "", version: RunEvent.version }

class Writing extends Standstill.Folding implements Journal {
  readonly runId: string
  status: RunEvent.Status
  comingIn: ComingIn | undefined
  readonly now: () => number
  // what is to be written is read when this runs, where nothing can interrupt it any more
  readonly commit = Effect.uninterruptibleMask(() => this.#write())
  readonly #session: SessionStore.Session
  readonly #feed: Options["feed"]
  #stored: Fold.Folded
  #recorded: Array<RunEvent.RunEvent> = []
  /** those of `#recorded` that the next write stores */
  #durable: Array<RunEvent.Durable> = []
  /** completes with the last write; set once that is asked for */
  #last: Deferred.Deferred<void, SessionStore.StoreError> | undefined
  /** why a recorded end is gone: a write that was under way by then held something too large, and all after that was left out */
  #endless: Cause.Cause<SessionStore.StoreError> | undefined
  /** a write is under way; `#waiting` wakes those that came meanwhile */
  #isBusy = false
  #waiting: Array<() => void> | undefined

  constructor({ clock, feed, runId, session, state, transcript }: Options) {
    super({ state, transcript })
    this.runId = runId
    this.status = state.status
    this.comingIn = undefined
    this.#session = session
    this.#feed = feed
    this.now = DriveTime.make(clock)
    this.#stored = { state, transcript }
  }

  record(draft: RunEvent.Draft, ofRun = this.runId): void {
    const seq = this.state.seq + 1
    const placed = { ...unplaced, _tag: draft._tag, seq, at: this.now(), runId: ofRun }
    const event = Frozen.whole(Object.assign(placed, draft))
    this.take(event)
    this.#recorded.push(event)
    this.#durable.push(event)
  }

  move(when: RunStatus.Trigger): void {
    const from = this.status
    const to = RunStatus.transition(from, when)
    this.status = to
    this.#emit({ _tag: "StatusChanged", runId: this.runId, from, to })
  }

  emit(draft: TransientDraft): void {
    this.#emit({ ...draft, runId: this.runId })
  }

  emitDeltas(deltas: Arr.NonEmptyReadonlyArray<RunEvent.Delta>): void {
    if (this.#recorded.length === 0 && !this.#isBusy) this.#feed.publish(deltas, "deltas")
    else for (let i = 0; i < deltas.length; i++) this.#recorded.push(deltas[i]!)
  }

  seal(release: Effect.Effect<void>): Effect.Effect<void, SessionStore.StoreError> {
    const isFirst = this.#last === undefined
    const last = this.#last ??= Deferred.makeUnsafe<void, SessionStore.StoreError>()
    const write = Effect.suspend(() => this.#write(release))
    return Effect.uninterruptibleMask(() =>
      Effect.onExitPrimitive(write, (exit) => {
        // what is too large is left out, and the rest is asked for again, once: those who wait, wait for that
        const isAgain = isFirst && exit._tag === "Failure" && LeftOut.limitOf(exit.cause) !== undefined
        if (!isAgain) Deferred.doneUnsafe(last, exit)
      })
    )
  }

  #emit(event: RunEvent.Transient): void {
    if (this.#recorded.length > 0 || this.#isBusy) this.#recorded.push(event)
    else this.#feed.publish([event])
  }

  /**
   * One write after the other, uninterruptible; takes what is recorded when it is called, and must then be run at once. The last
   * write has a `release`, which runs once all is stored, before it is shown.
   */
  #write(release?: Effect.Effect<void>): Effect.Effect<void, SessionStore.StoreError> {
    // all that is recorded once the last write is asked for goes with that: no other shows an end before the session is given back
    if (this.#last !== undefined && release === undefined) {
      return Deferred.isDoneUnsafe(this.#last) ? Effect.void : Deferred.await(this.#last)
    }
    if (this.#isBusy) return Effect.flatMap(this.#free(), () => this.#write(release))
    if (release !== undefined && this.#endless !== undefined) {
      const cause = this.#endless
      this.#endless = undefined
      return Effect.failCause(cause)
    }
    if (this.#recorded.length === 0) return release ?? Effect.void
    const { state, transcript } = this
    const events = this.#recorded as unknown as Recorded
    const facts = this.#durable
    // before anything changes: a store may throw
    const append = facts.length > 0 ? this.#session.append(facts as unknown as Facts) : Effect.void
    this.#recorded = []
    this.#durable = []
    this.#isBusy = true
    // what the store holds although it reported a failure is a fact: it is not written twice, and a run ended if it holds the end
    const isHeld = () => this.#session.head() >= (facts.at(-1)?.seq ?? Infinity)
    const appended = release && Effect.andThen(Effect.catchCauseIf(append, isHeld, () => Effect.void), release)
    return Effect.onExitPrimitive(appended ?? append, (exit) => {
      this.#isBusy = false
      if (this.#waiting !== undefined) this.#wake(this.#waiting)
      if (exit._tag === "Failure" && !isHeld()) {
        this.#keep(events, facts, exit.cause)
        if (release === undefined && this.#last !== undefined && LeftOut.limitOf(exit.cause) !== undefined) {
          this.#endless = exit.cause
        }
        return
      }
      this.#stored = { state, transcript }
      this.#feed.publish(events)
      if (this.#recorded.length > 0) this.#showTransient()
    })
  }

  /** Shows what was recorded before the next durable event. */
  #showTransient(): void {
    const next = this.#recorded.findIndex(RunEvent.isDurable)
    const ready = this.#recorded.splice(0, next < 0 ? this.#recorded.length : next)
    if (Arr.isReadonlyArrayNonEmpty(ready)) this.#feed.publish(ready)
  }

  /** What was not stored goes into the next write, before what was recorded meanwhile. */
  #keep(
    events: ReadonlyArray<RunEvent.RunEvent>,
    facts: ReadonlyArray<RunEvent.Durable>,
    cause: Cause.Cause<SessionStore.StoreError>
  ): void {
    this.#recorded = [...events, ...this.#recorded]
    this.#durable = [...facts, ...this.#durable]
    const limit = LeftOut.limitOf(cause)
    if (limit !== undefined) this.#leaveOut(limit)
  }

  /** Goes on as if what is too large for the store had not been recorded. */
  #leaveOut(limit: number): void {
    const rest = LeftOut.rest(this.#stored, this.#recorded, limit)
    this.putBack(rest)
    this.status = rest.status ?? this.status
    this.#recorded = rest.recorded
    this.#durable = rest.recorded.filter(RunEvent.isDurable)
  }

  /** Completes when the write under way is over. */
  #free(): Effect.Effect<void> {
    return Effect.callback((resume) => {
      // the write may be over by now: the fiber may have yielded between the check and the wait
      if (this.#isBusy) (this.#waiting ??= []).push(() => resume(Effect.void))
      else resume(Effect.void)
    })
  }

  #wake(waiting: ReadonlyArray<() => void>): void {
    this.#waiting = undefined
    // all of them, as one that finds nothing to write wakes no other; after what runs now, or they would pile up on the stack
    for (const next of waiting) Pace.soon(next)
  }
}
