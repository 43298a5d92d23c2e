/**
 * Whether a run that waits for people goes on when it is resumed, as its log tells, and those of the runs that its calls wait for.
 *
 * Does not own which questions wait (`log/Questions`), nor what an answer does.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Pointer from "../../run/Pointer.ts"
import type * as RunState from "../../run/RunState.ts"
import type * as OpenCall from "../../run/state/OpenCall.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Fold from "../log/Fold.ts"

type Store = SessionStore.SessionStore["Service"]

/** When something last came about, in milliseconds since the epoch; `undefined` where a question waits, and where that is not known. */
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
  { end, openCalls, runId, seq }: RunState.RunState
): Effect.fn.Return<boolean, SessionStore.StoreError> {
  if (end?._tag !== "RunSuspended") return false
  const now = yield* Clock.currentTimeMillis
  const seen = new Set([Pointer.keyOf({ sessionId, runId: runId ?? "" })])
  let isNews = seq > end.seq
  for (const call of openCalls) {
    const news = yield* ofCall(store, call, now, seen)
    if (news === undefined) return false
    isNews ||= news >= (call.startedAt ?? 0) - mostSkew
  }
  return isNews
})

const ofCalls = Effect.fnUntraced(function*(
  store: Store,
  openCalls: ReadonlyArray<OpenCall.OpenCall>,
  now: number,
  seen: Set<string>
): Effect.fn.Return<News, SessionStore.StoreError> {
  let last = -Infinity
  for (const call of openCalls) {
    const news = yield* ofCall(store, call, now, seen)
    if (news === undefined) return undefined
    last = Math.max(last, news)
  }
  return last
})

const ofCall = Effect.fnUntraced(function*(
  store: Store,
  { expiresAt = Infinity, phase, waitsFor = [] }: OpenCall.OpenCall,
  now: number,
  seen: Set<string>
): Effect.fn.Return<News, SessionStore.StoreError> {
  if (phase === "awaiting") return now < expiresAt ? undefined : expiresAt
  if (phase !== "paused") return -Infinity
  let last = -Infinity
  for (const run of waitsFor) {
    const key = Pointer.keyOf(run)
    // a handler, or a log of somebody else's, may say that a run waits for itself
    if (seen.has(key)) continue
    seen.add(key)
    const news = yield* ofRun(store, run, now, seen)
    if (news === undefined) return undefined
    last = Math.max(last, news)
  }
  return last
})

const ofRun = (
  store: Store,
  { runId, sessionId }: Pointer.Run,
  now: number,
  seen: Set<string>
): Effect.Effect<News, SessionStore.StoreError> =>
  Fold.lastRun(store, sessionId).pipe(
    Effect.flatMap(({ state: { at, end, openCalls, runId: last } }): Effect.Effect<News, SessionStore.StoreError> =>
      // its questions are over where another run follows it, or where it goes on or has ended otherwise
      last !== runId || end?._tag !== "RunSuspended"
        ? Effect.succeed(at)
        : Effect.map(
          ofCalls(store, openCalls, now, seen),
          (news) => news === undefined ? undefined : Math.max(news, at)
        )
    ),
    Effect.catchReasons("NonRetryableError", {
      StoreRefused: () => Effect.succeed(undefined),
      SessionNotFound: () => Effect.succeed(undefined)
    })
  )
