/**
 * How a run comes about in this process: started, attached to where it lives, or replayed where it has ended.
 *
 * Does not own how it is driven (`Drive`), which runs live here (`Runs`), nor what becomes of it in the end (`Started`).
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as RunError from "../../run/RunError.ts"
import type * as Runs from "../../services/Runs.ts"
import type * as AgentRuns from "../drive/AgentRuns.ts"
import * as Drive from "../drive/Drive.ts"
import * as Live from "../drive/Live.ts"
import * as Telling from "../drive/Telling.ts"
import * as CallAround from "../env/CallAround.ts"
import type * as DriveRequest from "../env/DriveRequest.ts"
import type * as Env from "../env/Env.ts"
import * as Kin from "../open/Kin.ts"
import * as Opening from "../open/Opening.ts"
import * as SameRequest from "../open/SameRequest.ts"
import * as Started from "./Started.ts"

/**
 * Starts a drive in the scope of `Runs` and returns once its first event is stored. A run with equal input that is live or in the
 * log is attached to instead; a live run is not resumed. Interrupted before the first event is stored, it aborts the run. `agentRuns`
 * hold the run until its end is told.
 */
export const start = (
  services: Env.Services,
  request: DriveRequest.DriveRequest,
  agentRuns: AgentRuns.AgentRuns
): Started.Starting =>
  // an interruption between the start and the wait would leave the run to itself
  Effect.uninterruptibleMask(() => startNow(services, request, agentRuns))

const startNow = (
  services: Env.Services,
  request: DriveRequest.DriveRequest,
  agentRuns: AgentRuns.AgentRuns
): Started.Starting => {
  const run = new Live.Live(services, request, agentRuns)
  const started = Effect.flatMap(
    services.runs.start(run, (forget) => Drive.drive(services, request, run, forget)),
    (known): Started.Starting => {
      if (known === run) return begun(run)
      return attach(known, request)
    }
  )
  return Effect.catch(started, (error) => {
    if (error.reason._tag !== "SessionBusy") return Effect.fail(error)
    return Effect.interruptible(replay(services, request, new Live.Live(services, request, agentRuns), error))
  })
}

/** The run that is live with the same ids. It goes on working for the call that began it when that call is made again. */
const attach = (live: Runs.LiveRun, request: DriveRequest.DriveRequest): Started.Starting => {
  const { begin, runId, sessionId, settings: { callAround } } = request
  // a resume that brings its own limits and data cannot attach
  if (begin._tag === "Resume") return Effect.fail(RunError.sessionBusy(sessionId, runId))
  const budget = live instanceof Live.Live ? live.budget : undefined
  const refusal = SameRequest.refusal(live, request, begin, SameRequest.isOfCall(budget?.parent, live, callAround))
  if (refusal !== undefined) return Effect.fail(refusal)
  return Effect.map(Effect.interruptible(live.begun), () => {
    if (budget !== undefined) CallAround.tieAgain(callAround, budget)
    return { run: live, isAttached: true }
  })
}

/**
 * The run, once it has begun. A run that was found does not end when its caller leaves; where an abort of it is carried out, nor is its
 * caller kept waiting while the application is asked what became of its calls.
 */
const begun = (run: Live.Live): Started.Starting => {
  const started = { run, isAttached: false } as const
  // a store that answers at once leaves nothing to wait for
  const { firstEvent: { effect }, isFound, onlyAborts } = run
  if (effect !== undefined) return Effect.mapEager(effect, () => started)
  return isFound
    ? Effect.interruptible(Effect.as(Effect.raceFirst(run.begun, Deferred.await(onlyAborts)), started))
    : Effect.onInterrupt(Effect.interruptible(Effect.as(run.begun, started)), () => Started.leave(started))
}

/** Replays a run that has ended, even while another run has the session. */
const replay = Effect.fnUntraced(function*(
  services: Env.Services,
  request: DriveRequest.DriveRequest,
  run: Live.Live,
  busy: RunError.RunError
): Effect.fn.Return<Started.Started, RunError.RunError> {
  const past = yield* Opening.past(services.store, request)
  if (past === undefined) return yield* busy
  yield* Kin.tie(services.store, request, run.budget, { _tag: "Replay", past })
  yield* Telling.replay(run, past)
  return { run, isAttached: true }
})
