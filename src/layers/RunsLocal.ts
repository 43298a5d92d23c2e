/** The live runs of this process, in memory. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as RunError from "../run/RunError.ts"
import * as Runs from "../services/Runs.ts"

export const make: Effect.Effect<Runs.Runs["Service"], never, Scope.Scope> = Effect.gen(function*() {
  const scope = yield* Effect.scope
  const byRun = new Map<string, Runs.LiveRun>()
  const bySession = new Map<string, Runs.LiveRun>()

  const found = (run: Runs.LiveRun): Effect.Effect<Runs.LiveRun, RunError.RunError> | undefined => {
    const same = byRun.get(run.runId)
    if (same !== undefined) {
      return same.fingerprint === run.fingerprint && same.sessionId === run.sessionId
        ? Effect.succeed(same)
        : Effect.fail(RunError.runConflict(run.runId))
    }
    const other = bySession.get(run.sessionId)
    return other === undefined ? undefined : Effect.fail(RunError.sessionBusy(run.sessionId, other.runId))
  }

  return {
    start: (run, drive) =>
      Effect.suspend(() => {
        const known = found(run)
        if (known !== undefined) return known
        if (scope.state._tag === "Closed") return Effect.fail(RunError.shuttingDown)
        byRun.set(run.runId, run)
        bySession.set(run.sessionId, run)
        const forget = Effect.sync(() => {
          if (byRun.get(run.runId) === run) byRun.delete(run.runId)
          if (bySession.get(run.sessionId) === run) bySession.delete(run.sessionId)
        })
        // started at once: a fiber interrupted before its first step would never say how the run ended
        return drive(forget).pipe(
          Effect.ensuring(forget),
          Effect.forkIn(scope, { startImmediately: true }),
          Effect.as(run)
        )
      }),
    live: (runId) => Effect.sync(() => byRun.get(runId))
  }
})

export const layer: Layer.Layer<Runs.Runs> = Layer.effect(Runs.Runs, make)
