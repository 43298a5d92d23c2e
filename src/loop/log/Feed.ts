/**
 * What a drive publishes, and its readers. Publishing never waits: each reader has a bounded buffer of its own.
 *
 * Does not own the order of events (`Journal`), nor what a buffer gives up when it is full (`FeedReader`).
 */
import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type * as RunError from "../../run/RunError.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import { type End, type Events, FeedReader, type Watcher } from "./FeedReader.ts"
import * as Reading from "./Reading.ts"

export class Feed {
  readonly #store: SessionStore.Store
  readonly #sessionId: string
  readonly #soFar: () => ReadonlyArray<RunEvent.Delta>
  #readers: ReadonlyArray<FeedReader> = []
  #firstReader: FeedReader | undefined
  #first = 0
  #last = 0
  #ended: End | undefined

  /**
   * With `isWatched`, the first reader sees everything from the first event on, deltas too, however late it comes. All others
   * begin with the facts, and with what `soFar` returns: the deltas of the answer under way, shown or not, joined.
   */
  constructor(
    store: SessionStore.Store,
    sessionId: string,
    isWatched: boolean,
    soFar: () => ReadonlyArray<RunEvent.Delta>
  ) {
    this.#store = store
    this.#sessionId = sessionId
    this.#soFar = soFar
    this.#firstReader = isWatched ? this.#enter(true) : undefined
  }

  /**
   * Hands events to every reader, in order, without waiting. Durable ones must already be in the store. With "deltas" the caller
   * promises that none of the events is durable, and none is looked for.
   */
  publish(events: Events, only?: "deltas"): void {
    for (let i = only === "deltas" ? 0 : events.length; i-- > 0;) {
      const event = events[i]!
      if (!RunEvent.isDurable(event)) continue
      if (this.#first === 0) this.#first = events.find(RunEvent.isDurable)!.seq
      this.#last = event.seq
      break
    }
    for (let i = 0; i < this.#readers.length; i++) this.#readers[i]!.push(events, only)
  }

  /** No more events; readers end, or fail, when they have read what there is. */
  end(exit: End): void {
    this.#ended = exit
    for (const reader of this.#readers) reader.end(exit)
    this.#readers = []
  }

  /** Says which events the store already holds: every reader, present or future, gets them from the store first. */
  replay(from: number, to: number): void {
    this.#first = from
    this.#last = to
    for (const reader of this.#readers) reader.lag(from, to)
  }

  /**
   * All facts of this drive, or of the run that is replayed, the earlier ones from the store; then live events, from the beginning
   * of the answer under way on. May be read by many, at any time; only the first reader, where one was announced, gets all deltas.
   */
  get events(): Stream.Stream<RunEvent.RunEvent, RunError.RunError> {
    return this.#readBy(() => this.open())
  }

  /**
   * The same for one who is not the first reader, however early it comes, and who has the facts before `from`. Where these are all that
   * were published, the last one is shown again.
   */
  eventsBeside(from = 1): Stream.Stream<RunEvent.RunEvent, RunError.RunError> {
    return this.#readBy(() => this.#openLater(from))
  }

  #readBy(open: () => FeedReader): Stream.Stream<RunEvent.RunEvent, RunError.RunError> {
    return Reading.stream({
      open: Effect.sync(open),
      close: (reader) => Effect.sync(() => this.leave(reader)),
      pull: (reader) => Effect.succeed(reader.pull)
    })
  }

  /** A reader of all facts, kept until it leaves. */
  open(): FeedReader {
    const first = this.#firstReader
    if (first !== undefined) {
      this.#firstReader = undefined
      return first
    }
    return this.#openLater()
  }

  #openLater(from = 1): FeedReader {
    const reader = this.#enter(true)
    if (this.#last > 0) reader.lag(Math.min(Math.max(this.#first, from), this.#last), this.#last)
    reader.catchUp(this.#soFar())
    return reader
  }

  leave(reader: FeedReader): void {
    this.#readers = this.#readers.filter((other) => other !== reader)
  }

  /** A reader of everything from now on, kept until the end; it knows what it missed, and waits for no store. */
  watch(): Watcher {
    return this.#enter(false)
  }

  #enter(isPatient: boolean): FeedReader {
    const reader = new FeedReader(this.#store, this.#sessionId, isPatient)
    // readers are few, and they stay: an array that is pushed to would have room for many
    if (this.#ended === undefined) this.#readers = [...this.#readers, reader]
    else reader.end(this.#ended)
    return reader
  }
}
