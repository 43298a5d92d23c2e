/**
 * Who watches runs besides their readers: a setting, by default nobody. An observer sees everything that a drive
 * publishes and never holds it up.
 *
 * Does not own how events reach an observer; the loop does. Code that may change or refuse what happens is a hook.
 */
import type * as Arr from "effect/Array"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Json } from "effect/Schema"
import type * as RunEvent from "../run/RunEvent.ts"

/** What a drive published since the batch before, in order. */
export interface Batch {
  readonly agent: string
  readonly sessionId: string
  readonly runId: string
  /** the run's `data`, as of this drive: a run that goes on in another process still has it */
  readonly data: Json | undefined
  /** an array of its own; the events in it are shared with readers and other observers, and not to be changed */
  readonly events: Arr.NonEmptyReadonlyArray<RunEvent.RunEvent>
  /**
   * How many transient events were dropped before these because the observer was slow; 0 while it keeps up. Deltas are
   * joined first (`count`), and a dropped delta is restated by the event that settles it. Durable events are never
   * dropped: those that did not fit in memory are read again from the store.
   */
  readonly missed: number
}

/** What an application provides to watch every run. */
export interface Observer {
  /** its name in the log */
  readonly name: string
  /**
   * Takes one batch at a time, on a fiber of its own for each drive, from the drive's first event to its end event;
   * events that come meanwhile wait in a buffer of about 1,024. A batch that it fails on is lost to it: a warning names
   * the observer, without the error, which may hold secrets, and it goes on with the next batch. The drive's result
   * does not wait for it. Closing the layer of `Runs` waits for at most the grace period, then interrupts it.
   */
  readonly observe: (batch: Batch) => Effect.Effect<void, unknown>
}

/**
 * Observers of all levels add up: those of the agent's layer see all its runs, those of the caller the runs that it
 * starts. One that is in both watches once. Agents that run inside a tool also have the observers of the run around
 * them. Nobody sees what a run does before its first event is stored.
 */
export const Observers = Context.Reference<ReadonlyArray<Observer>>("fiberloop/services/Observers", {
  defaultValue: () => none
})

const none: ReadonlyArray<Observer> = []
