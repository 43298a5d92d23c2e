/** The live runs of this process, in memory: at most one a session. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as RunError from "../run/RunError.ts"
import * as Runs from "../services/Runs.ts"

export const make: Effect.Effect<Runs.Runs["Service"], never, Scope.Scope> = Effect.gen(function*() {
  const scope = yield* Effect.scope
  const live = new Map<string, Runs.LiveRun>()

  const found = (run: Runs.LiveRun): Effect.Effect<Runs.LiveRun, RunError.RunError> | undefined => {
    const known = live.get(run.sessionId)
    if (known === undefined) return undefined
    if (known.runId !== run.runId) return Effect.fail(RunError.sessionBusy(run.sessionId, known.runId))
    return known.fingerprint === run.fingerprint ? Effect.succeed(known) : Effect.fail(RunError.runConflict(run.runId))
  }

  return {
    start: (run, drive) =>
      Effect.suspend(() => {
        const known = found(run)
        if (known !== undefined) return known
        if (scope.state._tag === "Closed") return Effect.fail(RunError.shuttingDown)
        live.set(run.sessionId, run)
        const forget = Effect.sync(() => {
          if (live.get(run.sessionId) === run) live.delete(run.sessionId)
        })
        // started at once: a fiber interrupted before its first step would never say how the run ended
        return drive(forget).pipe(
          Effect.ensuring(forget),
          Effect.forkIn(scope, { startImmediately: true }),
          Effect.as(run)
        )
      }),
    live: (runId, sessionId) =>
      Effect.sync(() => {
        if (sessionId === undefined) return live.values().find((run) => run.runId === runId)
        const run = live.get(sessionId)
        return run?.runId === runId ? run : undefined
      })
  }
})

export const layer: Layer.Layer<Runs.Runs> = Layer.effect(Runs.Runs, make)
