/**
 * The questions that keep a run from going on: its own, and those of the runs that its calls wait for, as their logs have them.
 *
 * Does not own how one is answered, nor what becomes of a call whose question has expired.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Pointer from "../../run/Pointer.ts"
import * as RunResult from "../../run/RunResult.ts"
import type * as RunState from "../../run/RunState.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Fold from "./Fold.ts"

type Store = SessionStore.SessionStore["Service"]
type Found = Effect.Effect<ReadonlyArray<RunResult.Approval>, SessionStore.StoreError>

/** Those that somebody can still answer, of the last run of a session and below it, in call order. */
export const waiting = Effect.fnUntraced(function*(
  store: Store,
  sessionId: string
): Effect.fn.Return<ReadonlyArray<RunResult.Approval>, SessionStore.StoreError> {
  const { state } = yield* Fold.lastRun(store, sessionId)
  const now = yield* Clock.currentTimeMillis
  return (yield* of(store, sessionId, state)).filter((approval) => !OpenCall.isExpired(approval, now))
})

/**
 * All of them, expired or not, in call order, each once; of runs in another store, and of logs that cannot be read, nothing is known. Nothing is read where no
 * call waits for another run.
 */
export const of = (store: Store, sessionId: string, state: RunState.RunState): Found =>
  isBelow(state)
    ? all(store, sessionId, state, new Set([keyOf({ sessionId, runId: state.runId ?? "" })]))
    : Effect.succeed(RunResult.approvals(sessionId, state))

/** A call waits for another run. */
export const isBelow = ({ openCalls }: RunState.RunState): boolean => openCalls.some(isPaused)

const isPaused = ({ phase }: OpenCall.OpenCall): boolean => phase === "paused"

/** `seen`: a handler, or a log of somebody else's, may say that a run waits for itself. */
const all = Effect.fnUntraced(function*(
  store: Store,
  sessionId: string,
  state: RunState.RunState,
  seen: Set<string>
): Effect.fn.Return<ReadonlyArray<RunResult.Approval>, SessionStore.StoreError> {
  const found: Array<RunResult.Approval> = []
  for (const call of state.openCalls) {
    found.push(...RunResult.approvals(sessionId, { agent: state.agent, openCalls: [call] }))
    for (const run of isPaused(call) ? call.waitsFor ?? [] : []) found.push(...yield* below(store, run, seen))
  }
  return found
})

const below = (store: Store, run: Pointer.Run, seen: Set<string>): Found => {
  const key = keyOf(run)
  if (seen.has(key)) return nothing
  seen.add(key)
  return Effect.catchReasons(ofLast(store, run, seen), "NonRetryableError", {
    StoreRefused: () => nothing,
    SessionNotFound: () => nothing
  })
}

const ofLast = Effect.fnUntraced(function*(store: Store, { runId, sessionId }: Pointer.Run, seen: Set<string>) {
  const { state } = yield* Fold.lastRun(store, sessionId)
  // behind its end, where people answer; the questions of one that another run follows are over
  return state.runId === runId ? yield* all(store, sessionId, state, seen) : []
})

/**
 * Whether a run that is suspended goes on when it is resumed: nobody can answer anything any more, in it and in the runs that its
 * calls wait for, and since it was suspended somebody has, or a question expired. Not where that is not known, as of runs in
 * another store: resumed, it would be suspended again.
 */
export const isAnswered = Effect.fnUntraced(function*(
  store: Store,
  sessionId: string,
  { end, openCalls, runId, seq }: RunState.RunState
): Effect.fn.Return<boolean, SessionStore.StoreError> {
  if (end?._tag !== "RunSuspended") return false
  const now = yield* Clock.currentTimeMillis
  const seen = new Set([keyOf({ sessionId, runId: runId ?? "" })])
  const last = yield* lastNews(store, openCalls, now, seen)
  return last !== undefined && (seq > end.seq || last >= end.at)
})

/**
 * When the questions of these calls, and of the runs that they wait for, last expired or those runs went on; `undefined` where one
 * waits, and where that is not known.
 */
const lastNews = Effect.fnUntraced(function*(
  store: Store,
  openCalls: ReadonlyArray<OpenCall.OpenCall>,
  now: number,
  seen: Set<string>
): Effect.fn.Return<number | undefined, SessionStore.StoreError> {
  let last = -Infinity
  for (const { expiresAt = Infinity, phase, waitsFor = [] } of openCalls) {
    if (phase === "awaiting") {
      if (now < expiresAt) return undefined
      last = Math.max(last, expiresAt)
    }
    if (phase !== "paused") continue
    if (waitsFor.length === 0) return undefined
    for (const run of waitsFor) {
      const key = keyOf(run)
      if (seen.has(key)) continue
      seen.add(key)
      const news = yield* newsBelow(store, run, now, seen)
      if (news === undefined) return undefined
      last = Math.max(last, news)
    }
  }
  return last
})

const newsBelow = (
  store: Store,
  { runId, sessionId }: Pointer.Run,
  now: number,
  seen: Set<string>
): ReturnType<typeof lastNews> =>
  Fold.lastRun(store, sessionId).pipe(
    Effect.flatMap(({ state }): ReturnType<typeof lastNews> =>
      // its questions are over where another run follows it, or where it goes on or has ended otherwise
      state.runId !== runId || state.end?._tag !== "RunSuspended"
        ? Effect.succeed(state.at)
        : Effect.map(
          lastNews(store, state.openCalls, now, seen),
          (last) => last === undefined ? undefined : Math.max(last, state.at)
        )
    ),
    Effect.catchReasons("NonRetryableError", {
      StoreRefused: () => Effect.succeed(undefined),
      SessionNotFound: () => Effect.succeed(undefined)
    })
  )

const nothing: Found = Effect.succeed([])

const keyOf = ({ runId, sessionId }: Pointer.Run): string => JSON.stringify([sessionId, runId])
