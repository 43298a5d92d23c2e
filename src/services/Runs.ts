/**
 * The contract of the live runs of this process: found by run or by session, each driven in the layer's scope.
 *
 * Does not own what a drive does; the loop passes it in.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type * as Delivery from "../run/Delivery.ts"
import type * as DurableEvent from "../run/DurableEvent.ts"
import type * as RunError from "../run/RunError.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import type * as RunInput from "../run/RunInput.ts"
import type * as RunResult from "../run/RunResult.ts"

/** A run in this process, live or just ended. */
export interface LiveRun {
  readonly runId: string
  readonly sessionId: string
  /** the name of the agent that drives it */
  readonly agent: string
  /** what the run was started with */
  readonly input: RunInput.Effective
  /** Awaits that the drive's first event is stored; fails when the run is refused. */
  readonly begun: Effect.Effect<void, RunError.RunError>
  /**
   * Every fact from the drive's first event on, then live events, from the beginning of the answer under way. Each reader
   * may come, go and lag.
   */
  readonly events: Stream.Stream<RunEvent.RunEvent, RunError.RunError>
  /** Awaits the end. */
  readonly result: Effect.Effect<RunResult.RunResult<unknown>, RunError.RunError>
  /**
   * Answers one of the run's questions through its own writer; durable when it returns. `false`, with nothing recorded,
   * when the run's turns are over or being cut off: the answer then belongs after its end. An answer that another process sent is
   * recorded with its `id`.
   */
  readonly decide: (decision: RunInput.DecideInput, id?: string) => Effect.Effect<boolean, RunError.RunError>
  /**
   * Stores an input for the run's model and returns an effect that awaits what becomes of it. Interrupting that
   * withdraws nothing. Fails when the run never began, or when its store fails, which ends the run.
   */
  readonly accept: (
    input: Pick<DurableEvent.Of<"InputQueued">, "kind" | "messages" | "id">
  ) => Effect.Effect<Effect.Effect<Delivery.Delivery, RunError.RunError>, RunError.RunError>
  /** Its end has been shown; the session may still be taken while a store does not answer. */
  readonly isOver: () => boolean
  /** Ends the run and returns when it has ended; does nothing to one that has, and one whose end is being written keeps it. */
  readonly abort: (reason: RunEvent.AbortedReason) => Effect.Effect<void>
}

/** Where runs live: it drives them, and finds those that live here by their session. */
export class Runs extends Context.Service<Runs, {
  /**
   * Makes `run` known and drives it in the layer's scope, in the context of the fiber that asks: a drive looks up its
   * settings there, its agent's among them. Closing the layer interrupts all drives at once, in the order in which they
   * began, as far as they can be interrupted, and waits for them: a drive that was accepted always begins. The run is
   * forgotten when the drive says so, before it shows its end, so that whoever sees the end can start the next run; or
   * when the drive dies. If the session has a live run with the same id, that run is returned instead, and the caller
   * sees whether it asks for the same. Another live run in the session is `SessionBusy`; one that is over is awaited
   * until it is forgotten, interruptibly. Sessions are independent: a fork shares run ids with its original, and both
   * may be driven at once. What this service returns are the runs that it was given, and none of its own around them.
   */
  readonly start: (
    run: LiveRun,
    drive: (forget: Effect.Effect<void>) => Effect.Effect<void>
  ) => Effect.Effect<LiveRun, RunError.RunError>
  /**
   * The live run with this id, in this session if one is named. If none is, and the id is live in a session and in
   * forks of it: the run that was started first.
   */
  readonly live: (runId: string, sessionId?: string) => Effect.Effect<LiveRun | undefined>
  /** The live run of this session; one that is over is awaited until it is forgotten, interruptibly. */
  readonly inSession: (sessionId: string) => Effect.Effect<LiveRun | undefined>
}>()("fiberloop/services/Runs") {}
