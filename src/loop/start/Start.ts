/**
 * How a run comes about in this process: started, attached to where it lives, or told again where it has ended.
 *
 * Does not own how it is driven (`Drive`), nor which runs live here (`Runs`).
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as RunInput from "../../run/RunInput.ts"
import * as Grace from "../../services/Grace.ts"
import type * as Runs from "../../services/Runs.ts"
import * as Drive from "../drive/Drive.ts"
import * as Ending from "../drive/Ending.ts"
import type * as Env from "../drive/Env.ts"
import * as Inbox from "../drive/Inbox.ts"
import * as Live from "../drive/Live.ts"
import * as Feed from "../log/Feed.ts"
import * as Opening from "./Opening.ts"

/** A run that was started, or one that was there already and is attached to: that one is somebody else's to abort. */
export interface Started {
  readonly run: Runs.LiveRun
  readonly isAttached: boolean
}

/**
 * Starts a drive in the scope of `Runs` and returns once its first event is stored. A run that is live or in the log
 * with equal input is attached to instead; one that lives is not resumed. Interrupted before that, it aborts the run.
 */
export const start = Effect.fnUntraced(function*(
  services: Env.Services,
  request: Env.Request
): Effect.fn.Return<Started, RunError.RunError> {
  const { begin, runId, sessionId } = request
  const { live, run } = makeRun(services, request)
  const tracked = (forget: Effect.Effect<void>) =>
    Effect.suspend(() => {
      request.track.add(run)
      const untrack = Effect.sync(() => request.track.delete(run))
      return Effect.ensuring(Drive.drive(services, request, live, forget), untrack)
    })
  const isResume = begin._tag === "Resume"
  const busy = () => RunError.sessionBusy(sessionId, runId)
  // no moment between the start and the wait in which an interruption could leave the run to itself
  return yield* Effect.uninterruptible(
    Effect.flatMap(services.runs.start(run, tracked), (known): Effect.Effect<Started, RunError.RunError> => {
      // limits and data of its own are nothing to attach with
      if (isResume && known !== run) return Effect.fail(busy())
      const accepted = Effect.interruptible(known.accepted)
      return known === run
        ? Effect.as(Effect.onInterrupt(accepted, () => run.abort("consumer")), { run, isAttached: false })
        : Effect.as(accepted, { run: known, isAttached: true })
    }).pipe(
      Effect.mapError((error) => isResume && error.reason._tag === "RunConflict" ? busy() : error),
      Effect.catch((error) =>
        error.reason._tag === "SessionBusy"
          ? Effect.interruptible(replay(services, request, error))
          : Effect.fail(error)
      )
    )
  )
})

/** A run as this process knows it, and what it is driven by. */
const makeRun = (services: Env.Services, { begin, brief, folded, isWatched, runId, sessionId }: Env.Request) => {
  const live: Live.Live = {
    sessionId,
    feed: Feed.make(services.store, sessionId, isWatched),
    inbox: new Inbox.Inbox(),
    accepted: Deferred.makeUnsafe(),
    result: Deferred.makeUnsafe(),
    observe: undefined,
    output: brief.output,
    stopped: undefined,
    interrupt: undefined,
    announce: undefined,
    isAnnounced: false,
    decide: undefined
  }
  const ended = Effect.exit(Deferred.await(live.result))
  const run: Runs.LiveRun = {
    runId,
    sessionId,
    get fingerprint() {
      return RunInput.canonical(begin._tag === "Start" ? begin.input : folded.state.input)
    },
    accepted: Deferred.await(live.accepted),
    events: live.feed.events,
    result: Deferred.await(live.result),
    decide: (decision) =>
      Effect.andThen(
        Effect.exit(Deferred.await(live.accepted)),
        Effect.suspend(() =>
          // who was told to stop takes nothing up any more
          (live.stopped === undefined ? live.decide?.(decision) : undefined) ?? Effect.succeed(false)
        )
      ),
    accept: (input) => Effect.andThen(Deferred.await(live.accepted), accept(live, input)),
    isOver: () => Deferred.isDoneUnsafe(live.result),
    abort: (reason) => Effect.andThen(abort(live, reason), Effect.asVoid(ended))
  }
  return { live, run }
}

/** A run that has ended is told also while another one has the session. */
const replay = Effect.fnUntraced(function*(
  services: Env.Services,
  request: Env.Request,
  busy: RunError.RunError
): Effect.fn.Return<Started, RunError.RunError> {
  const past = yield* Opening.past(services.store, request.sessionId, request.runId, request.begin)
  if (past === undefined) return yield* busy
  const { live, run } = makeRun(services, request)
  yield* Ending.replay(live, { _tag: "Replay", past })
  return { run, isAttached: true }
})

/** A failed write ends the run, also one of an input. */
const accept = (live: Live.Live, input: Inbox.Input) =>
  live.inbox.accept(input, (error) => Effect.sync(() => Live.cutOff(live, { _tag: "Failed", error })))

/**
 * A requested abort is stored before it is carried out, once; a store that does not take that does not hold it up. All
 * other reasons cut off at once.
 */
const abort = (live: Live.Live, reason: RunEvent.AbortedReason): Effect.Effect<void> =>
  Effect.suspend(() => {
    const cutOff = Effect.sync(() => Live.cutOff(live, { _tag: "Abort", reason }))
    if (reason !== "requested" || live.announce === undefined || live.stopped !== undefined) return cutOff
    if (live.isAnnounced) return Effect.void
    live.isAnnounced = true
    // the run may have ended by itself before its turn comes
    const announced = Grace.within(Effect.suspend(() => live.announce ?? Effect.void))
    return Effect.uninterruptible(Effect.andThen(announced, cutOff))
  })
