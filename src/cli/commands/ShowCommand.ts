/** `fiberloop show`: a session from its first event to its last. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as ErrorWords from "../ErrorWords.ts"
import type { Ended, Refusal } from "../Refusal.ts"
import * as Print from "../render/Print.ts"
import * as RenderJson from "../render/RenderJson.ts"
import * as RenderLog from "../render/RenderLog.ts"
import * as KeptRuns from "../session/KeptRuns.ts"
import * as KeptSession from "../session/KeptSession.ts"
import * as SessionRoot from "../session/SessionRoot.ts"
import type { Settings } from "../Settings.ts"
import type { Output } from "../terminal/Output.ts"
import { type Signals, untilSignal } from "../terminal/Signals.ts"
import * as ShowTimeline from "./ShowTimeline.ts"

export interface Options {
  readonly place: Settings
  /** an id, or the beginning of one */
  readonly session: string
  readonly isFull: boolean
  /** whether to show a time axis instead of the transcript */
  readonly isTimeline: boolean
}

const show = Effect.fnUntraced(function*(
  { isFull, isTimeline, place, session }: Options
): Effect.fn.Return<void, Ended | Refusal, Output | Scope.Scope> {
  const { info, store } = yield* KeptSession.toRead(place, session)
  const forEachPage = <E, R>(print: (events: ReadonlyArray<RunEvent.Durable>) => Effect.Effect<void, E, R>) =>
    store.read(info.sessionId).pipe(
      Stream.mapError(ErrorWords.refusal),
      Stream.runForEachArray(print)
    )
  if (isTimeline) return yield* ShowTimeline.show(place, info.sessionId, isFull, forEachPage)
  if (place.json) {
    return yield* forEachPage((events) => Print.print(events.map(RenderJson.line(info.sessionId)).join("")))
  }

  const look = { paint: yield* Print.paintOf(place.isPlain), sessionId: info.sessionId, flags: place.flags, isFull }
  let state = RenderLog.initial
  yield* forEachPage((events) => {
    let page = ""
    for (const event of events) {
      const [next, text] = RenderLog.step(look, state, event)
      state = next
      page += text
    }
    return Print.print(page)
  })
  const known = state.end?._tag === "RunSuspended" ? yield* courseOf({ info, store }) : {}
  const root = place.isDefaultRoot ? yield* SessionRoot.flagsOf({ info, store }) : []
  yield* Print.print(RenderLog.finish({ ...look, flags: [...place.flags, ...root] }, state, known))
})

/** For a suspended run: whether anything waits in it or below it, and which session to go on with then. */
const courseOf = Effect.fnUntraced(function*(kept: KeptSession.Kept) {
  const waiting = yield* KeptRuns.approvals(kept)
  const { info } = yield* KeptRuns.outermost(kept)
  return { isDecided: waiting.length === 0, goesOn: info.sessionId }
})

export const run = (options: Options): Effect.Effect<void, Ended | Refusal, Output | Signals> =>
  untilSignal(Effect.scoped(show(options)))
