/**
 * One drive of a run, from its first event to its end: it opens the session, takes turns, and whatever happens, writes
 * one end, gives the session back, and only then shows the end.
 *
 * Does not own turns (`Turn`), nor which runs live in this process (`Runs`).
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import * as RunError from "../../run/RunError.ts"
import * as RunState from "../../run/RunState.ts"
import * as Alarm from "../../services/fibers/Alarm.ts"
import * as Grace from "../../services/Grace.ts"
import * as LeaveBehind from "../../services/LeaveBehind.ts"
import * as CallAround from "../env/CallAround.ts"
import * as DriveRequest from "../env/DriveRequest.ts"
import * as Env from "../env/Env.ts"
import * as LeftBehind from "../env/LeftBehind.ts"
import * as Observing from "../observe/Observing.ts"
import * as AfterCrash from "../open/AfterCrash.ts"
import * as Cost from "../open/Cost.ts"
import * as FirstEvent from "../open/FirstEvent.ts"
import * as Kin from "../open/Kin.ts"
import * as Opening from "../open/Opening.ts"
import * as Recovery from "../open/Recovery.ts"
import * as Ended from "../turn/Ended.ts"
import * as Turn from "../turn/Turn.ts"
import * as AgentRuns from "./AgentRuns.ts"
import * as CutShort from "./CutShort.ts"
import * as DurationLimit from "./DurationLimit.ts"
import * as Ending from "./Ending.ts"
import type * as Live from "./Live.ts"
import * as Stop from "./Stop.ts"
import * as Stoppable from "./Stoppable.ts"
import * as Telling from "./Telling.ts"

/** What a drive begins with. */
interface Beginning {
  readonly services: Env.Services
  readonly request: DriveRequest.DriveRequest
  readonly live: Live.Live
  readonly forget: Effect.Effect<void>
  readonly leftBehind: LeftBehind.LeftBehind
  /** holds the session */
  readonly scope: Scope.Closeable
}

/** One drive under way, and how far it has got. */
interface Driving extends Beginning {
  readonly observing: Observing.Observing
  /** set once the session is this drive's */
  taken: CutShort.Taken | undefined
  /** cuts the run off when its time is over */
  timer: Fiber.Fiber<void> | undefined
}

/**
 * Drives a run to its end; `forget` is called once the session is given back. Observers may take longer. It can be interrupted
 * only while it waits for its stoppable parts or for observers.
 */
export const drive = (
  services: Env.Services,
  request: DriveRequest.DriveRequest,
  live: Live.Live,
  forget: Effect.Effect<void>
): Effect.Effect<void> =>
  Effect.uninterruptible(Effect.suspend(() => {
    live.agentRuns.all.add(live)
    if (AgentRuns.isClosed(live.agentRuns)) Stop.cutOff(live, Stop.shutdown)
    const leftBehind = new LeftBehind.LeftBehind()
    const beginning: Beginning = { services, request, live, forget, leftBehind, scope: Scope.makeUnsafe() }
    const whole = Effect.flatMapEager(observe(beginning), (observing) => {
      live.observing = observing
      const driving: Driving = { ...beginning, observing, taken: undefined, timer: undefined }
      return Effect.updateContext(Effect.suspend(() => through(driving)), contextOf(driving))
    })
    // a bug of ours or of a tracer: nothing drives the run any more, so nobody is left waiting for it, and its session is not held
    return Effect.catchCause(
      whole,
      (cause) => Effect.andThen(release(beginning), Telling.refuse(live, RunError.fromCause(cause)))
    )
  }))

/** A drive is observed from before its session is opened, so that the spans of the opening are below the drive's span. */
const observe = ({ live, request: { brief, runId, sessionId, settings }, services }: Beginning) =>
  Observing.make(
    { agent: brief.agent, sessionId, runId, tools: brief.handlers.tools },
    services.model.info,
    live.feed,
    settings
  )

/** The context that everything in a drive works in. */
const contextOf = (driving: Driving) => (around: Context.Context<never>): Context.Context<never> => {
  const traced = Context.add(around, Tracer.ParentSpan, driving.observing.span)
  const heard = Context.add(traced, LeaveBehind.LeaveBehind, LeftBehind.listener(driving.leftBehind))
  const budgeted = Context.add(heard, CallAround.DriveBudget, driving.live.budget)
  return Context.add(budgeted, Stop.DriveAround, driving.live)
}

/** Works, and then ends. Called by code that the drive's fiber runs. */
const through = (driving: Driving): Effect.Effect<void> => {
  const { live, observing } = driving
  return Effect.flatMap(
    // turns get a second grace period: after the first one they may leave a call behind, and have to settle that
    Stoppable.run(live, Alarm.hold(() => work(driving)), () => live.env === undefined ? 1 : 2),
    (exit) =>
      Effect.flatMapEager(end(driving, exit), () => {
        live.budget.close()
        return observing.seen
      })
  )
}

/** Gives the session back. A stuck store is not waited for without end. */
const release = ({ forget, scope }: Pick<Driving, "forget" | "scope">): Effect.Effect<void> =>
  Effect.suspend(() => {
    const closing = Grace.closing(scope, Exit.void)
    return closing === undefined ? forget : Effect.andThen(closing, forget)
  })

type Replay = Extract<Opening.Opened, { _tag: "Replay" }>
type Worked = Ended.Ended | Replay
type Working = Effect.Effect<Worked, RunError.RunError>
type Preparing = Effect.Effect<Opening.Opened, RunError.RunError>

/** From the opening of the session to the end of the turns, or to what cuts them off; does not own what follows. */
const work = (driving: Driving): Working => {
  const { live, request, scope, services: { store } } = driving
  return Effect.flatMap(
    Scope.provide(Opening.open(store, request, live), scope),
    (found) =>
      Effect.flatMapEager(
        prepared(driving, found),
        (opened): Working => opened._tag === "Replay" ? Effect.succeed(opened) : begin(driving, opened)
      )
  )
}

/** What was found; by now the run is tied to its kin, its cost can be known, and a drive that died before this one has its end. */
const prepared = (
  { live, request, services }: Driving,
  found: Opening.Opened
): Preparing =>
  Effect.flatMapEager(
    Effect.flatMapEager(Kin.tie(services.store, request, live.budget, found), () =>
      Cost.check(services, request.settings.prices, found, live.budget)),
    (): Preparing => {
      if (found._tag !== "Ready" || !RunState.isOpen(found.state)) {
        return Effect.succeed(found)
      }
      const isAborting = AfterCrash.onlyAborts(request, found)
      if (isAborting && found.state.openCalls.length > 0) {
        Deferred.doneUnsafe(live.onlyAborts, Exit.void)
      }
      return AfterCrash.recovered(services, request, found, live.budget, (asking) =>
        isAborting ? live.abortRequest.around(asking) : asking)
    }
  )

/** Begins the work on the run, but takes no turn where it has died too often. */
const begin = (driving: Driving, found: Opening.Ready): Effect.Effect<Ended.Ended, RunError.RunError> =>
  Effect.flatMapEager(
    AfterCrash.isParked(driving.services.store, driving.request, found),
    (isParked) => underWay(driving, found, isParked)
  )

/** Stores the first event, from which on all is observed, and takes turns, unless the run is parked or was told to stop. */
const underWay = (
  driving: Driving,
  found: Opening.Ready,
  isParked: boolean
): Effect.Effect<Ended.Ended, RunError.RunError> => {
  const { leftBehind, live, observing, request, services } = driving
  // where a store made a success of its interruption, nothing more begins
  if (live.stopped !== undefined) return Effect.interrupt
  const data = DriveRequest.dataOf(found.begin, found.state.input)
  const env = Env.make(
    services,
    request,
    { inbox: live.inbox, budget: live.budget, feed: observing.start(found.state, data), leftBehind },
    found
  )
  driving.taken = { env, found }
  return Effect.flatMap(FirstEvent.write(env, found.begin, request.brief), () => {
    // those who wait for the first event go on within this: what they answer would not count
    const { due } = live.abortRequest
    if (due !== undefined) env.waitingCalls.close()
    live.began(env, isParked)
    if (live.stopped !== undefined) return Effect.interrupt
    if (due !== undefined) return abortAsDue(driving, env, due, found.state)
    if (isParked) return Effect.succeed(Ended.limited({ reason: "crashLoop" }))
    driving.timer = DurationLimit.start(env.journal, live)
    return Turn.takeTurns(env)
  })
}

/**
 * Carries out an abort that was asked before the run went on, once it is announced: nobody works on the run, so the application is
 * asked about calls that a dead drive started, as where the run is aborted without a drive.
 */
const abortAsDue = (
  { live, services }: Driving,
  env: Env.Env,
  announced: Deferred.Deferred<void>,
  found: RunState.RunState
): Effect.Effect<never, RunError.RunError> =>
  Effect.andThen(
    Effect.andThen(Deferred.await(announced), Recovery.settleOpen(env, services.store, found, "aborted")),
    Effect.suspend(() => {
      Stop.cutOff(live, Stop.requested)
      return Effect.never
    })
  )

/** Ends what was begun, and refuses what was not. */
const end = (driving: Driving, exit: Exit.Exit<Worked, RunError.RunError>): Effect.Effect<void> => {
  const { live, taken, timer } = driving
  timer?.interruptUnsafe()
  const finish = (env: Env.Env, ending: Ending.Ending) => Ending.finish(env, live, ending, release(driving))
  if (Exit.isSuccess(exit)) {
    return exit.value._tag === "Replay"
      ? Effect.andThen(release(driving), Telling.replay(live, exit.value.past))
      : finish(taken!.env, Ending.endedBy(taken!.env, exit.value))
  }
  const { cause } = exit
  const begun = CutShort.begunOf(live, taken, cause)
  if (begun === undefined) {
    return Effect.andThen(release(driving), Telling.refuse(live, CutShort.refusalOf(live, cause)))
  }
  if (begun.isUntold) live.began(begun.env)
  return finish(begun.env, CutShort.endingOf(begun.env, live, cause))
}
