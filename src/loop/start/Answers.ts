/**
 * Whether a run that waits for people would go on if it were resumed, according to its log and the logs of the runs that its calls
 * wait for.
 *
 * Does not own which questions wait (`log/Questions`), nor what an answer does.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as RunState from "../../run/RunState.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as RunsBelow from "../log/RunsBelow.ts"

type Store = SessionStore.SessionStore["Service"]

/** When something last happened, in milliseconds since the epoch; `undefined` where a question waits, or the time is not known. */
type News = number | undefined

/** How far the clocks of machines may differ, in milliseconds; where they differ by more, a run may not go on by itself. */
const mostSkew = 300_000

/**
 * No question is left to answer, and the run has not yet seen what was answered or has expired; for a call that waits for another
 * run, that is what came since the call was last made. False where this is not known, as for runs in another store: a resumed run
 * would be suspended again.
 */
export const areThere = Effect.fnUntraced(function*(
  store: Store,
  sessionId: string,
  state: RunState.RunState
): Effect.fn.Return<boolean, SessionStore.StoreError> {
  const { end, seq } = state
  if (end?._tag !== "RunSuspended") return false
  const now = yield* Clock.currentTimeMillis
  // a question of its own says enough: every look at the suspended runs of a store would read the others' logs too
  if (!state.openCalls.every((call) => isKnown(ofCall({ call, below: [] }, now)))) return false
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
  // a run that goes on, or has ended otherwise, has no open questions
  return state.end?._tag === "RunSuspended" ? latest([state.at, ...calls.map((call) => ofCall(call, now))]) : state.at
}

const isKnown = (news: News): news is number => news !== undefined

/** `-Infinity` where there is none. */
const latest = (news: ReadonlyArray<News>): News => news.every(isKnown) ? Math.max(-Infinity, ...news) : undefined
