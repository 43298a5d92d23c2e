/**
 * Whether an agent is to take up, unasked, the last run of a session that nobody has: according to the session's log, to that of the
 * call which the run works for, and to those of the runs that its own calls wait for.
 *
 * Does not own how it is found and taken up (`Recovering`), nor which questions wait (`log/Questions`).
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as RunState from "../../run/RunState.ts"
import * as RunDrive from "../../run/state/RunDrive.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as CallAbove from "../log/CallAbove.ts"
import * as Fold from "../log/Fold.ts"
import * as Listing from "../log/Listing.ts"
import * as RunsBelow from "../log/RunsBelow.ts"
import * as Deaths from "../open/Deaths.ts"

interface Verdict {
  readonly isDue: boolean
  /**
   * what is not due stays so until then, in milliseconds since the epoch, unless its log grows; `-Infinity` where that is not known, as
   * other logs may change it, or its own agent has not looked
   */
  readonly until: number
}

export interface Judged extends Verdict {
  /** the name of the agent whose run it is: others leave it alone */
  readonly agent: string | undefined
  /** of the last event that the verdict is about */
  readonly seq: number
  /** when something last happened to the run, in milliseconds since the epoch: in its own log, or below its calls, or a question expired */
  readonly at: number
  /** how often in a row its process has died, or its store did not answer, with no turn finished between, its own or below its calls */
  readonly deaths: number
}

const due: Verdict = { isDue: true, until: -Infinity }
const later: Verdict = { isDue: false, until: -Infinity }
const never: Verdict = { isDue: false, until: Infinity }

export const judge = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  sessionId: string,
  agent: string
): Effect.fn.Return<Judged, SessionStore.StoreError> {
  const { state } = yield* Fold.lastRun(store, sessionId)
  const now = yield* Clock.currentTimeMillis
  const { at, end, seq } = state
  const of = { agent: state.agent, seq, at, deaths: RunDrive.deaths(state) }
  if (end !== undefined && RunEvent.isOver(end)) return { ...of, ...never }
  // an open question of its own says enough: otherwise each look at a store's suspended runs would read the logs around them too
  const until = end?._tag === "RunSuspended" ? asksUntil(state) : -Infinity
  if (now < until) return { ...of, isDue: false, until }
  if (state.agent !== agent) return { ...of, ...later }
  const parent = yield* CallAbove.parentOf(store, sessionId, state)
  const call = parent === undefined ? undefined : yield* CallAbove.find(store, parent)
  const verdict = call === undefined ? due : isTold(call, end) ? never : byCall[call.standing]
  if (!verdict.isDue) return { ...of, ...verdict }
  if (end?._tag !== "RunSuspended") {
    return { ...of, ...due, deaths: yield* Deaths.count(store, sessionId, state, RunDrive.suspicious.waits) }
  }
  const answeredAt = yield* lastAnswer(store, sessionId, state, end)
  return answeredAt === undefined ? { ...of, ...later } : { ...of, ...due, at: answeredAt }
})

/**
 * When the last of the run's own questions expires, in milliseconds since the epoch: `Infinity` where one does not, `-Infinity` where none
 * is open.
 */
const asksUntil = ({ openCalls }: RunState.RunState): number =>
  openCalls.reduce(
    (last, { expiresAt = Infinity, phase }) => phase === "awaiting" ? Math.max(last, expiresAt) : last,
    -Infinity
  )

/**
 * A run that works for a call is asked for again by the run that made the call. Once the call's handler has returned, it is on its
 * own and goes on by itself; below a call that was cut off, or is not there, it is nobody's.
 */
const byCall: Record<CallAbove.Standing, Verdict> = { open: later, returned: due, cutOff: never, unknown: never }

/**
 * The handler of its call returned after the run had failed, or failed after the run had ended with its process: the handler was told of
 * that end, and so was the model that made the call.
 */
const isTold = ({ at, hasFailed, standing }: CallAbove.Found, end: RunEvent.End | undefined): boolean =>
  standing === "returned" && end !== undefined && end.at <= at &&
  (end._tag === "RunFailed" || (hasFailed && RunEvent.isLeft(end)))

/**
 * When something last came of what a suspended run waits for, if it would go on when resumed: its own questions are over, none is left to
 * answer below its calls, and something came of one that the run has not seen yet, an answer or its expiry; for a call that waits for
 * another run, something came since the call was last made, and nobody drives that run: the call would not wait long for it. `undefined`
 * also where this is not known, as for runs in another store: the run would only be suspended again.
 */
const lastAnswer = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  sessionId: string,
  state: RunState.RunState,
  end: RunEvent.End
): Effect.fn.Return<News, SessionStore.StoreError> {
  const now = yield* Clock.currentTimeMillis
  const calls = yield* RunsBelow.of(store, sessionId, state)
  const news = calls.map((call) => ofCall(call, now))
  const isNew = state.seq > end.seq ||
    calls.some(({ call: { startedAt = 0 } }, i) => (news[i] ?? -Infinity) >= startedAt - mostSkew)
  const answeredAt = isNew ? latest([state.at, ...news]) : undefined
  if (answeredAt === undefined) return undefined
  for (const id of calls.flatMap(underWay)) {
    if (yield* isDriven(store, id)) return undefined
  }
  return answeredAt
})

/** How far the clocks of machines may differ, in milliseconds; where they differ by more, a run may not go on by itself. */
const mostSkew = 300_000

/** When something last happened, in milliseconds since the epoch; `undefined` where a question waits, or the time is not known. */
type News = number | undefined

const ofCall = ({ below, call: { expiresAt = Infinity, phase } }: RunsBelow.Call, now: number): News => {
  if (phase === "awaiting") return now < expiresAt ? undefined : expiresAt
  return latest(below.map((run) => ofRun(run, now)))
}

const ofRun = (run: RunsBelow.Below, now: number): News => {
  if (run._tag === "Unknown") return undefined
  if (run._tag === "Followed") return run.at
  const { calls, state } = run
  // a run that goes on, or has ended otherwise, has no open questions
  return state.end?._tag === "RunSuspended" ? latest([state.at, ...calls.map((call) => ofCall(call, now))]) : state.at
}

/** The sessions of runs below a call that go on, or that died without an end. */
const underWay = ({ below }: RunsBelow.Call): ReadonlyArray<string> =>
  below.flatMap((run) => {
    if (run._tag !== "Last") return []
    const { calls, sessionId, state: { end } } = run
    if (end === undefined) return [sessionId]
    return end._tag === "RunSuspended" ? calls.flatMap(underWay) : []
  })

/** Whether somebody has a session whose run has no end. */
const isDriven = (store: SessionStore.Store, id: string): Effect.Effect<boolean, SessionStore.StoreError> =>
  Listing.all(store, { prefix: id, ends: [undefined], unowned: true }).pipe(
    Stream.filter(({ sessionId }) => sessionId === id),
    Stream.runHead,
    Effect.map(Option.isNone)
  )

const isKnown = (news: News): news is number => news !== undefined

/** `-Infinity` where there is none. */
const latest = (news: ReadonlyArray<News>): News => news.every(isKnown) ? Math.max(-Infinity, ...news) : undefined
