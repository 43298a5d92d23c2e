/**
 * One reader of a feed, and its buffer: a reader that does not read costs at most 1,024 events, the deltas of one message joined
 * into a few, those of messages before it up to 65,536 characters, and a cursor.
 *
 * When the buffer is full, neighbouring deltas of one block are joined and other transient events are dropped; so are the deltas of
 * settled attempts once they are longer than that. Where that is not enough, everything up to the last durable event is dropped and
 * read again from the store, by `seq`, when the reader comes back. Dropped deltas of an attempt that counts are restated by durable
 * events; what a discarded one said is gone. An end stays in the buffer whatever happens. While the run goes on, a store that does
 * not answer is asked again: who reads slowly has not left.
 *
 * Does not own which events there are, nor who reads them (`Feed`).
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as RunError from "../../run/RunError.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import * as RunEvents from "../../run/RunEvents.ts"
import * as Pace from "../../services/fibers/Pace.ts"
import type * as SessionStore from "../../services/SessionStore.ts"

export type Events = Arr.NonEmptyReadonlyArray<RunEvent.RunEvent>
export type End = Exit.Exit<void, RunError.RunError>

export interface Watcher {
  readonly pull: Pull.Pull<Events, RunError.RunError>
  /** How many transient events were dropped since this was last called; joined deltas are not dropped. */
  readonly takeMissed: () => number
  /** Gives up facts that the store cannot give, and goes on after them; `false` where none are missing. */
  readonly skip: () => boolean
}

type Resume = (pulled: Watcher["pull"]) => void

/** When a store that did not give missing events is asked again. */
const askingAgain = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("2 seconds")])

/** Taken when this module loads, so that tests that fake timers keep no reader waiting. */
const { setImmediate } = globalThis

/** How many events a reader may lag before its buffer is compacted. */
const capacity = 1024
/** How many characters of settled attempts a full buffer keeps. */
const settledText = 65_536
/** How many events are read again from the store at a time. */
const page = 256

/** How many transient events there are; a joined delta counts as many as it joins. */
const transients = (events: ReadonlyArray<RunEvent.RunEvent>): number =>
  events.reduce((sum, event) => {
    if (RunEvent.isDurable(event)) return sum
    return sum + (RunEvent.isDelta(event) ? event.count ?? 1 : 1)
  }, 0)

/** All `size` events in one array, the given one where there is only one. Every delta goes through here; `flat` is slow. */
const inOne = (arrays: ReadonlyArray<Events>, size: number): ReadonlyArray<RunEvent.RunEvent> => {
  if (arrays.length === 1) return arrays[0]!
  const out = Arr.allocate<RunEvent.RunEvent>(size) as Array<RunEvent.RunEvent>
  let at = 0
  for (const events of arrays) for (const event of events) out[at++] = event
  return out
}

/** Without the deltas of settled attempts, where those are too long to keep: the message of one that counts restates them. */
const withoutLongText = (events: Array<RunEvent.RunEvent>): Array<RunEvent.RunEvent> => {
  const settled = events.findLastIndex((event) =>
    event._tag === "AssistantMessage" || event._tag === "AttemptDiscarded"
  )
  let length = 0
  for (const event of events.slice(0, settled + 1)) if (RunEvent.isDelta(event)) length += event.delta.length
  return length <= settledText ? events : events.filter((event, at) => at > settled || !RunEvent.isDelta(event))
}

const isBeforeEnd = (event: RunEvent.RunEvent): boolean => RunEvent.isDurable(event) && !RunEvent.isEnd(event)

export class FeedReader implements Watcher {
  readonly pull: Pull.Pull<Events, RunError.RunError> = Effect.suspend(() => this.#next())
  readonly #store: SessionStore.Store
  readonly #sessionId: string
  readonly #isPatient: boolean
  #buffer: Array<Events> = []
  #size = 0
  #limit = capacity
  #missing: { from: number; readonly to: number } | undefined
  #missed = 0
  #ended: End | undefined
  /** the last delta that the reader was told when it came; undefined once a later one is shown */
  #told: RunEvent.Delta | undefined
  /** the reader is to be woken in the next turn of the event loop */
  #isDue = false
  /** resumes a pull that waits; does nothing where that was interrupted since */
  #wake: Resume | undefined

  /** One that is not patient fails at once where the store cannot give what is missing. */
  constructor(store: SessionStore.Store, sessionId: string, isPatient: boolean) {
    this.#store = store
    this.#sessionId = sessionId
    this.#isPatient = isPatient
  }

  /** Wakes a pull that waits: for deltas alone once in a turn of the event loop, for all else before the next one. */
  push(pushed: Events, only?: "deltas"): void {
    const events = this.#told === undefined ? pushed : this.#untold(this.#told, pushed)
    if (events === undefined) return
    this.#buffer.push(events)
    this.#size += events.length
    if (this.#size > this.#limit) this.#compact()
    if (this.#wake === undefined) return
    if (only === undefined) this.#notify(this.#wake)
    else if (!this.#isDue) this.#notifySoon()
  }

  /** These deltas, of one attempt, restate all of it that has been shown, and all that was still to be shown. */
  catchUp(deltas: ReadonlyArray<RunEvent.Delta>): void {
    if (!Arr.isReadonlyArrayNonEmpty(deltas)) return
    this.push(deltas)
    this.#told = deltas[deltas.length - 1]!
  }

  end(exit: End): void {
    this.#ended = exit
    if (this.#wake !== undefined) this.#notify(this.#wake)
  }

  /** These durable events come from the store, before whatever is in the buffer. */
  lag(from: number, to: number): void {
    this.#missing = { from: this.#missing?.from ?? from, to }
  }

  takeMissed(): number {
    const taken = this.#missed
    this.#missed = 0
    return taken
  }

  skip(): boolean {
    const wasMissing = this.#missing !== undefined
    this.#missing = undefined
    return wasMissing
  }

  /** Those of `events` that the reader was not told when it came, if any. */
  #untold(told: RunEvent.Delta, events: Events): Events | undefined {
    const rest = events.filter((event) => {
      if (!RunEvent.isDelta(event)) return true
      const isTold = event.turn === told.turn && event.attempt === told.attempt &&
        event.index < told.index + told.count!
      if (!isTold) this.#told = undefined
      return !isTold
    })
    return Arr.isReadonlyArrayNonEmpty(rest) ? rest : undefined
  }

  /** Resumes after what runs now: a drive that publishes many arrays in a row wakes its reader once, and never runs the reader's code. */
  #notify(resume: Resume): void {
    this.#wake = undefined
    Pace.soon(() => resume(this.pull))
  }

  /** Resumes in the next turn of the event loop: what comes one by one until then, such as from a promise each, is read at once. */
  #notifySoon(): void {
    this.#isDue = true
    setImmediate(() => {
      this.#isDue = false
      const resume = this.#wake
      // the reader may have read since, and wait for more
      if (resume === undefined || this.#size === 0) return
      this.#wake = undefined
      resume(this.pull)
    })
  }

  /** Keeps the buffer bounded; see the head of this file. */
  #compact(): void {
    const before = inOne(this.#buffer, this.#size)
    let events = withoutLongText(RunEvents.joined(before))
    if (events.length > capacity / 2) {
      const cut = events.findLastIndex(isBeforeEnd)
      const dropped = events.slice(0, cut + 1).filter(RunEvent.isDurable)
      if (dropped.length > 0) this.lag(dropped[0]!.seq, dropped[dropped.length - 1]!.seq)
      events = events.slice(cut + 1)
    }
    this.#missed += transients(before) - transients(events)
    this.#size = events.length
    // what cannot shrink, the deltas of one message, is not gone through again for every event
    this.#limit = Math.max(capacity, 2 * this.#size)
    this.#buffer = Arr.isReadonlyArrayNonEmpty(events) ? [events] : []
  }

  #next(): typeof this.pull {
    if (this.#missing !== undefined) return this.#readMissing(this.#missing)
    const events = this.#take()
    if (events !== undefined) return Effect.succeed(events)
    const ended = this.#ended
    if (ended !== undefined) return Exit.isSuccess(ended) ? Cause.done() : Effect.failCause(ended.cause)
    return Effect.callback((resume) => {
      // what came between the check and the wait has woken nobody
      if (this.#size > 0 || this.#missing !== undefined || this.#ended !== undefined) resume(this.pull)
      else this.#wake = resume
    })
  }

  #take(): Events | undefined {
    if (this.#size === 0) return undefined
    const events = inOne(this.#buffer, this.#size) as Events
    this.#buffer = []
    this.#size = 0
    this.#limit = capacity
    return events
  }

  #readMissing(range: { from: number; readonly to: number }): typeof this.pull {
    const to = Math.min(range.to, range.from + page - 1)
    return Stream.runCollect(this.#store.read(this.#sessionId, { from: range.from, to })).pipe(
      Effect.retry({
        schedule: askingAgain,
        while: (error) => this.#isPatient && this.#ended === undefined && RunError.isStoreAway(error)
      }),
      Effect.flatMap((events) => {
        if (this.#missing === range) {
          if (to >= range.to) this.#missing = undefined
          else range.from = to + 1
        } else if (this.#missing !== undefined) this.#missing = { from: to + 1, to: this.#missing.to }
        return Arr.isReadonlyArrayNonEmpty(events) ? Effect.succeed(events) : this.pull
      })
    )
  }
}
