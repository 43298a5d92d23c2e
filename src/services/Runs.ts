/**
 * The contract of the live runs of this process: by run and by session, each driven in the layer's scope.
 *
 * Does not own what a drive does; the loop hands it in.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type * as Delivery from "../run/Delivery.ts"
import type * as RunError from "../run/RunError.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import type * as RunInput from "../run/RunInput.ts"
import type * as RunResult from "../run/RunResult.ts"
import type * as Queue from "../run/state/Queue.ts"

/** A run in this process, live or just ended. */
export interface LiveRun {
  readonly runId: string
  readonly sessionId: string
  /** canonical JSON of the effective input: equal inputs are one run */
  readonly canonicalInput: string
  /** Awaits the drive's first event in the store; fails when the run is refused. */
  readonly begun: Effect.Effect<void, RunError.RunError>
  /**
   * Every fact from the drive's first event on, then what happens live, from the beginning of the answer under way on. Each
   * reader may come, go and lag.
   */
  readonly events: Stream.Stream<RunEvent.RunEvent, RunError.RunError>
  /** Awaits the end. */
  readonly result: Effect.Effect<RunResult.RunResult<unknown>, RunError.RunError>
  /**
   * Answers a question of it through its own writer, durable when it returns. `false`, with nothing recorded, where its
   * turns are over: the answer belongs after its end then.
   */
  readonly decide: (decision: RunInput.DecideInput) => Effect.Effect<boolean, RunError.RunError>
  /**
   * Stores an input for the run's model and gives the effect that awaits what becomes of it. Interrupting that
   * withdraws nothing. Fails where the run never began, or its store fails, which ends the run.
   */
  readonly accept: (
    input: Pick<Queue.Queued, "kind" | "messages">
  ) => Effect.Effect<Effect.Effect<Delivery.Delivery, RunError.RunError>, RunError.RunError>
  /** Its end was told; the session may not be given back yet, where a store does not answer. */
  readonly isOver: () => boolean
  /** Ends the run and returns when it has ended; does nothing to one that has. */
  readonly abort: (reason: RunEvent.AbortedReason) => Effect.Effect<void>
}

export class Runs extends Context.Service<Runs, {
  /**
   * Makes `run` known and drives it in the layer's scope, and in the context of the fiber that asks: a drive looks its
   * settings up there, those of its agent among them. Closing the layer interrupts it, where it lets itself be
   * interrupted, and waits: what it was given is always begun. The run is forgotten when the drive says so, before it
   * shows its end, so that whoever sees that may start the next run; or when it dies. Where the session has a live run
   * with the same id and input, that is returned instead; with other input it is `RunConflict`. Another live run in the
   * session is `SessionBusy`; one that is over is waited for until it is forgotten, interruptibly. Sessions know
   * nothing of each other: a fork shares run ids with what it was copied from, and both may be driven at once.
   */
  readonly start: (
    run: LiveRun,
    drive: (forget: Effect.Effect<void>) => Effect.Effect<void>
  ) => Effect.Effect<LiveRun, RunError.RunError>
  /**
   * The live run with this id, in this session where one is named. Without, and with the id live in a session and in
   * forks of it, the one that was started first.
   */
  readonly live: (runId: string, sessionId?: string) => Effect.Effect<LiveRun | undefined>
  /** The live run of this session; one that is over is waited for until it is forgotten, interruptibly. */
  readonly inSession: (sessionId: string) => Effect.Effect<LiveRun | undefined>
}>()("fiberloop/services/Runs") {}
