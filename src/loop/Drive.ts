/**
 * One drive of a run, from its first event to its end: it opens the session, takes turns, and whatever happens, writes
 * one end, gives the session back, and only then shows the end.
 *
 * Does not own turns (`Turn`), nor which runs live in this process (`Runs`).
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as RunError from "../run/RunError.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import * as RunInput from "../run/RunInput.ts"
import * as RunResult from "../run/RunResult.ts"
import * as RunState from "../run/RunState.ts"
import type * as ContextManager from "../services/ContextManager.ts"
import * as Grace from "../services/Grace.ts"
import type * as Model from "../services/Model.ts"
import * as RetryPolicy from "../services/RetryPolicy.ts"
import type * as Runs from "../services/Runs.ts"
import type * as SessionStore from "../services/SessionStore.ts"
import type * as ToolExecutor from "../services/ToolExecutor.ts"
import type * as Env from "./Env.ts"
import * as Feed from "./Feed.ts"
import * as Journal from "./Journal.ts"
import * as Opening from "./Opening.ts"
import * as ToolRound from "./ToolRound.ts"
import * as Turn from "./Turn.ts"

/** The services a drive works with. */
export interface Services {
  readonly model: Model.Model["Service"]
  readonly store: SessionStore.SessionStore["Service"]
  readonly executor: ToolExecutor.ToolExecutor["Service"]
  readonly context: ContextManager.ContextManager["Service"]
  readonly runs: Runs.Runs["Service"]
}

/** What the agent brings, made for the input of this run. */
export interface Brief
  extends Pick<Env.Env, "handlers" | "system" | "tools" | "inputDigest" | "timeouts" | "policy" | "checkOutput">
{
  readonly agent: string
  /** SHA-256 of the instructions, hex */
  readonly instructions: string
  /** The typed answer of a final text that `checkOutput` accepts. */
  readonly output: (text: string) => unknown
}

export interface Request {
  readonly sessionId: string
  readonly runId: string
  readonly begin: Opening.Begin
  readonly brief: Brief
  /** what is known of the log already */
  readonly folded: Opening.Folded
  /** somebody will read the events from the first on */
  readonly isWatched: boolean
  /** holds the run while it is driven */
  readonly track: Set<Runs.LiveRun>
}

/** A run that was started, or one that was there already and is attached to: that one is somebody else's to abort. */
export interface Started {
  readonly run: Runs.LiveRun
  readonly isAttached: boolean
}

/** Why the turns were cut off from outside. */
type Stop =
  | { readonly _tag: "Abort"; readonly reason: RunEvent.AbortedReason }
  | { readonly _tag: "Duration" }

/** The parts of a run that outlive its drive: its readers and its result. */
interface Live {
  readonly feed: Feed.Feed
  readonly accepted: Deferred.Deferred<void, RunError.RunError>
  readonly result: Deferred.Deferred<RunResult.RunResult<unknown>, RunError.RunError>
  /** cuts the turns off; set while they are taken */
  stop: ((stop: Stop) => Effect.Effect<void>) | undefined
}

/**
 * Starts a drive in the scope of `Runs` and returns once its first event is stored. A run that is live or in the log
 * with equal input is attached to instead. Interrupted before that, it aborts the run.
 */
export const start = Effect.fnUntraced(function*(
  services: Services,
  request: Request
): Effect.fn.Return<Started, RunError.RunError> {
  const { runId, sessionId } = request
  const live: Live = {
    feed: Feed.make(services.store, sessionId, request.isWatched),
    accepted: Deferred.makeUnsafe(),
    result: Deferred.makeUnsafe(),
    stop: undefined
  }
  const settled = Effect.exit(Deferred.await(live.result)).pipe(Effect.asVoid)
  const run: Runs.LiveRun = {
    runId,
    sessionId,
    fingerprint: RunInput.canonical(request.begin),
    events: live.feed.events,
    result: Deferred.await(live.result),
    abort: (reason) =>
      Effect.andThen(Effect.suspend(() => live.stop?.({ _tag: "Abort", reason }) ?? Effect.void), settled)
  }
  const tracked = Effect.suspend(() => {
    request.track.add(run)
    return Effect.ensuring(drive(services, request, live), Effect.sync(() => request.track.delete(run)))
  })
  const known = yield* services.runs.start(run, tracked)
  if (known !== run) return { run: known, isAttached: true }
  yield* Deferred.await(live.accepted).pipe(Effect.onInterrupt(() => run.abort("consumer")))
  return { run, isAttached: false }
})

const drive = (services: Services, request: Request, live: Live): Effect.Effect<void> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const release = Scope.close(scope, Exit.void)
      const { begin, folded, runId, sessionId } = request
      const opened = yield* Opening.open(services.store, sessionId, runId, begin, folded).pipe(
        Scope.provide(scope),
        restore,
        Effect.exit
      )
      if (Exit.isFailure(opened)) {
        yield* release
        return yield* refuse(live, toRunError(opened.cause))
      }
      if (opened.value._tag === "Replay") {
        yield* release
        return yield* replay(live, request, opened.value)
      }
      const env = yield* makeEnv(services, request, live, opened.value)
      const started = yield* Effect.exit(restore(begun(env, request, opened.value.state)))
      if (Exit.isFailure(started)) {
        yield* release
        return yield* refuse(live, toRunError(started.cause))
      }
      yield* Deferred.succeed(live.accepted, undefined)
      const ending = yield* takeTurns(env, live, restore)
      yield* finish(env, request, live, ending, release)
    })
  )

const makeEnv = Effect.fnUntraced(function*(
  services: Services,
  request: Request,
  live: Live,
  opened: Extract<Opening.Opened, { _tag: "Ready" }>
): Effect.fn.Return<Env.Env> {
  const { session, state, transcript } = opened
  return {
    ...services,
    ...request.brief,
    sessionId: request.sessionId,
    retry: yield* RetryPolicy.RetryPolicy,
    leftBehind: new Map(),
    journal: Journal.make({
      session,
      state,
      transcript,
      runId: request.runId,
      feed: live.feed,
      clock: yield* Clock.Clock
    })
  }
})

/** Records and stores the drive's first event. */
const begun = (env: Env.Env, { begin, brief }: Request, before: RunState.RunState) => {
  const { journal } = env
  if (begin._tag === "Start") {
    journal.record({ _tag: "RunStarted", agent: brief.agent, input: begin.input, instructions: brief.instructions })
    journal.move(before.status === "idle" ? "driveStarted" : "newInput")
  } else {
    journal.record({
      _tag: "RunResumed",
      drive: before.drive + 1,
      cause: "resume",
      ...(begin.limits === undefined ? {} : { limits: { ...before.limits, ...begin.limits } }),
      ...(begin.data === undefined ? {} : { data: begin.data })
    })
    journal.move("resumed")
  }
  return journal.commit
}

type Ending =
  | Turn.Ending
  | { readonly _tag: "RunAborted"; readonly reason: RunEvent.AbortedReason }
  | { readonly _tag: "RunFailed"; readonly error: RunError.RunError }

/** Takes turns until they end or are cut off, and says how it ended; never fails and is never interrupted itself. */
const takeTurns = Effect.fnUntraced(function*(
  env: Env.Env,
  live: Live,
  restore: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
): Effect.fn.Return<Ending> {
  let stopped: Stop | undefined
  const turns = yield* Effect.forkChild(restore(Grace.severed(Turn.takeTurns(env), Effect.void, 2)))
  const cutOff = (stop: Stop) => {
    stopped ??= stop
    turns.interruptUnsafe()
  }
  live.stop = (stop) =>
    stopped === undefined && stop._tag === "Abort" && stop.reason === "requested"
      ? announceAbort(env).pipe(Effect.andThen(Effect.sync(() => cutOff(stop))))
      : Effect.sync(() => cutOff(stop))
  const timer = yield* limitDuration(env, cutOff)
  const awaited = yield* Effect.exit(restore(Fiber.await(turns)))
  if (Exit.isFailure(awaited)) cutOff({ _tag: "Abort", reason: "shutdown" })
  const exit = Exit.isSuccess(awaited) ? awaited.value : yield* Fiber.await(turns)
  live.stop = undefined
  if (timer !== undefined) yield* Fiber.interrupt(timer)
  if (Exit.isSuccess(exit)) return exit.value
  if (!Cause.hasInterruptsOnly(exit.cause)) return { _tag: "RunFailed", error: toRunError(exit.cause) }
  if (stopped?._tag === "Duration") return { _tag: "RunLimited", reason: "duration" }
  return { _tag: "RunAborted", reason: stopped?.reason ?? "shutdown" }
})

/** The abort is accepted, before it is carried out; a store that does not take that does not hold it up. */
const announceAbort = (env: Env.Env) =>
  Effect.suspend(() => {
    env.journal.record({ _tag: "AbortRequested", reason: "requested" })
    return Grace.within(env.journal.commit)
  })

const limitDuration = Effect.fnUntraced(function*(env: Env.Env, cutOff: (stop: Stop) => void) {
  const { limits, totals } = env.journal.state()
  if (limits.maxDuration === undefined) return undefined
  const left = Duration.millis(Math.max(0, limits.maxDuration - totals.duration))
  return yield* Effect.forkChild(
    Effect.interruptible(Effect.andThen(Effect.sleep(left), Effect.sync(() => cutOff({ _tag: "Duration" }))))
  )
})

/** Settles what is open, writes the end, gives the session back, shows the end, and answers whoever waits. */
const finish = Effect.fnUntraced(function*(
  env: Env.Env,
  request: Request,
  live: Live,
  ending: Ending,
  release: Effect.Effect<void>
) {
  const { journal } = env
  ToolRound.settleOpen(env, notExecuted[ending._tag])
  const move = endMove(journal.status(), ending)
  if (move !== undefined) journal.move(move)
  const totals = RunState.totalsAt(journal.state(), journal.now())
  const names = Array.from(env.leftBehind.values(), (left) => left.tool)
  const end = { totals, ...(names.length === 0 ? {} : { leftBehind: names }) }
  journal.record(
    ending._tag === "RunFailed"
      ? { _tag: "RunFailed", error: RunError.toStored(ending.error), ...end }
      : { ...ending, ...end }
  )
  const seal = journal.seal(release)
  const sealed = ending._tag === "RunAborted"
    ? Option.getOrElse(yield* Grace.within(seal), () => Exit.fail(storeStuck))
    : yield* Effect.exit(seal)
  yield* release
  if (ending._tag === "RunFailed") return yield* conclude(live, Exit.fail(ending.error))
  if (Exit.isFailure(sealed)) return yield* conclude(live, Exit.fail(toRunError(sealed.cause)))
  return yield* conclude(live, resultOf(request, journal.state()))
})

const storeStuck = new RunError.RetryableError({
  _tag: "StoreUnavailable",
  message: "the store did not take the end of an aborted run in time"
})

const notExecuted = {
  RunCompleted: "stopped",
  RunLimited: "limit",
  RunAborted: "aborted",
  RunFailed: "failed"
} as const

const endMove = (status: RunEvent.Status, ending: Ending) => {
  switch (ending._tag) {
    case "RunCompleted":
      return "stop"
    case "RunLimited":
      return "limitReached"
    case "RunAborted":
      return "aborted"
    case "RunFailed":
      return status === "failed" ? undefined : ending.error.reason._tag === "Unknown" ? "defect" : "storeFailed"
  }
}

const resultOf = (
  request: Pick<Request, "sessionId" | "brief">,
  state: RunState.RunState
): Exit.Exit<RunResult.RunResult<unknown>, RunError.RunError> => {
  const { end } = state
  if (end === undefined) return Exit.die(new Error("fiberloop: a run without an end has no result"))
  return end._tag === "RunFailed"
    ? Exit.fail(RunError.fromStored(end.error))
    : Exit.succeed(RunResult.fromState(request.sessionId, state, end, request.brief.output))
}

const refuse = (live: Live, error: RunError.RunError) =>
  Effect.andThen(conclude(live, Exit.fail(error)), Deferred.fail(live.accepted, error))

/** The run is in the log: its readers get its events from there, and its result is what it was. */
const replay = (live: Live, request: Request, { past }: Extract<Opening.Opened, { _tag: "Replay" }>) => {
  live.feed.replay(past.from, past.to)
  return Effect.andThen(conclude(live, resultOf(request, past.state)), Deferred.succeed(live.accepted, undefined))
}

const conclude = (live: Live, result: Exit.Exit<RunResult.RunResult<unknown>, RunError.RunError>) =>
  Effect.suspend(() => {
    live.feed.end(Exit.asVoid(result))
    return Deferred.done(live.result, result)
  })

/** The typed error of a cause; a defect is `Unknown`, with the defect as its `cause`. */
const toRunError = (cause: Cause.Cause<RunError.RunError>): RunError.RunError => {
  const error = Cause.findErrorOption(cause)
  return error._tag === "Some" ? error.value : RunError.fromDefect(Cause.squash(cause))
}
