/**
 * Whether a run that waits for people goes on when it is resumed, as its log tells, and those of the runs that its calls wait for.
 *
 * Does not own which questions wait (`log/Questions`), nor what an answer does.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as RunState from "../../run/RunState.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as RunsBelow from "../log/RunsBelow.ts"

type Store = SessionStore.SessionStore["Service"]

/** When something last came about, in milliseconds since the epoch; `undefined` where a question waits, or where that is not known. */
type News = number | undefined

/** Machines whose clocks differ by more are not asked to go on by themselves. In milliseconds. */
const mostSkew = 300_000

/**
 * Nobody can answer anything any more, and what was answered, or has expired, is news to the run: to a call that waits for another run
 * what came since it was last made. Not where that is not known, as of runs in another store: resumed, it would be suspended again.
 */
export const areThere = Effect.fnUntraced(function*(
  store: Store,
  sessionId: string,
  state: RunState.RunState
): Effect.fn.Return<boolean, SessionStore.StoreError> {
  const { end, seq } = state
  if (end?._tag !== "RunSuspended") return false
  const now = yield* Clock.currentTimeMillis
  const calls = yield* RunsBelow.of(store, sessionId, state)
  const news = calls.map((call) => ofCall(call, now))
  return news.every(isKnown) &&
    (seq > end.seq || calls.some(({ call: { startedAt = 0 } }, i) => news[i]! >= startedAt - mostSkew))
})

const ofCall = ({ below, call: { expiresAt = Infinity, phase } }: RunsBelow.Call, now: number): News => {
  if (phase === "awaiting") return now < expiresAt ? undefined : expiresAt
  return latest(below.map((run) => ofRun(run, now)))
}

const ofRun = (run: RunsBelow.Below, now: number): News => {
  if (run._tag === "Unknown") return undefined
  if (run._tag === "Followed") return run.at
  const { calls, state } = run
  // its questions are over where it goes on, or has ended otherwise
  return state.end?._tag === "RunSuspended" ? latest([state.at, ...calls.map((call) => ofCall(call, now))]) : state.at
}

const isKnown = (news: News): news is number => news !== undefined

/** Long ago where there is none. */
const latest = (news: ReadonlyArray<News>): News => news.every(isKnown) ? Math.max(-Infinity, ...news) : undefined
