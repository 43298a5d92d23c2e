/**
 * What an application does with an agent.
 *
 * Does not own how the agent is made (`Agent`), nor a run under way (`Run`).
 */
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { Run } from "./Run.ts"
import type * as RunError from "./run/RunError.ts"
import type * as RunEvent from "./run/RunEvent.ts"
import type * as RunInput from "./run/RunInput.ts"
import type * as RunResult from "./run/RunResult.ts"

/** What became of runs that nobody drove. */
export interface Recovered<A> {
  /** They go on in the layer's scope, or have the end now that their process could not write. */
  readonly runs: ReadonlyArray<Run<A>>
  /** They could not be taken up, and why. */
  readonly refused: ReadonlyArray<{ readonly sessionId: string; readonly error: RunError.RunError }>
  /** Why the look ended before it had seen all: the store failed, or the agent was closed. */
  readonly stoppedBy?: RunError.RunError
}

/**
 * An agent as its callers have it: the service that `Agent.Service` defines, or what `Agent.make` gives. `A` is what
 * its runs answer: text, or what its output schema decodes. A run belongs to whoever reads `stream` or `resume` or
 * awaits `run`, one that `start` began to the agent's layer.
 */
export interface Client<A> {
  /**
   * Runs while it is consumed: interrupting the consumer aborts the run. The last element is the end event; a
   * `RunFailed` is followed by its error.
   */
  readonly stream: (input: RunInput.RunInput) => Stream.Stream<RunEvent.RunEvent, RunError.RunError>
  /** Runs to the end. Interrupting it aborts the run. */
  readonly run: (input: RunInput.RunInput) => Effect.Effect<RunResult.RunResult<A>, RunError.RunError>
  /** Runs in the layer's scope: a consumer may leave and come back. Returns once the run's first event is stored. */
  readonly start: (input: RunInput.RunInput) => Effect.Effect<Run<A>, RunError.RunError>
  /** Goes on with a session's last run after any end but completion, as a `stream`. Never creates a session. */
  readonly resume: (input: RunInput.ResumeInput) => Stream.Stream<RunEvent.RunEvent, RunError.RunError>
  /** Goes on as `resume` does, to the end, with the typed answer that `run` gives. Interrupting it aborts the run. */
  readonly resumeRun: (input: RunInput.ResumeInput) => Effect.Effect<RunResult.RunResult<A>, RunError.RunError>
  /** Goes on as `resume` does, in the layer's scope, as `start`: a consumer may leave and come back. */
  readonly resumeStart: (input: RunInput.ResumeInput) => Effect.Effect<Run<A>, RunError.RunError>
  /**
   * Takes up the runs of this agent that ended with their process, which died or was shut down: they go on as `resumeStart` has them go
   * on, but for those that were to be aborted, and those that died five times in a row. One that died twice waits a minute, then four times as
   * long each time. Each is taken up only as it was found, so that what ends or is aborted meanwhile does not go on. A run that works for a
   * call is left to the run that made the call, and what another process drives to that. Where nothing was taken up it fails as
   * `SessionStore.list` does, with `ShuttingDown`, and with `InvalidInput`.
   */
  readonly recover: (input?: RunInput.RecoverInput) => Effect.Effect<Recovered<A>, RunError.RunError>
  /** The questions of a session that wait, in call order, but for expired ones. `SessionNotFound` when unknown. */
  readonly approvals: (sessionId: string) => Effect.Effect<ReadonlyArray<RunResult.Approval>, RunError.RunError>
  /**
   * Answers a question, from anywhere, durable when it returns; drives nothing: `resume` goes on with a run that was
   * suspended. A run that is live in this process goes on at once. Of several answers the first one counts, and a
   * question that waits for none is `ApprovalNotOpen`; a session that is live in another process is `SessionBusy`, one
   * that is not known `SessionNotFound`; `params` that the tool does not take, and a `result` that it does not give, are
   * `InvalidInput`. Nothing is recorded then. A call with a `result` is settled with it, once, and its handler does not run.
   */
  readonly decide: (decision: RunInput.DecideInput) => Effect.Effect<void, RunError.RunError>
  /**
   * Ends the last run of a session, wherever it stands, durable when it returns. One that lives is aborted as by `Run.abort`, in its
   * own process where that is another one, once its first event is stored. One that waits for people, or whose process died or was
   * shut down, gets the end `RunAborted` (`requested`), its questions are over, and nobody goes on with it but by `resume`. A
   * `Reconciler` is asked of calls that had started, unless the run died twice in a row. Runs that its calls wait for, in sessions
   * of their own, stay as they are, and so does one that is over. A session that somebody has who drives no run, as a compaction,
   * is `SessionBusy`, one that is not known `SessionNotFound`, a closed agent `ShuttingDown`; a store that does not take the end
   * fails as it does: the run may be gone on with then.
   */
  readonly abort: (sessionId: string) => Effect.Effect<void, RunError.RunError>
  /**
   * Makes the context of a session smaller now, as the `ContextManager` does it, durable when it returns; the log keeps
   * all. `CompactionFailed` where nothing can be left out or the strategy fails: log and context are as they were then.
   * `SessionBusy` where the session has a live run, which sees to its context itself. No limit of the last run holds it, but
   * `timeouts.compaction` does.
   */
  readonly compact: (sessionId: string) => Effect.Effect<RunResult.Compacted, RunError.RunError>
  /**
   * The run with this id, when it is live in this process. Forks have the run ids of what they were copied from: name
   * the session where both may be live, else it is the one that was started first.
   */
  readonly live: (runId: string, sessionId?: string) => Effect.Effect<Run<A> | undefined>
  /** The run of this session, when one is live in this process. One that ends just now is waited for, and is none. */
  readonly liveIn: (sessionId: string) => Effect.Effect<Run<A> | undefined>
}
