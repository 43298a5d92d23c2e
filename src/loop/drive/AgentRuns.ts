/** The runs of one agent that live in this process, each from the beginning of its drive until its end is told. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as RunError from "../../run/RunError.ts"
import type * as Runs from "../../services/Runs.ts"

export interface AgentRuns {
  readonly all: Set<Runs.LiveRun>
  /** fails with `ShuttingDown` once the agent's layer closes: from then on nothing begins */
  readonly closed: Deferred.Deferred<never, RunError.RunError>
}

export const make = (): AgentRuns => ({ all: new Set(), closed: Deferred.makeUnsafe() })

export const isClosed = ({ closed }: AgentRuns): boolean => Deferred.isDoneUnsafe(closed)

/** Interrupts `work` when the agent is closed, and fails with `ShuttingDown`. */
export const whileOpen = <A>(
  self: AgentRuns,
  work: Effect.Effect<A, RunError.RunError>
): Effect.Effect<A, RunError.RunError> => {
  const closed = Deferred.await(self.closed)
  return isClosed(self) ? closed : Effect.raceFirst(work, closed)
}

/** Aborts all runs, and awaits their ends. From then on no run and no compaction begins. */
export const close = (self: AgentRuns): Effect.Effect<void> =>
  Effect.suspend(() => {
    Deferred.doneUnsafe(self.closed, Effect.fail(RunError.shuttingDown))
    const aborted = (run: Runs.LiveRun) => run.abort("shutdown")
    return Effect.forEach(self.all, aborted, { concurrency: "unbounded", discard: true })
  })
