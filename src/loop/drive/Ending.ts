/**
 * How a drive ends: what is open is settled, one end is written, the session given back, and only then is the end shown.
 *
 * Does not own why it ends; the drive says so.
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as RunResult from "../../run/RunResult.ts"
import * as RunState from "../../run/RunState.ts"
import * as RunStatus from "../../run/RunStatus.ts"
import * as Detached from "../../services/Detached.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Env from "../env/Env.ts"
import type * as Opening from "../open/Opening.ts"
import * as Unsettled from "../round/Unsettled.ts"
import type * as Ended from "../turn/Ended.ts"
import type * as Live from "./Live.ts"
import * as Phase from "./Phase.ts"

export type Ending =
  | Ended.Ended
  | { readonly _tag: "RunAborted"; readonly reason: RunEvent.AbortedReason }
  | { readonly _tag: "RunFailed"; readonly error: RunError.RunError }

/**
 * Settles what is open, writes the end, gives the session back, shows the end, and answers whoever waits. Called by code that
 * the drive's fiber runs.
 */
export const finish = (
  env: Env.Env,
  live: Live.Live,
  ending: Ending,
  release: Effect.Effect<void>
): Effect.Effect<void> => {
  live.env = undefined
  record(env, ending)
  // given back before the store has answered, the session would not take this end any more
  const sealing = Detached.start(seal(env, release), Detached.contextHere())
  return Effect.flatMapEager(Phase.patiently(live, sealing, storeStuck), (sealed) => {
    if (Exit.isSuccess(sealed)) env.inbox.answer()
    if (sealing.pollUnsafe() === undefined) {
      const giveUp = Effect.andThen(Effect.raceFirst(Fiber.await(sealing), Effect.sleep(patience)), release)
      Detached.start(giveUp, Detached.contextHere())
    }
    return tell(live, resultOf(env, live, ending, sealed))
  })
}

/** Stores the end that is recorded, and gives the session back whatever comes of that. */
const seal = (env: Env.Env, release: Effect.Effect<void>): Effect.Effect<void, SessionStore.StoreError> => {
  const giveBack = (cause: Cause.Cause<SessionStore.StoreError>) => Effect.andThen(release, Effect.failCause(cause))
  return Effect.catchCause(env.journal.seal(release), (cause) => {
    const error = Cause.findErrorOption(cause)
    if (error._tag === "None" || error.value.reason._tag !== "EventTooLarge") return giveBack(cause)
    // it was left out, and the end with it
    record(env, { _tag: "RunFailed", error: error.value })
    return Effect.andThen(Effect.catchCause(env.journal.seal(release), giveBack), Effect.fail(error.value))
  })
}

type Result = Exit.Exit<RunResult.RunResult<unknown>, RunError.RunError>

/** Settles what is open and records the end. */
const record = (env: Env.Env, ending: Ending): void => {
  const { journal } = env
  env.inbox.close(journal, ending._tag)
  // a suspended run keeps its questions open
  if (ending._tag !== "RunSuspended") Unsettled.settle(env, notExecuted[ending._tag])
  const move = endMove(journal.status, ending)
  if (move !== undefined) journal.move(move)
  const totals = RunState.totalsAt(journal.state, journal.now())
  const names = env.leftBehind.names()
  const end = { totals, ...(names.length === 0 ? {} : { leftBehind: names }) }
  journal.record(
    ending._tag === "RunFailed"
      ? { _tag: "RunFailed", error: RunError.toStored(ending.error), ...end }
      : { ...ending, ...end }
  )
}

/** How long a store may take over an end before the session is given back without it. */
const patience = Duration.seconds(30)

const storeStuck = new RunError.RetryableError({
  _tag: "StoreUnavailable",
  message: "the store did not take the run's end in time"
})

const notExecuted = {
  RunCompleted: "stopped",
  RunLimited: "limit",
  RunAborted: "aborted",
  RunFailed: "failed"
} as const

const endMove = (status: RunEvent.Status, ending: Ending) => {
  // what broke the turns may have moved already before they were cut off
  if (RunStatus.isEnd(status)) return undefined
  switch (ending._tag) {
    case "RunCompleted":
      return "stop"
    case "RunLimited":
      return "limitReached"
    case "RunSuspended":
      return "nobodyAnswers"
    case "RunAborted":
      return "aborted"
    case "RunFailed":
      // whatever else fails a run has moved by itself
      return ending.error.reason._tag in ofStore ? "storeFailed" : "defect"
  }
}

const ofStore: Record<SessionStore.StoreError["reason"]["_tag"], true> = {
  StoreUnavailable: true,
  StoreRefused: true,
  StaleWriter: true,
  EventTooLarge: true,
  SessionBusy: true,
  SessionNotFound: true,
  InvalidInput: true
}

const resultOf = (
  { journal }: Env.Env,
  live: Live.Live,
  ending: Ending,
  sealed: Exit.Exit<void, RunError.RunError>
): Result => {
  if (ending._tag === "RunFailed") return Exit.fail(ending.error)
  return Exit.isFailure(sealed) ? Exit.fail(RunError.fromCause(sealed.cause)) : resultIn(live, journal.state)
}

/** What the log says. */
const resultIn = (live: Live.Live, state: RunState.RunState): Result => {
  const { end } = state
  if (end === undefined) return Exit.die(new Error("fiberloop: a run without an end has no result"))
  if (end._tag === "RunFailed") return Exit.fail(RunError.fromStored(end.error))
  try {
    return Exit.succeed(RunResult.fromState(live.sessionId, state, end, live.output))
  } catch (error) {
    // an answer of an older schema, read back from the log
    return Exit.fail(RunError.invalidOutput(error instanceof Error ? error.message : "it cannot be decoded"))
  }
}

/** The run never began; whoever started it learns why. */
export const refuse = (live: Live.Live, error: RunError.RunError) => Effect.suspend(() => tell(live, Exit.fail(error)))

/** The run is in the log: its readers get its events from there, and its result is what it was. */
export const replay = (live: Live.Live, { past }: Extract<Opening.Opened, { _tag: "Replay" }>) =>
  Effect.suspend(() => {
    live.feed.replay(past.from, past.to)
    Deferred.doneUnsafe(live.begun, Exit.void)
    return tell(live, resultIn(live, past.state))
  })

/** Answers whoever waits; for the first event, where that did not come before. */
const tell = (live: Live.Live, result: Result): Effect.Effect<void> =>
  Effect.mapEager(live.observing?.end(result) ?? Effect.void, () => {
    live.feed.end(Exit.asVoid(result))
    if (Exit.isFailure(result)) live.inbox.fail(RunError.fromCause(result.cause))
    live.track.delete(live)
    Deferred.doneUnsafe(live.ended, result)
    Deferred.doneUnsafe(live.begun, Exit.asVoid(result))
  })
