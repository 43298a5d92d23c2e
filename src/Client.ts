/**
 * What an application does with an agent.
 *
 * Does not own how the agent is made (`Agent`), nor a run under way (`Run`).
 */
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { Run } from "./Run.ts"
import type * as Delivery from "./run/Delivery.ts"
import type * as RunError from "./run/RunError.ts"
import type * as RunEvent from "./run/RunEvent.ts"
import type * as RunInput from "./run/RunInput.ts"
import type * as RunResult from "./run/RunResult.ts"

/** What `recover` did with runs that no process was driving. */
export interface Recovered<A> {
  /** Taken up: they go on in the layer's scope, or got the end that their process could not write. */
  readonly runs: ReadonlyArray<Run<A>>
  /** Could not be taken up, and why. */
  readonly refused: ReadonlyArray<{ readonly sessionId: string; readonly error: RunError.RunError }>
  /** Why the search stopped before it had seen every session: the store failed, or the agent was closed. */
  readonly stoppedBy?: RunError.RunError
}

/** How a message to a run under way is sent. */
export interface MessageOptions {
  /**
   * names the message within the run: sent again under it, to whatever process, it is not said again, and its sender is told what became
   * of it. The first message under an id counts; under the run's own id, that is the one that it began with
   */
  readonly id?: string | undefined
}

/**
 * An agent as its callers use it: the service that `Agent.Service` defines, or what `Agent.make` returns. `A` is the
 * type of a run's answer: text, or what the output schema decodes. A run belongs to whoever reads `stream` or `resume`
 * or awaits `run`; a run that `start` began belongs to the agent's layer.
 */
export interface Client<A> {
  /**
   * Runs while it is consumed: interrupting the consumer aborts the run, unless it only attached to one that was there. The last
   * element is the end event; after a `RunFailed` the stream fails with its error.
   */
  readonly stream: (input: RunInput.RunInput) => Stream.Stream<RunEvent.RunEvent, RunError.RunError>
  /** Runs to the end. Interrupting it aborts the run, unless it only attached to one that was there. */
  readonly run: (input: RunInput.RunInput) => Effect.Effect<RunResult.RunResult<A>, RunError.RunError>
  /** Runs in the layer's scope: a consumer may leave and come back. Returns once the run's first event is stored. */
  readonly start: (input: RunInput.RunInput) => Effect.Effect<Run<A>, RunError.RunError>
  /** Continues a session's last run after any end except completion, as a `stream`. Never creates a session. */
  readonly resume: (input: RunInput.ResumeInput) => Stream.Stream<RunEvent.RunEvent, RunError.RunError>
  /** Continues as `resume` does, to the end, with the typed answer of `run`. Interrupting it aborts the run. */
  readonly resumeRun: (input: RunInput.ResumeInput) => Effect.Effect<RunResult.RunResult<A>, RunError.RunError>
  /** Continues as `resume` does, in the layer's scope as `start` does: a consumer may leave and come back. */
  readonly resumeStart: (input: RunInput.ResumeInput) => Effect.Effect<Run<A>, RunError.RunError>
  /**
   * Takes up the runs of this agent that ended with their process, which died or was shut down, or with their store, which did not
   * answer. They continue as by `resumeStart`, except those that an abort was requested for, and those that died so five times in a
   * row. While a reconciler is asked about the calls of a run that is to be aborted, this does not wait; `result` of the run does. A
   * run that died twice in a row waits a minute, and four times as long after each further death. A run is taken up only in the state
   * in which it was found: one that ends or is aborted meanwhile does not continue. A run that works for a tool call is left to the
   * run that made the call, and a run that another process drives is left to that process. Fails only when nothing was taken up: as
   * `SessionStore.list` does, with `ShuttingDown`, or with `InvalidInput`.
   */
  readonly recover: (input?: RunInput.RecoverInput) => Effect.Effect<Recovered<A>, RunError.RunError>
  /** The open questions of a session, in call order, without expired ones. `SessionNotFound` when unknown. */
  readonly approvals: (sessionId: string) => Effect.Effect<ReadonlyArray<RunResult.Approval>, RunError.RunError>
  /**
   * Answers a question, from any process; durable when it returns. Drives nothing: `resume` continues a suspended run; a run
   * that is live continues at once, in whatever process. The first of several answers counts. Fails, and records nothing:
   * `ApprovalNotOpen` when the question waits for no answer, `SessionNotFound` when the session is unknown, `InvalidInput` when the
   * tool does not take such `params` or give such a `result`, `SessionBusy` when whoever has the session drives no run (a compaction).
   * With `SessionBusy` too where a process that drives it has recorded nothing for ten seconds: it may do so later. When the store
   * fails, the answer may be recorded all the same.
   * A call with a `result` is settled with it, once, and its handler does not run. Closing the agent does not interrupt it.
   */
  readonly decide: (decision: RunInput.DecideInput) => Effect.Effect<void, RunError.RunError>
  /**
   * Says something to the session's run under way, in whatever process that is driven: as `Run.steer`, `Run.followUp` and `Run.queue`
   * do. `NotDelivered` where the last run is over or waits for people, and where no process drives it (`left`): nothing is stored then.
   * Where the run's process dies, what became of the message is known once somebody goes on with the run, and this waits for that.
   * Fails with `InvalidInput`, with `SessionNotFound` when the session is unknown, with `SessionBusy` when whoever has it drives no
   * run (a compaction), and when the store fails: it may have the message all the same.
   */
  readonly steer: (
    sessionId: string,
    message: RunInput.RunInput["input"],
    options?: MessageOptions
  ) => Effect.Effect<Delivery.Delivery, RunError.RunError>
  /** The same, when the run would otherwise complete. */
  readonly followUp: (
    sessionId: string,
    message: RunInput.RunInput["input"],
    options?: MessageOptions
  ) => Effect.Effect<Delivery.Delivery, RunError.RunError>
  /**
   * The same in two steps: returns once the message is stored, with an effect that awaits what becomes of it. Where nothing is stored it
   * returns too, and the effect says `NotDelivered` at once.
   */
  readonly queue: (
    sessionId: string,
    kind: "steer" | "followUp",
    message: RunInput.RunInput["input"],
    options?: MessageOptions
  ) => Effect.Effect<Effect.Effect<Delivery.Delivery, RunError.RunError>, RunError.RunError>
  /**
   * Ends the last run of a session, whatever its state; durable when it returns. A live run is aborted as by `Run.abort`, by the
   * process that drives it, once its first event is stored. A run that waits for people, or that `recover` would take up,
   * gets the end `RunAborted` (`requested`): its questions are closed, and only `resume` continues it. A `Reconciler` is asked about
   * calls that had started, unless the run died twice in a row. A run that is over stays as it is, and so do runs in other sessions
   * that its calls wait for. Fails with `SessionBusy` when whoever has the session drives no run (a compaction), `SessionNotFound`
   * when it is unknown, `ShuttingDown` when the agent is closed, and as the store does when it cannot store the end: the run may
   * then be continued.
   */
  readonly abort: (sessionId: string) => Effect.Effect<void, RunError.RunError>
  /**
   * Makes the context of a session smaller now, as the `ContextManager` does; durable when it returns. The log keeps
   * everything. Fails with `CompactionFailed` when nothing can be left out or the strategy fails; log and context are then
   * unchanged. Fails with `SessionBusy` when the session has a live run, which manages its context itself, `SessionNotFound` when
   * it is unknown, and `ShuttingDown` when the agent is closed. The limits of the last run do not apply, `timeouts.compaction`
   * does.
   */
  readonly compact: (sessionId: string) => Effect.Effect<RunResult.Compacted, RunError.RunError>
  /**
   * The agent's run with this id, if it is live in this process. Forks share run ids with their original: name the session
   * where both may be live, else you get the run that was started first.
   */
  readonly live: (runId: string, sessionId?: string) => Effect.Effect<Run<A> | undefined>
  /** The agent's live run of this session in this process, if any. A run that is just ending is awaited and not returned. */
  readonly liveIn: (sessionId: string) => Effect.Effect<Run<A> | undefined>
  /**
   * What happens in a session after the fact `after` (its `seq`; default 0, all), without an end: facts once and in order, whichever
   * process and agent they are of, and between them the live events of a run in this process. Of an answer under way that is first
   * one delta for each block with the text so far, then each new one. A client that comes back with the `seq` of its last fact misses
   * none and sees none twice. Fails with `SessionNotFound` when the session is unknown, with `InvalidInput` when it has no fact `after`,
   * as one that was removed and begun anew, and as the store does; not when a run fails.
   */
  readonly follow: (sessionId: string, after?: number) => Stream.Stream<RunEvent.RunEvent, RunError.RunError>
}
