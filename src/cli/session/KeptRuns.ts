/**
 * What a kept session says of its runs: how the last one began and where it is, and what waits in it and below it.
 *
 * Does not own whose they are (`SessionAgent.ts`).
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as DurableEvent from "../../run/DurableEvent.ts"
import type * as RunResult from "../../run/RunResult.ts"
import * as Sessions from "../../Sessions.ts"
import * as ErrorWords from "../ErrorWords.ts"
import type { Refusal } from "../Refusal.ts"
import * as Database from "./Database.ts"
import type { Kept } from "./KeptSession.ts"

type RunStarted = DurableEvent.Of<"RunStarted">

/** The start of the last run; `undefined` where there was none. */
export const lastStarted = Effect.fnUntraced(function*(
  { info: { sessionId }, store }: Kept
): Effect.fn.Return<RunStarted | undefined, Refusal> {
  const seq = yield* Effect.mapError(store.lastOf(sessionId, "RunStarted"), ErrorWords.refusal)
  if (seq === undefined) return undefined
  const [started] = yield* Effect.mapError(
    Stream.runCollect(store.read(sessionId, { from: seq, to: seq })),
    ErrorWords.refusal
  )
  return started?._tag === "RunStarted" ? started : undefined
})

/** The state of its last run. */
export const current = ({ info: { sessionId }, store }: Kept) => Database.asked(store, Sessions.current(sessionId))

/** The session to go on with once people have answered in this one (`Sessions.outermost`). */
export const outermost = Effect.fnUntraced(function*(kept: Kept): Effect.fn.Return<Kept, Refusal> {
  const { info: { sessionId }, store } = kept
  const outer = yield* Database.asked(store, Sessions.outermost(sessionId))
  if (outer === sessionId) return kept
  const info = yield* Effect.mapError(store.info(outer), ErrorWords.refusal)
  return info === undefined ? kept : { store, info }
})

/** The questions that wait in a session and below it. */
export const approvals = ({ info, store }: Kept): Effect.Effect<ReadonlyArray<RunResult.Approval>, Refusal> =>
  Database.asked(store, Sessions.approvals(info.sessionId))
