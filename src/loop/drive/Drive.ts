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
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import * as RunError from "../../run/RunError.ts"
import * as RunState from "../../run/RunState.ts"
import * as Approver from "../../services/Approver.ts"
import * as Grace from "../../services/Grace.ts"
import * as Hooks from "../../services/Hooks.ts"
import * as Prices from "../../services/Prices.ts"
import * as Reconciler from "../../services/Reconciler.ts"
import * as RetryPolicy from "../../services/RetryPolicy.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Tokenizer from "../../services/Tokenizer.ts"
import type * as Feed from "../log/Feed.ts"
import * as Journal from "../log/Journal.ts"
import * as Observing from "../observe/Observing.ts"
import * as Answering from "../round/Answering.ts"
import * as Desk from "../round/Desk.ts"
import * as FirstEvent from "../start/FirstEvent.ts"
import * as HeldBack from "../start/HeldBack.ts"
import * as Opening from "../start/Opening.ts"
import * as Recovery from "../start/Recovery.ts"
import * as Cost from "../turn/Cost.ts"
import * as Sizing from "../turn/Sizing.ts"
import * as Turn from "../turn/Turn.ts"
import * as Ending from "./Ending.ts"
import type * as Env from "./Env.ts"
import * as HookRun from "./HookRun.ts"
import * as Inbox from "./Inbox.ts"
import * as Live from "./Live.ts"
import * as Phase from "./Phase.ts"

/** Drives a run to its end; `forget` is called once the session is given back. Observers may take longer. */
export const drive = (
  services: Env.Services,
  request: Env.Request,
  live: Live.Live,
  forget: Effect.Effect<void>
): Effect.Effect<void> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Observing.make(services, request, live.feed), (observing) => {
      live.observe = observing.end
      return carryOut(services, request, live, forget, restore, observing.begin).pipe(
        Effect.provideService(Tracer.ParentSpan, observing.span),
        Effect.andThen(observing.seen(restore))
      )
    })
  )

const carryOut = (
  services: Env.Services,
  request: Env.Request,
  live: Live.Live,
  forget: Effect.Effect<void>,
  restore: Phase.Restore,
  observed: Observing.Observing["begin"]
): Effect.Effect<void> =>
  Effect.suspend(() => {
    const scope = Scope.makeUnsafe()
    // a store that is stuck is not waited for without end
    const release = Effect.andThen(Grace.close(scope, Exit.void), forget)
    return Effect.gen(function*() {
      const { begin, folded, runId, sessionId } = request
      const phase = Phase.make(live, restore)
      const refuse = (cause: Cause.Cause<RunError.RunError>) =>
        Effect.andThen(release, Ending.refuse(live, causeOf(live, runId, cause)))

      const open = Effect.tap(
        Opening.open(services.store, sessionId, runId, begin, folded),
        (opened) => Cost.check(services, opened)
      )
      const mended = Effect.flatMap(open, (opened) =>
        opened._tag === "Ready" && RunState.isOpen(opened.state)
          ? mend(services, request, opened)
          : Effect.succeed(opened))
      const opened = yield* phase(Scope.provide(mended, scope))
      if (Exit.isFailure(opened)) return yield* refuse(opened.cause)
      if (opened.value._tag === "Replay") return yield* Effect.andThen(release, Ending.replay(live, opened.value))

      const { session, state } = opened.value
      const feed = yield* observed(state)
      const env = yield* makeEnv(services, request, { inbox: live.inbox, feed }, opened.value)
      const begun = yield* phase(FirstEvent.write(env, opened.value.begin, request.brief))
      const isStored = Exit.isSuccess(begun) || session.head() > state.seq
      live.decide = (decision) => Answering.live(env, services.store, decision)
      if (isStored) {
        live.inbox.open(env.journal)
        Deferred.doneUnsafe(live.accepted, Exit.void)
      } // cut off before the store has answered, the run may have begun all the same: its end stands behind that answer
      else if (!isPending(begun.cause, env.journal, state)) return yield* refuse(begun.cause)
      const ending = Exit.isFailure(begun) ? endingOf(env, live, begun.cause) : yield* takeTurns(env, live, phase)
      yield* Ending.finish(env, live, ending, release, restore)
    }).pipe(
      // a bug of ours: nobody is left waiting, and no session held, for a run that has none left to drive it
      Effect.catchCause((cause) => Effect.andThen(release, Ending.refuse(live, Ending.toRunError(cause))))
    )
  })

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

/** Whoever reads a drive is not shown the end of one that died before it, to which nothing can be said. */
export const unseen = (): Pick<Live.Live, "inbox"> & { readonly feed: Pick<Feed.Feed, "publish"> } => ({
  feed: { publish: () => {} },
  inbox: new Inbox.Inbox()
})

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
  const env = yield* makeEnv(services, request, { ...unseen(), feed }, { ...opened, session: first })
  const isResumed = opened.begin._tag === "Resume"
  yield* Recovery.repair(env, isResumed)
  const state = env.journal.state
  const wasAborted = state.end?._tag === "RunAborted" && state.end.reason !== "crashed"
  const isOver = isResumed && (state.end?._tag === "RunLimited" || (wasAborted && request.begin._tag === "Start"))
  if (!isOver) return { ...opened, session: second, state, transcript: env.journal.transcript }
  yield* flush
  return { _tag: "Replay", past: { from: opened.from, to: state.seq, state } }
})

export const makeEnv = (
  services: Env.Services,
  request: Pick<Env.Request, "brief" | "runId" | "sessionId">,
  { feed, inbox }: ReturnType<typeof unseen>,
  { session, state, transcript }: Pick<Opening.Ready, "session" | "state" | "transcript">
): Effect.Effect<Env.Env> =>
  Effect.withFiber((fiber) => {
    const { brief } = request
    // each by its name: every step reads it, and an object that others are spread into is slow to read
    return Effect.succeed({
      model: services.model,
      executor: services.executor,
      context: services.context,
      handlers: brief.handlers,
      system: brief.system,
      systemOf: brief.systemOf,
      tools: brief.tools,
      toolChoice: brief.toolChoice,
      inputDigest: brief.inputDigest,
      rules: brief.rules,
      timeouts: brief.timeouts,
      policy: brief.policy,
      doomLoop: brief.doomLoop,
      answer: brief.answer,
      checkOutput: brief.checkOutput,
      sessionId: request.sessionId,
      approver: fiber.getRef(Approver.Approver),
      reconciler: fiber.getRef(Reconciler.Reconciler),
      retry: fiber.getRef(RetryPolicy.RetryPolicy),
      prices: fiber.getRef(Prices.Prices),
      counter: new Sizing.Counter(fiber.getRef(Tokenizer.Tokenizer).count),
      hooks: HookRun.make(fiber.getRef(Hooks.Hooks)),
      leftBehind: new Map(),
      desk: new Desk.Desk(),
      inbox,
      journal: Journal.make({
        session,
        state,
        transcript,
        runId: request.runId,
        feed,
        clock: fiber.getRef(Clock.Clock)
      })
    })
  })

/** Takes turns until they end or are cut off, and says how it ended. */
const takeTurns = Effect.fnUntraced(function*(
  env: Env.Env,
  live: Live.Live,
  phase: Phase.Phase
): Effect.fn.Return<Ending.Ending> {
  const { journal } = env
  live.announce = Effect.suspend(() => {
    journal.record({ _tag: "AbortRequested", reason: "requested" })
    return Effect.ignore(journal.commit)
  })
  const timer = yield* limitDuration(env, live)
  const exit = yield* phase(Turn.takeTurns(env), 2)
  live.announce = undefined
  live.decide = undefined
  if (timer !== undefined) yield* Fiber.interrupt(timer)
  return Exit.isSuccess(exit) ? exit.value : endingOf(env, live, exit.cause)
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

/** Cuts the run off when its time is over; nothing where that has no limit. */
const limitDuration = ({ journal }: Env.Env, live: Live.Live): Effect.Effect<Fiber.Fiber<void> | undefined> => {
  const { maxDuration } = journal.state.limits
  if (maxDuration === undefined) return Effect.succeed(undefined)
  // time spent waiting for people does not count, so what is left is looked at again when it should be over
  const check: Effect.Effect<void> = Effect.suspend(() => {
    const left = maxDuration - RunState.totalsAt(journal.state, journal.now()).duration
    const pause = journal.state.waitingSince === undefined ? left : Math.max(left, 1000)
    if (left > 0) return Effect.andThen(Effect.sleep(Duration.millis(pause)), check)
    return Effect.sync(() => Live.cutOff(live, { _tag: "Duration" }))
  })
  return Effect.forkChild(Effect.interruptible(check))
}
