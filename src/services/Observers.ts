/**
 * Who watches runs besides those that read them: a setting, by default nobody. An observer sees all that a drive
 * publishes and never holds it up.
 *
 * Does not own how events reach an observer; the loop does. What may change or refuse what goes on is a hook.
 */
import type * as Arr from "effect/Array"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as RunEvent from "../run/RunEvent.ts"

/** What a drive published since the batch before, in order. */
export interface Batch {
  readonly agent: string
  readonly sessionId: string
  readonly runId: string
  readonly events: Arr.NonEmptyReadonlyArray<RunEvent.RunEvent>
  /**
   * How many transient events were left out before these, because the observer was slow: 0 while it keeps up. Deltas
   * are joined first (`count`), and a delta that was left out is restated by the event that settles it. Durable events
   * are never left out: those that did not wait in memory are read again from the store.
   */
  readonly missed: number
}

/** What an application provides to watch every run. */
export interface Observer {
  /** how the log calls it */
  readonly name: string
  /**
   * Takes one batch at a time, on a fiber of its own for each drive, from the drive's first event to its end event;
   * what happens meanwhile waits in a buffer of about 1,024 events. A batch that it fails on is lost to it: it is named
   * in a warning, without the error, which may hold secrets, and goes on with the next. The drive's result does not
   * wait for it. Closing the layer of `Runs` does, for at most the grace period, and interrupts it then.
   */
  readonly observe: (batch: Batch) => Effect.Effect<void, unknown>
}

/**
 * Observers of all levels add up: those of the agent's layer, for all its runs, and those of the caller, for the runs
 * that it starts. One that stands in both watches once. Agents that run inside a tool have those of the run around them
 * too. What a run does before its first event is stored is seen by nobody.
 */
export const Observers = Context.Reference<ReadonlyArray<Observer>>("fiberloop/services/Observers", {
  defaultValue: () => none
})

const none: ReadonlyArray<Observer> = []
