/**
 * How a drive begins in the log: a run is started, or resumed, and what an older run left waiting is settled before that.
 *
 * Does not own whether it may begin (`Opening`), nor the end of a drive that died before it (`AfterCrash`).
 */
import * as Effect from "effect/Effect"
import * as RunPolicy from "../../run/RunPolicy.ts"
import * as RunState from "../../run/RunState.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as DriveRequest from "../env/DriveRequest.ts"
import type * as Env from "../env/Env.ts"
import * as Unsettled from "../round/Unsettled.ts"

/** Records and stores the drive's first event. */
export const write = (
  env: Env.Env,
  begin: DriveRequest.Begin,
  brief: DriveRequest.Brief
): Effect.Effect<void, SessionStore.StoreError> => {
  const { journal } = env
  const before = journal.state
  const record = () => {
    if (begin._tag === "Start") start(env, begin, brief, before)
    else resume(env, begin, before)
    return journal.commit
  }
  // the application is asked however often the run before has died, as somebody is there who has sent a message
  return begin._tag === "Start" && before.openCalls.length > 0
    ? Effect.flatMap(Unsettled.settleAfter(env, "superseded", true), record)
    : record()
}

const start = (
  { budget: { parent }, journal }: Env.Env,
  { input }: DriveRequest.Start,
  { agent, instructionsDigest }: DriveRequest.Brief,
  before: RunState.RunState
): void => {
  // what was said to a run that died comes before the new message
  for (const { kind, messages, seq } of before.queued) {
    journal.record({ _tag: "InputReceived", kind, messages, queued: seq }, before.runId)
  }
  const started = { _tag: "RunStarted" as const, agent, input, instructions: instructionsDigest }
  journal.record(parent === undefined ? started : { ...started, parent })
  journal.move(before.status === "idle" ? "driveStarted" : "newInput")
}

const resume = (
  { journal }: Env.Env,
  { data, limits }: DriveRequest.Resume,
  before: RunState.RunState
): void => {
  journal.record({
    _tag: "RunResumed",
    drive: before.drive + 1,
    cause: before.crashes > 0 ? "recovery" : isDecided(before) ? "approval" : "resume",
    ...(limits === undefined ? {} : { limits: RunPolicy.merge(before.limits, limits) }),
    ...(data === undefined ? {} : { data })
  })
  journal.move(RunState.isTurnOpen(before) ? "resumedWithOpenCalls" : "resumed")
}

/** Somebody decided about a call while no drive was there, and it has not started since. */
const isDecided = ({ openCalls }: RunState.RunState) =>
  openCalls.some((call) => call.decision !== undefined && !OpenCall.hasStarted(call))
