/**
 * The log of a live run as its drive writes it: events are recorded, folded at once, and committed together. What is
 * durable is in the store before any reader sees it, and everything is seen in the order in which it was recorded.
 *
 * Does not own what happens next; the drive reads `state` and decides.
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as RunEvent from "../../run/RunEvent.ts"
import * as RunState from "../../run/RunState.ts"
import * as RunStatus from "../../run/RunStatus.ts"
import * as Transcript from "../../run/Transcript.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Feed from "./Feed.ts"
import type * as Fold from "./Fold.ts"
import * as LeftOut from "./LeftOut.ts"

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never
type TransientDraft = DistributiveOmit<RunEvent.Transient, "runId">

/** A live object: what it holds is as of now. */
export interface Journal {
  readonly runId: string
  /** the fold of everything recorded, committed or not */
  readonly state: RunState.RunState
  readonly transcript: Transcript.Transcript
  /** the live status, finer than the one in `state` */
  readonly status: RunEvent.Status
  /** Folds a durable event in, of this run or of the one before it, and keeps it for the next commit. */
  readonly record: (draft: RunEvent.Draft, ofRun?: string) => void
  /** Makes a move of the status table; dies on one that is not in it. */
  readonly move: (when: RunStatus.Trigger) => void
  /** A transient event: seen now, or right after what is recorded and not yet committed. */
  readonly emit: (draft: TransientDraft) => void
  /** The same for deltas, which carry their run id already. */
  readonly emitDeltas: (deltas: Arr.NonEmptyReadonlyArray<RunEvent.Delta>) => void
  /**
   * Stores what was recorded, in one write, then shows it. Uninterruptible. When the store refuses, all of it stays for
   * the next commit: the facts are facts, and a drive's end is the last try to keep them. Only what is more than the store
   * holds is left out (`EventTooLarge`), with what follows from it: `state` is then what it would be without.
   */
  readonly commit: Effect.Effect<void, SessionStore.StoreError>
  /** The last commit: `release` runs between storing and showing. Later commits write nothing. */
  readonly seal: (release: Effect.Effect<void>) => Effect.Effect<void, SessionStore.StoreError>
  readonly now: () => number
}

/** The most that the store holds of an event, where that was the failure. */
const limitOf = (cause: Cause.Cause<SessionStore.StoreError>): number | undefined => {
  const error = Cause.findErrorOption(cause)
  return error._tag === "Some" && error.value.reason._tag === "EventTooLarge" ? error.value.reason.limit : undefined
}

export const make = (options: {
  readonly session: SessionStore.Session
  readonly runId: string
  readonly state: RunState.RunState
  readonly transcript: Transcript.Transcript
  readonly feed: Pick<Feed.Feed, "publish">
  readonly clock: Clock.Clock
}): Journal => {
  const { feed, runId, session } = options
  const now = options.clock.currentTimeMillisUnsafe.bind(options.clock)
  const self: { -readonly [Key in "state" | "transcript" | "status"]: Journal[Key] } = {
    state: options.state,
    transcript: options.transcript,
    status: options.state.status
  }
  let stored: Fold.Folded = { state: options.state, transcript: options.transcript }
  let recorded: Array<RunEvent.RunEvent> = []
  /** those of `recorded` that the next write stores */
  let durable: Array<RunEvent.Durable> = []
  let isSealed = false
  /** a write is under way, and those that came meanwhile */
  let isBusy = false
  const waiting: Array<() => void> = []

  const emit = (event: RunEvent.Transient) => {
    if (recorded.length > 0 || isBusy) recorded.push(event)
    else feed.publish([event])
  }

  /** Shows what was recorded before the next durable event. */
  const showTransient = () => {
    const next = recorded.findIndex(RunEvent.isDurable)
    const ready = recorded.splice(0, next < 0 ? recorded.length : next)
    if (Arr.isReadonlyArrayNonEmpty(ready)) feed.publish(ready)
  }

  /** Goes on as if what the store does not hold had not been recorded. */
  const leaveOut = (limit: number) => {
    const rest = LeftOut.rest(stored, recorded, limit)
    self.state = rest.state
    self.transcript = rest.transcript
    recorded = rest.recorded
    durable = recorded.filter(RunEvent.isDurable)
    self.status = rest.status ?? self.status
  }

  /** Comes when the write under way is over. */
  const free = Effect.callback<void>((resume) => {
    // it may be over by now: between the look at it and the wait the fiber may have yielded
    if (isBusy) waiting.push(() => resume(Effect.void))
    else resume(Effect.void)
  })

  const over = () => {
    isBusy = false
    if (waiting.length === 0) return
    // all of them, as one that finds nothing to write wakes no other; behind what runs now, or they would be a stack
    for (const next of waiting.splice(0)) queueMicrotask(next)
  }

  /**
   * One write after the other, uninterruptible; takes what is recorded when it is called, and must be run then. The last one
   * has a `release`, which runs once all is stored, before it is shown.
   */
  const write = (release?: Effect.Effect<void>): Effect.Effect<void, SessionStore.StoreError> => {
    if (isBusy) return Effect.flatMap(free, () => write(release))
    if (isSealed && release === undefined) return Effect.void
    isSealed = release !== undefined
    if (!Arr.isReadonlyArrayNonEmpty(recorded)) return release ?? Effect.void
    const batch = recorded
    const facts = durable
    // before anything changes: a store may throw
    const append = Arr.isReadonlyArrayNonEmpty(facts) ? session.append(facts) : Effect.void
    const { state, transcript } = self
    recorded = []
    durable = []
    isBusy = true
    const show = () => {
      over()
      stored = { state, transcript }
      feed.publish(batch)
      if (recorded.length > 0) showTransient()
      return Effect.void
    }
    const keep = (cause: Cause.Cause<SessionStore.StoreError>) => {
      // what the store holds although it reported a failure is a fact, and is not written twice
      if (session.head() >= (facts.at(-1)?.seq ?? Infinity)) show()
      else {
        over()
        recorded = [...batch, ...recorded]
        durable = [...facts, ...durable]
        const limit = limitOf(cause)
        if (limit !== undefined) leaveOut(limit)
      }
      return Effect.failCause(cause)
    }
    const appended = release === undefined ? append : Effect.andThen(append, release)
    return Effect.matchCauseEffect(appended, { onFailure: keep, onSuccess: show })
  }

  return Object.assign(self, {
    runId,
    now,
    record: (draft: RunEvent.Draft, ofRun = runId) => {
      // in the order that stores give them back in, so that their JSON is the same
      const placed = { _tag: draft._tag, seq: self.state.seq + 1, at: now(), runId: ofRun, version: RunEvent.version }
      // a spread behind other members is much slower
      const event = Object.assign(placed, draft) as RunEvent.Durable
      self.state = RunState.evolve(self.state, event)
      self.transcript = Transcript.append(self.transcript, event)
      recorded.push(event)
      durable.push(event)
    },
    move: (when: RunStatus.Trigger) => {
      const from = self.status
      const to = RunStatus.transition(from, when)
      self.status = to
      emit({ _tag: "StatusChanged", runId, from, to })
    },
    emit: (draft: TransientDraft) => emit({ ...draft, runId } as RunEvent.Transient),
    emitDeltas: (deltas: Arr.NonEmptyReadonlyArray<RunEvent.Delta>) => {
      if (recorded.length === 0 && !isBusy) feed.publish(deltas, "deltas")
      else for (let i = 0; i < deltas.length; i++) recorded.push(deltas[i]!)
    },
    // what is to be written is looked at when it runs, where nothing interrupts it any more
    commit: Effect.uninterruptibleMask(() => write()),
    seal: (release: Effect.Effect<void>) => Effect.uninterruptibleMask(() => write(release))
  })
}
