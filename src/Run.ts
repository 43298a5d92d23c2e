/**
 * A live run, as the code that started or found it holds it.
 *
 * Does not own how it goes (`loop`), nor which runs live in this process (`services/Runs`).
 */
import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type * as Delivery from "./run/Delivery.ts"
import * as InputCheck from "./run/InputCheck.ts"
import type * as RunError from "./run/RunError.ts"
import type * as RunEvent from "./run/RunEvent.ts"
import type * as RunInput from "./run/RunInput.ts"
import type * as RunResult from "./run/RunResult.ts"
import type * as Runs from "./services/Runs.ts"

/** A live run: it belongs to the agent's layer, not to the readers of its events. */
export interface Run<A> {
  readonly runId: string
  readonly sessionId: string
  /**
   * Every fact from the drive's first event on, then live events. Of an answer under way, a reader first gets what was said so
   * far, one delta per block, then each further delta. Any number of readers may read it, leave, and read it again.
   */
  readonly events: Stream.Stream<RunEvent.RunEvent, RunError.RunError>
  /** Awaits the end. */
  readonly result: Effect.Effect<RunResult.RunResult<A>, RunError.RunError>
  /**
   * Says something to the run under way: text or user messages. They are stored at once and given to the model with its
   * next call; tools under way end normally before that. An answer that needs no tools is then not the last one. Returns
   * once the message is in the log as delivered, or the run has ended without it: a shutdown, or a store that does not answer,
   * keeps it for whoever goes on with the run. Interrupting this does not withdraw it.
   * Fails with `InvalidInput`, or when the store fails, which ends the run: whoever goes on with it may then deliver the message, if
   * the store has it.
   */
  readonly steer: (message: RunInput.RunInput["input"]) => Effect.Effect<Delivery.Delivery, RunError.RunError>
  /**
   * Says something as `steer` does, but only when the run would otherwise complete: the run then goes on with it, one
   * follow-up after the other.
   */
  readonly followUp: (message: RunInput.RunInput["input"]) => Effect.Effect<Delivery.Delivery, RunError.RunError>
  /**
   * A steer or a follow-up in two steps: returns once the input is stored, with an effect that awaits what becomes of
   * it. Of a run that is over nothing is stored, and the effect says `NotDelivered` at once.
   */
  readonly queue: (
    kind: "steer" | "followUp",
    message: RunInput.RunInput["input"]
  ) => Effect.Effect<Effect.Effect<Delivery.Delivery, RunError.RunError>, RunError.RunError>
  /**
   * Ends the run and returns when it has ended. The session takes a new message at once. A run whose end is being written by then keeps
   * that end: one that ends with its process, or since its store does not answer, goes on by itself later. `abort` of the agent, by
   * the session, ends that too.
   */
  readonly abort: Effect.Effect<void>
}

/** A live run whose result has the type of its agent's answer. */
export const make = <A>(run: Runs.LiveRun): Run<A> => {
  const queue: Run<A>["queue"] = (kind, message) =>
    Effect.flatMap(Effect.fromResult(InputCheck.said(kind, message)), (said) => run.accept(said))
  return {
    runId: run.runId,
    sessionId: run.sessionId,
    events: run.events,
    result: run.result as Effect.Effect<RunResult.RunResult<A>, RunError.RunError>,
    queue,
    steer: (message) => Effect.flatten(queue("steer", message)),
    followUp: (message) => Effect.flatten(queue("followUp", message)),
    abort: run.abort("requested")
  }
}
