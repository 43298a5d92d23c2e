/**
 * One drive of a run, from its first event to its end: it opens the session, takes turns, and whatever happens, writes
 * one end, gives the session back, and only then shows the end.
 *
 * Does not own turns (`Turn`), nor which runs live in this process (`Runs`).
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import * as RunError from "../../run/RunError.ts"
import * as RunState from "../../run/RunState.ts"
import * as Alarm from "../../services/Alarm.ts"
import * as Grace from "../../services/Grace.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Journal from "../log/Journal.ts"
import * as Observing from "../observe/Observing.ts"
import * as FirstEvent from "../open/FirstEvent.ts"
import * as HeldBack from "../open/HeldBack.ts"
import * as Opening from "../open/Opening.ts"
import * as Recovery from "../open/Recovery.ts"
import * as Cost from "../turn/Cost.ts"
import * as Turn from "../turn/Turn.ts"
import * as Ending from "./Ending.ts"
import * as Env from "./Env.ts"
import * as Live from "./Live.ts"
import * as Phase from "./Phase.ts"

/** One drive under way: what it was given, and how far it came. */
interface Driving {
  readonly services: Env.Services
  readonly request: Env.Request
  readonly live: Live.Live
  readonly forget: Effect.Effect<void>
  readonly observed: Observing.Observing["begin"]
  /** holds the session */
  readonly scope: Scope.Closeable
  /** the session as it was found, once it is this drive's */
  opened: Opening.Ready | undefined
  env: Env.Env | undefined
  /** cuts the run off when its time is over */
  timer: Fiber.Fiber<void> | undefined
}

/** Drives a run to its end; `forget` is called once the session is given back. Observers may take longer. */
export const drive = (
  services: Env.Services,
  request: Env.Request,
  live: Live.Live,
  forget: Effect.Effect<void>
): Effect.Effect<void> =>
  Effect.uninterruptibleMask((restore) => {
    live.track.add(live)
    return Effect.flatMap(Observing.make(services, request, live.feed), ({ begin: observed, end, seen, span }) => {
      live.observe = end
      const scope = Scope.makeUnsafe()
      const driving: Driving = {
        services,
        request,
        live,
        forget,
        observed,
        scope,
        opened: undefined,
        env: undefined,
        timer: undefined
      }
      const driven = Effect.flatMap(
        // its turns have calls to settle behind what they leave behind
        Phase.make(live, restore)(Alarm.hold(() => work(driving)), () => live.env === undefined ? 1 : 2),
        (exit) => Effect.andThen(conclude(driving, exit, restore), seen(restore))
      )
      // a bug of ours: nobody is left waiting, and no session held, for a run that has none left to drive it
      const whole = Effect.catchCause(
        driven,
        (cause) => Effect.andThen(release(driving), Ending.refuse(live, Ending.toRunError(cause)))
      )
      return Effect.provideService(whole, Tracer.ParentSpan, span)
    })
  })

/** A store that is stuck is not waited for without end. */
const release = ({ forget, scope }: Driving): Effect.Effect<void> =>
  Effect.andThen(Grace.close(scope, Exit.void), forget)

type Worked = Turn.Ending | Extract<Opening.Opened, { _tag: "Replay" }>

/** From the opening of the session to the end of the turns; does not own what follows, whatever cuts it off. */
const work = (driving: Driving): Effect.Effect<Worked, RunError.RunError> =>
  Effect.flatMap(Scope.provide(open(driving), driving.scope), (opened): ReturnType<typeof work> => {
    if (opened._tag === "Replay") return Effect.succeed(opened)
    driving.opened = opened
    return Effect.flatMap(begin(driving, opened), (env) => takeTurns(driving, env))
  })

const open = ({ request, services }: Driving) =>
  Effect.flatMap(
    Opening.open(services.store, request.sessionId, request.runId, request.begin, request.folded),
    (opened) => {
      const isDead = opened._tag === "Ready" && RunState.isOpen(opened.state)
      const mended = isDead ? mend(services, request, opened) : Effect.succeed(opened)
      return Effect.flatMapEager(Cost.check(services, opened), () => mended)
    }
  )

/** Stores the first event; all of the drive is seen from here on. */
const begin = (driving: Driving, opened: Opening.Ready): Effect.Effect<Env.Env, RunError.RunError> => {
  const { live, observed, request, services } = driving
  return Effect.flatMap(
    Effect.uninterruptible(observed(opened.state)),
    (feed) =>
      Effect.flatMap(Env.make(services, request, { inbox: live.inbox, feed }, opened), (env) => {
        // a store that makes a success of its interruption begins nothing more
        if (live.stopped !== undefined) return Effect.interrupt
        driving.env = env
        return Effect.map(FirstEvent.write(env, opened.begin, request.brief), () => {
          accept(live, env)
          return env
        })
      })
  )
}

/** The first event is in the store. */
const accept = (live: Live.Live, env: Env.Env): void => {
  live.env = env
  live.inbox.open(env.journal)
  Deferred.doneUnsafe(live.begun, Exit.void)
}

const takeTurns = (driving: Driving, env: Env.Env): Effect.Effect<Turn.Ending, RunError.RunError> => {
  const { live } = driving
  if (live.stopped !== undefined) return Effect.interrupt
  const { maxDuration } = env.journal.state.limits
  if (maxDuration === undefined) return Turn.takeTurns(env)
  const timed = Effect.map(Effect.forkDetach(limitDuration(env, live, maxDuration)), (timer) => {
    driving.timer = timer
  })
  // no timer is left to run that nobody knows of
  return Effect.andThen(Effect.uninterruptible(timed), Turn.takeTurns(env))
}

/** Ends what was begun, and refuses what was not. */
const conclude = (
  driving: Driving,
  exit: Exit.Exit<Worked, RunError.RunError>,
  restore: Phase.Restore
): Effect.Effect<void> => {
  const { env, live, opened, request, timer } = driving
  timer?.interruptUnsafe()
  const isBegun = live.env !== undefined
  live.env = undefined
  if (Exit.isSuccess(exit)) {
    return exit.value._tag === "Replay"
      ? Effect.andThen(release(driving), Ending.replay(live, exit.value))
      : Ending.finish(env!, live, exit.value, release(driving), restore)
  }
  const refuse = () => Effect.andThen(release(driving), Ending.refuse(live, causeOf(live, request.runId, exit.cause)))
  if (env === undefined || opened === undefined) return refuse()
  if (!isBegun) {
    if (opened.session.head() > opened.state.seq) {
      accept(live, env)
      live.env = undefined
    } // cut off before the store has answered, the run may have begun all the same: its end stands behind that answer
    else if (!isPending(exit.cause, env.journal, opened.state)) return refuse()
  }
  return Ending.finish(env, live, endingOf(env, live, exit.cause), release(driving), restore)
}

/** The first event is with the store, which has not said yet what became of it. */
const isPending = (cause: Cause.Cause<RunError.RunError>, journal: Journal.Journal, before: RunState.RunState) => {
  const { drive, runId } = journal.state
  return Cause.hasInterruptsOnly(cause) && (runId !== before.runId || drive > before.drive)
}

/** Why a run that never began did not. */
const causeOf = (live: Live.Live, runId: string, cause: Cause.Cause<RunError.RunError>): RunError.RunError => {
  if (!Cause.hasInterruptsOnly(cause)) return Ending.toRunError(cause)
  const isShutdown = live.stopped?._tag === "Abort" && live.stopped.reason === "shutdown"
  return isShutdown ? RunError.shuttingDown : RunError.abortedBeforeStart(runId)
}

/**
 * Ends a drive that died. Its end is stored with the first event of what follows, so that nobody finds one
 * without the other; a run that is not gone on with then is as it is.
 */
const mend = Effect.fnUntraced(function*(
  services: Env.Services,
  request: Env.Request,
  opened: Opening.Ready
): Effect.fn.Return<Opening.Opened, SessionStore.StoreError> {
  const { first, flush, second } = HeldBack.make(opened.session)
  const feed = yield* Observing.ofCrash(request.brief.agent)
  const env = yield* Env.make(services, request, { ...Env.unseen(), feed }, { ...opened, session: first })
  const isResumed = opened.begin._tag === "Resume"
  yield* Recovery.repair(env, isResumed)
  const state = env.journal.state
  const wasAborted = state.end?._tag === "RunAborted" && state.end.reason !== "crashed"
  const isOver = isResumed && (state.end?._tag === "RunLimited" || (wasAborted && request.begin._tag === "Start"))
  if (!isOver) return { ...opened, session: second, state, transcript: env.journal.transcript }
  yield* flush
  return { _tag: "Replay", past: { from: opened.from, to: state.seq, state } }
})

/** How a drive ends whose turns did not: what broke them, or who cut them off. */
const endingOf = (
  { journal }: Env.Env,
  live: Live.Live,
  cause: Cause.Cause<RunError.RunError>
): Ending.Ending => {
  const { stopped } = live
  // an interruption that nobody here asked for came from inside: a model or a strategy interrupted itself
  if (!Cause.hasInterruptsOnly(cause) || stopped === undefined) {
    return { _tag: "RunFailed", error: Ending.toRunError(cause) }
  }
  if (stopped._tag === "Failed") return { _tag: "RunFailed", error: stopped.error }
  if (stopped._tag === "Duration") return { _tag: "RunLimited", reason: "duration" }
  // one that was announced is what happened, also where another reason came before it was carried out
  return { _tag: "RunAborted", reason: journal.state.abortRequested ?? stopped.reason }
}

/** Cuts the run off when its time is over. */
const limitDuration = (
  { journal }: Pick<Env.Env, "journal">,
  live: Live.Live,
  maxDuration: number
): Effect.Effect<void> =>
  // time spent waiting for people does not count, so what is left is looked at again when it should be over
  Effect.suspend(() => {
    const left = maxDuration - RunState.totalsAt(journal.state, journal.now()).duration
    const pause = journal.state.waitingSince === undefined ? left : Math.max(left, 1000)
    if (left > 0) {
      return Effect.andThen(Effect.sleep(Duration.millis(pause)), limitDuration({ journal }, live, maxDuration))
    }
    return Effect.sync(() => Live.cutOff(live, { _tag: "Duration" }))
  })
