/** `fiberloop approvals`: the calls that wait for a decision, by session, last changed first. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as RunResult from "../../run/RunResult.ts"
import * as ErrorWords from "../ErrorWords.ts"
import type { Ended, Refusal } from "../Refusal.ts"
import * as Invocation from "../render/Invocation.ts"
import * as Print from "../render/Print.ts"
import * as RenderApprovals from "../render/RenderApprovals.ts"
import * as Database from "../session/Database.ts"
import * as KeptRuns from "../session/KeptRuns.ts"
import * as KeptSession from "../session/KeptSession.ts"
import * as SessionAgent from "../session/SessionAgent.ts"
import type { Settings } from "../Settings.ts"
import { Output } from "../terminal/Output.ts"
import { type Signals, untilSignal } from "../terminal/Signals.ts"

export interface Options {
  readonly place: Settings
  /** an id, or the beginning of one; absent: all sessions */
  readonly session: string | undefined
}

const list = Effect.fnUntraced(function*(
  { place, session }: Options
): Effect.fn.Return<void, Ended | Refusal, Output | Scope.Scope> {
  const { stderr } = yield* Output
  const now = yield* Clock.currentTimeMillis
  let count = 0
  for (const { approvals, info, store } of yield* asking(place, session)) {
    if (approvals.length === 0) continue
    count += approvals.length
    const { sessionId, title } = info
    const waiting = { sessionId, title, approvals, agent: yield* SessionAgent.foreign({ info, store }) }
    yield* Print.print(place.json ? RenderApprovals.json(waiting) : RenderApprovals.lines(waiting, now))
  }
  if (count === 0) {
    return yield* stderr.write(`Nothing waits for an approval${Database.becauseAbsent(place)}.\n`)
  }
  if (!place.json) {
    yield* stderr.write(`Decide with: ${Invocation.of("approve", [], place.flags)} <session> <question>, or deny\n`)
  }
})

interface Asking extends KeptSession.Kept {
  readonly approvals: ReadonlyArray<RunResult.Approval>
}

const asking = Effect.fnUntraced(function*(
  place: Settings,
  session: string | undefined
): Effect.fn.Return<ReadonlyArray<Asking>, Refusal, Scope.Scope> {
  if (session !== undefined) {
    const kept = yield* KeptSession.toRead(place, session)
    return [{ ...kept, approvals: yield* KeptRuns.approvals(kept) }]
  }
  const store = yield* Database.readable(place)
  if (store === undefined) return []
  // suspended, under way, or left by a process that died
  const infos = yield* Effect.mapError(store.list({ ends: ["RunSuspended", undefined] }), ErrorWords.refusal)
  // fail for a session that cannot be read: else the calls waiting there would seem not to exist
  return yield* Effect.forEach(infos, (info) =>
    Effect.map(KeptRuns.approvals({ info, store }), (all) => ({
      info,
      store,
      // questions asked below a session are listed with the session that asks them
      approvals: all.filter(({ sessionId }) => sessionId === info.sessionId)
    })))
})

export const run = (options: Options): Effect.Effect<void, Ended | Refusal, Output | Signals> =>
  untilSignal(Effect.scoped(list(options)))
