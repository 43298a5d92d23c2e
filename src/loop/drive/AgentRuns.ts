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

export const close = ({ closed }: AgentRuns): void => {
  Deferred.doneUnsafe(closed, Effect.fail(RunError.shuttingDown))
}
