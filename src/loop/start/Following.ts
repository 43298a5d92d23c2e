/**
 * What happens in a session, for one who comes and goes: facts as the store has them, and between them what a run in this process
 * shows live.
 *
 * Does not own the facts (`SessionStore.watch`), nor what a live run shows (`Feed`).
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as RunError from "../../run/RunError.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as Runs from "../../services/Runs.ts"
import * as Live from "../drive/Live.ts"
import type * as Env from "../env/Env.ts"

type Services = Pick<Env.Services, "runs" | "store">
type Events = Stream.Stream<RunEvent.RunEvent, RunError.RunError>

/** See `Client.follow`. */
export const follow = (services: Services, sessionId: string, after: number): Events =>
  Stream.unwrap(following(services, sessionId, after))

const following = Effect.fnUntraced(function*(
  services: Services,
  sessionId: string,
  after: number
): Effect.fn.Return<Events, RunError.RunError> {
  const { store } = services
  if (!Number.isInteger(after) || after < 0) {
    return yield* RunError.invalidInput("after", "after must be the seq of an event, or 0 for all of them")
  }
  const info = yield* store.info(sessionId)
  if (info === undefined) return yield* RunError.sessionNotFound(sessionId)
  // a fact is shown once it is stored: whoever has seen one that is not there has seen it in another log
  if (after > info.head) {
    return yield* RunError.invalidInput(
      "after",
      `session "${sessionId}" has no event ${after}, its last one is ${info.head}: it may have been removed and begun anew, so read it from ` +
        "its beginning"
    )
  }
  // a drive that is live by now, and began with a fact that the reader has, is found by the first fact of its run, any other by its own
  const begun = (yield* store.lastOf(sessionId, "RunStarted")) ?? Infinity
  const started = begun > after ? Stream.empty : store.read(sessionId, { from: begun, to: begun })
  const facts = Stream.concat(started, store.watch(sessionId, after + 1))
  return Stream.filter(Stream.flatMap(facts, (fact) => onward(services, sessionId, after, fact)), isNewAfter(after))
})

/** The fact; if it begins a drive, and one of its run lives in this process, all facts from there on, after `after`, and what that shows. */
const onward = ({ runs, store }: Services, sessionId: string, after: number, fact: RunEvent.Durable): Events =>
  fact._tag !== "RunStarted" && fact._tag !== "RunResumed"
    ? Stream.make(fact)
    : Stream.unwrap(Effect.map(
      runs.live(fact.runId, sessionId),
      (run) => run === undefined ? Stream.make(fact) : whole(store, sessionId, Math.max(after, fact.seq - 1), run)
    ))

/**
 * All facts after `after`, then live events. A drive that is still to begin is waited for, with all that is stored before its
 * first event: the end of one that died, which the drive does not show.
 */
const whole = (store: Services["store"], sessionId: string, after: number, run: Runs.LiveRun): Events => {
  let last = after
  const rest = Stream.suspend(() =>
    Stream.map(store.read(sessionId, { from: last + 1 }), (event) => {
      last = event.seq
      return event
    })
  )
  const begun = Stream.fromEffectDrain(Effect.exit(run.begun))
  const shown = Stream.suspend(() => eventsOf(run, last + 1))
  // first what is stored now, which need not wait for the drive; then what is stored by the time it has begun
  return rest.pipe(Stream.concat(begun), Stream.concat(rest), Stream.concat(shown))
}

/**
 * What the drive shows to one who has the facts before `from`, and is not its first reader: that is whoever started the run. If the run
 * fails, `RunFailed` has said so already.
 */
const eventsOf = (run: Runs.LiveRun, from: number): Events =>
  Stream.catch(run instanceof Live.Live ? run.feed.eventsBeside(from) : run.events, () => Stream.empty)

/**
 * Facts once and in order. Live events before a fact that the reader has are covered by that fact: a feed begins with one that tells where
 * it is.
 */
const isNewAfter = (after: number) => {
  let seen = after
  let at = 0
  return (event: RunEvent.RunEvent): boolean => {
    if (!RunEvent.isDurable(event)) return at >= seen
    at = event.seq
    const isNew = at > seen
    if (isNew) seen = at
    return isNew
  }
}
