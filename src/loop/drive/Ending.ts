/**
 * How a drive ends: what does not go on is settled, one end is written, the session given back, and only then is the end shown.
 *
 * Does not own why it ends (`CutShort`, `Ended`), nor who is told (`Telling`).
 */
import type * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as RunError from "../../run/RunError.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import * as RunState from "../../run/RunState.ts"
import * as RunStatus from "../../run/RunStatus.ts"
import * as Usage from "../../run/Usage.ts"
import * as Detached from "../../services/fibers/Detached.ts"
import * as Model from "../../services/Model.ts"
import * as Prices from "../../services/Prices.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Env from "../env/Env.ts"
import * as LeftOut from "../log/LeftOut.ts"
import * as TooLarge from "../log/TooLarge.ts"
import * as Unsettled from "../round/Unsettled.ts"
import * as CurrentModel from "../turn/CurrentModel.ts"
import type * as Ended from "../turn/Ended.ts"
import * as SoFar from "../turn/SoFar.ts"
import type * as Live from "./Live.ts"
import type * as Stop from "./Stop.ts"
import * as Stoppable from "./Stoppable.ts"
import * as Telling from "./Telling.ts"

export type Ending = Ended.Ended | Stop.Stop

/**
 * How a drive ends whose turns ended by themselves. If an abort was accepted but not carried out by then, a run that would wait for
 * people is aborted all the same: otherwise it would go on with their answers.
 */
export const endedBy = ({ journal }: Env.Env, ended: Ended.Ended): Ending => {
  const { abortRequested } = journal.state
  return ended._tag === "RunSuspended" && abortRequested !== undefined
    ? { _tag: "RunAborted", reason: abortRequested }
    : ended
}

/**
 * Settles what does not go on, writes the end, gives the session back, shows the end, and tells those who wait. Called by code that
 * the drive's fiber runs.
 */
export const finish = (
  env: Env.Env,
  live: Live.Live,
  ending: Ending,
  release: Effect.Effect<void>
): Effect.Effect<void> => {
  live.env = undefined
  // an answer that is still checked by now belongs after the end
  env.waitingCalls.close()
  record(env, live, ending)
  // a session given back before the store has answered would no longer take this end
  const sealing = Detached.startHere(seal(env, live, release))
  return Effect.flatMapEager(Stoppable.patiently(live, sealing, storeStuck), (sealed) => {
    if (Exit.isSuccess(sealed)) env.inbox.tell()
    if (sealing.pollUnsafe() === undefined) {
      const giveUp = Effect.andThen(Effect.raceFirst(Fiber.await(sealing), Effect.sleep(sealLimit)), release)
      Detached.startHere(giveUp)
    }
    return Telling.tell(live, resultOf(env, live, ending, sealed))
  })
}

/** Stores the recorded end, and gives the session back whether that succeeds or not. */
const seal = (
  env: Env.Env,
  live: Live.Live,
  release: Effect.Effect<void>
): Effect.Effect<void, SessionStore.StoreError> => {
  const giveBack = (cause: Cause.Cause<SessionStore.StoreError>) => Effect.andThen(release, Effect.failCause(cause))
  return Effect.catchCause(env.journal.seal(release), (cause) => {
    const error = LeftOut.tooLargeIn(cause)
    if (error === undefined) return giveBack(cause)
    // the event was left out, and the end with it
    record(env, live, { _tag: "RunFailed", error })
    return Effect.andThen(Effect.catchCause(env.journal.seal(release), giveBack), Effect.fail(error))
  })
}

/** Settles what does not go on, and records the end. */
const record = (env: Env.Env, live: Live.Live, ending: Ending): void => {
  const { journal } = env
  // what was said to a run that goes on by itself waits until then, and so do its calls
  const left = RunEvent.leftBy(ending)
  const waiting = env.inbox.close(journal, ending._tag, left).map(({ seq }) => seq)
  if (left !== undefined) Unsettled.settleLost(env)
  // a suspended run keeps its questions open
  else if (ending._tag !== "RunSuspended") Unsettled.settle(env, notExecuted[ending._tag])
  const move = endMove(journal.status, ending)
  if (move !== undefined) journal.move(move)
  const totals = RunState.totalsAt(journal.state, journal.now())
  const trace = live.observing?.trace
  const cutOff = cutOffOf(env)
  const kept = waiting.length === 0 ? {} : { kept: waiting }
  const end = {
    totals: cutOff === undefined ? totals : { ...totals, usage: Usage.add(totals.usage, cutOff.usage) },
    ...env.leftBehind.named(),
    ...(cutOff === undefined ? {} : { cutOff }),
    ...unfinishedOf(env),
    ...(trace === undefined ? {} : { trace })
  }
  journal.record(
    ending._tag === "RunFailed"
      ? { _tag: "RunFailed", error: RunError.toStored(ending.error), ...kept, ...end }
      : { ...ending, ...kept, ...end }
  )
}

/** What the model call under way has used, which no event of its own says. */
const cutOffOf = (env: Env.Env): ReturnType<typeof RunEvent.cutOffOf> => {
  const used = env.journal.comingIn?.used
  if (used === undefined || Usage.isNothing(used)) return undefined
  const { info } = CurrentModel.of(env)
  return { model: Model.refOf(info), usage: Prices.costed(env.prices, info, used) }
}

/** What the answer under way says so far; nothing of one that is more than an event holds. */
const unfinishedOf = ({ journal }: Env.Env): { readonly unfinished?: ReadonlyArray<string> } => {
  const unfinished = SoFar.texts(journal.comingIn?.content() ?? [])
  return unfinished.length === 0 || TooLarge.bytesOf(unfinished) !== undefined ? {} : { unfinished }
}

/** How long a store may take over an end before the session is given back without it. */
const sealLimit = Duration.seconds(30)

const storeStuck = new RunError.RetryableError({
  _tag: "StoreUnavailable",
  message: "the store did not take the end of the run within the grace period; check the store, or let Grace be longer"
})

const notExecuted = {
  RunCompleted: "stopped",
  RunLimited: "limit",
  RunAborted: "aborted",
  RunFailed: "failed"
} as const

const endMove = (status: RunEvent.Status, ending: Ending) => {
  // what broke the turns may have moved the status before they were cut off
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
      // any other failure has moved the status already
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
): Telling.Result => {
  if (ending._tag === "RunFailed") return Exit.fail(ending.error)
  return Exit.isFailure(sealed) ? Exit.fail(RunError.fromCause(sealed.cause)) : Telling.resultIn(live, journal.state)
}
