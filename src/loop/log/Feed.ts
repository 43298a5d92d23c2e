/**
 * What a drive publishes, and its readers. Publishing never waits: each reader has a bounded buffer of its own, and one
 * that does not read costs at most one message of text and a cursor.
 *
 * When a buffer is full, neighbouring deltas of one block are joined and other transient events are dropped. Where that
 * is not enough, everything up to the last durable event is dropped and read again from the store, by `seq`, when the
 * reader comes back; the deltas among it are restated by those events. An end stays in the buffer whatever happens. Does
 * not own the order of events; the journal does.
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"
import type * as RunError from "../../run/RunError.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import * as RunEvents from "../../run/RunEvents.ts"
import type * as SessionStore from "../../services/SessionStore.ts"

type Events = Arr.NonEmptyReadonlyArray<RunEvent.RunEvent>
type End = Exit.Exit<void, RunError.RunError>

export interface Feed {
  /**
   * Hands events to every reader, in order, without waiting. Durable ones must be in the store by now; among what is said to
   * be deltas only, none is looked for.
   */
  readonly publish: (events: Events, only?: "deltas") => void
  /** No more events; readers end, or fail, when they have read what there is. */
  readonly end: (exit: End) => void
  /** All facts from `from` on, the earlier ones from the store; then live. May be read by many, at any time. */
  readonly events: Stream.Stream<RunEvent.RunEvent, RunError.RunError>
  /** A reader of everything from now on, there until the end, that knows what it missed. */
  readonly watch: () => Watcher
  /** Says which events the store already holds: every reader, there or still to come, gets them from it first. */
  readonly replay: (from: number, to: number) => void
}

export interface Watcher {
  readonly pull: Pull.Pull<Events, RunError.RunError>
  /** How many transient events were dropped since this was asked last; joined deltas were not. */
  readonly takeMissed: () => number
  /** Gives up the facts that the store does not give, and goes on behind them; `false` where none are missing. */
  readonly skip: () => boolean
}

/** How many events a reader may lag before its buffer is compacted. */
const capacity = 1024
/** How many events are read again from the store at a time. */
const page = 256

/** With `isWatched`, whoever reads first sees everything from the first event on, deltas too, however late they come. */
export const make = (store: SessionStore.SessionStore["Service"], sessionId: string, isWatched: boolean): Feed => {
  let firstReader: Reader | undefined = isWatched ? makeReader(store, sessionId) : undefined
  const readers = new Set<Reader>(firstReader === undefined ? [] : [firstReader])
  let first = 0
  let last = 0
  let ended: End | undefined

  const open = Effect.acquireRelease(
    Effect.sync(() => {
      if (firstReader !== undefined) {
        const reader = firstReader
        firstReader = undefined
        return reader
      }
      const reader = makeReader(store, sessionId)
      if (last > 0) reader.lag(first, last)
      if (ended === undefined) readers.add(reader)
      else reader.end(ended)
      return reader
    }),
    (reader) => Effect.sync(() => readers.delete(reader))
  )

  return {
    publish: (events, only) => {
      if (only !== "deltas") {
        last = events.findLast(RunEvent.isDurable)?.seq ?? last
        if (first === 0 && last > 0) first = events.find(RunEvent.isDurable)!.seq
      }
      for (const reader of readers) reader.push(events)
    },
    end: (exit) => {
      ended = exit
      for (const reader of readers) reader.end(exit)
      readers.clear()
    },
    events: Stream.unwrap(Effect.map(open, (reader) => Stream.fromPull(Effect.succeed(reader.pull)))),
    watch: () => {
      const reader = makeReader(store, sessionId)
      if (ended === undefined) readers.add(reader)
      else reader.end(ended)
      return reader
    },
    replay: (from, to) => {
      first = from
      last = to
      for (const reader of readers) reader.lag(from, to)
    }
  }
}

interface Reader extends Watcher {
  readonly push: (events: Events) => void
  readonly end: (exit: End) => void
  /** These durable events come from the store, before whatever is in the buffer. */
  readonly lag: (from: number, to: number) => void
}

/** How many transient events stand here, each joined delta for as many as it stands for. */
const transients = (events: ReadonlyArray<RunEvent.RunEvent>): number =>
  events.reduce((sum, event) => {
    if (RunEvent.isDurable(event)) return sum
    return sum + (RunEvent.isDelta(event) ? event.count ?? 1 : 1)
  }, 0)

/** The `size` events of all arrays in one, the only one where there is one. Every delta goes through here; `flat` is slow. */
const inOne = (arrays: ReadonlyArray<Events>, size: number): ReadonlyArray<RunEvent.RunEvent> => {
  if (arrays.length === 1) return arrays[0]!
  const out = Arr.allocate<RunEvent.RunEvent>(size) as Array<RunEvent.RunEvent>
  let at = 0
  for (const events of arrays) for (const event of events) out[at++] = event
  return out
}

const isBeforeEnd = (event: RunEvent.RunEvent): boolean => RunEvent.isDurable(event) && !RunEvent.isEnd(event)

const makeReader = (store: SessionStore.SessionStore["Service"], sessionId: string): Reader => {
  let buffer: Array<Events> = []
  let size = 0
  let limit = capacity
  let missing: { from: number; readonly to: number } | undefined
  let missed = 0
  let ended: End | undefined
  let wake: (() => void) | undefined

  // after what runs now: a drive that publishes many arrays in a row wakes its reader once, and never runs its code
  const notify = () => {
    if (wake === undefined) return
    const resume = wake
    wake = undefined
    queueMicrotask(resume)
  }

  const lag = (from: number, to: number) => {
    missing = { from: missing?.from ?? from, to }
  }

  /** Keeps the buffer bounded; see the head of this file. */
  const compact = () => {
    const before = inOne(buffer, size)
    let events = RunEvents.joined(before)
    if (events.length > capacity / 2) {
      const cut = events.findLastIndex(isBeforeEnd)
      const dropped = events.slice(0, cut + 1).filter(RunEvent.isDurable)
      if (dropped.length > 0) lag(dropped[0]!.seq, dropped[dropped.length - 1]!.seq)
      events = events.slice(cut + 1)
    }
    missed += transients(before) - transients(events)
    size = events.length
    // what cannot become less, the deltas of one message, is not gone through again for every event
    limit = Math.max(capacity, 2 * size)
    buffer = Arr.isReadonlyArrayNonEmpty(events) ? [events] : []
  }

  const take = (): Events | undefined => {
    const events = inOne(buffer, size)
    if (!Arr.isReadonlyArrayNonEmpty(events)) return undefined
    buffer = []
    size = 0
    limit = capacity
    return events
  }

  const readMissing = (range: { from: number; readonly to: number }): Pull.Pull<Events, RunError.RunError> => {
    const to = Math.min(range.to, range.from + page - 1)
    return Stream.runCollect(store.read(sessionId, { from: range.from, to })).pipe(
      Effect.flatMap((events) => {
        if (missing === range) {
          if (to >= range.to) missing = undefined
          else range.from = to + 1
        } else if (missing !== undefined) missing = { from: to + 1, to: missing.to }
        return Arr.isReadonlyArrayNonEmpty(events) ? Effect.succeed(events) : pull
      })
    )
  }

  const pull: Pull.Pull<Events, RunError.RunError> = Effect.suspend(() => {
    if (missing !== undefined) return readMissing(missing)
    const events = take()
    if (events !== undefined) return Effect.succeed(events)
    if (ended !== undefined) return Exit.isSuccess(ended) ? Cause.done() : Effect.failCause(ended.cause)
    return Effect.callback<Events, RunError.RunError | Cause.Done>((resume) => {
      wake = () => resume(pull)
      return Effect.sync(() => {
        wake = undefined
      })
    })
  })

  return {
    push: (events) => {
      buffer.push(events)
      size += events.length
      if (size > limit) compact()
      notify()
    },
    end: (exit) => {
      ended = exit
      notify()
    },
    lag,
    pull,
    takeMissed: () => {
      const taken = missed
      missed = 0
      return taken
    },
    skip: () => {
      const wasMissing = missing !== undefined
      missing = undefined
      return wasMissing
    }
  }
}
