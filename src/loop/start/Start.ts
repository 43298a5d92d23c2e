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
export const start = (
  services: Env.Services,
  request: Env.Request
): Effect.Effect<Started, RunError.RunError> =>
  Effect.suspend(() => {
    const { begin, runId, sessionId } = request
    const live = makeLive(services, request)
    const run = new Known(live, request)
    const tracked = (forget: Effect.Effect<void>) =>
      Effect.suspend(() => {
        request.track.add(run)
        const untrack = Effect.sync(() => request.track.delete(run))
        return Effect.ensuring(Drive.drive(services, request, live, forget), untrack)
      })
    const isResume = begin._tag === "Resume"
    const busy = () => RunError.sessionBusy(sessionId, runId)
    // no moment between the start and the wait in which an interruption could leave the run to itself
    return Effect.uninterruptible(
      Effect.flatMap(services.runs.start(run, tracked), (known): Effect.Effect<Started, RunError.RunError> => {
        // limits and data of its own are nothing to attach with
        if (isResume && known !== run) return Effect.fail(busy())
        const accepted = Effect.interruptible(known.accepted)
        return known === run
          ? Effect.as(Effect.onInterrupt(accepted, () => run.abort("consumer")), { run, isAttached: false })
          : Effect.as(accepted, { run: known, isAttached: true })
      }).pipe(
        Effect.catch((failure) => {
          const error = isResume && failure.reason._tag === "RunConflict" ? busy() : failure
          return error.reason._tag === "SessionBusy"
            ? Effect.interruptible(replay(services, request, error))
            : Effect.fail(error)
        })
      )
    )
  })

/** What a run is driven by. */
const makeLive = (services: Env.Services, { brief, isWatched, sessionId }: Env.Request): Live.Live => ({
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
})

/** A run as this process knows it. */
class Known implements Runs.LiveRun {
  readonly runId: string
  readonly sessionId: string
  readonly #live: Live.Live
  readonly #input: unknown

  constructor(live: Live.Live, { begin, folded, runId, sessionId }: Env.Request) {
    this.runId = runId
    this.sessionId = sessionId
    this.#live = live
    this.#input = begin._tag === "Start" ? begin.input : folded.state.input
  }

  get fingerprint() {
    return RunInput.canonical(this.#input)
  }

  get accepted() {
    return Deferred.await(this.#live.accepted)
  }

  get events() {
    return this.#live.feed.events
  }

  get result() {
    return Deferred.await(this.#live.result)
  }

  decide(decision: RunInput.DecideInput) {
    const live = this.#live
    return Effect.andThen(
      Effect.exit(this.accepted),
      Effect.suspend(() =>
        // who was told to stop takes nothing up any more
        (live.stopped === undefined ? live.decide?.(decision) : undefined) ?? Effect.succeed(false)
      )
    )
  }

  accept(input: Inbox.Input) {
    return Effect.andThen(this.accepted, accept(this.#live, input))
  }

  isOver() {
    return Deferred.isDoneUnsafe(this.#live.result)
  }

  abort(reason: RunEvent.AbortedReason) {
    return Effect.andThen(abort(this.#live, reason), Effect.asVoid(Effect.exit(this.result)))
  }
}

/** A run that has ended is told also while another one has the session. */
const replay = Effect.fnUntraced(function*(
  services: Env.Services,
  request: Env.Request,
  busy: RunError.RunError
): Effect.fn.Return<Started, RunError.RunError> {
  const past = yield* Opening.past(services.store, request.sessionId, request.runId, request.begin)
  if (past === undefined) return yield* busy
  const live = makeLive(services, request)
  yield* Ending.replay(live, { _tag: "Replay", past })
  return { run: new Known(live, request), isAttached: true }
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
