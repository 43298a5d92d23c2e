/** `fiberloop abort`: ends the last run of a session, whether it is live in any process, waits, or was left behind. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as IdleAgent from "../agent/IdleAgent.ts"
import * as ErrorWords from "../ErrorWords.ts"
import * as GoingOn from "../GoingOn.ts"
import type { Ended, Refusal } from "../Refusal.ts"
import * as InProgram from "../render/InProgram.ts"
import * as Invocation from "../render/Invocation.ts"
import * as Print from "../render/Print.ts"
import * as RenderSessions from "../render/RenderSessions.ts"
import * as TerminalText from "../render/TerminalText.ts"
import * as KeptSession from "../session/KeptSession.ts"
import * as SessionAgent from "../session/SessionAgent.ts"
import type { Settings } from "../Settings.ts"
import { Output } from "../terminal/Output.ts"
import { type Signals, untilSignal } from "../terminal/Signals.ts"

export interface Options {
  readonly place: Settings
  /** an id, or the beginning of one */
  readonly session: string
}

const abort = Effect.fnUntraced(function*(
  { place, session }: Options
): Effect.fn.Return<void, Ended | Refusal, Output | Scope.Scope> {
  const kept = yield* KeptSession.find(place, session)
  const { info: { head, sessionId }, store } = kept
  const agent = yield* IdleAgent.make(place, store)
  yield* Effect.mapError(agent.abort(sessionId), ErrorWords.refusalFrom(sessionId, unasked))
  const info = (yield* Effect.mapError(store.info(sessionId), ErrorWords.refusal)) ?? kept.info
  // another process may have been faster
  const wasOver = info.head === head || info.end !== "RunAborted"
  yield* Print.print(place.json ? RenderSessions.json(info) : said(info, wasOver))
  if (!wasOver) yield* tellWhatFollows(place, { ...kept, info })
})

const said = (info: SessionStore.SessionInfo, wasOver: boolean): string => {
  const name = TerminalText.line(info.sessionId)
  return wasOver
    ? `The last run of session ${name} was already over: ${RenderSessions.end(info)}.\n`
    : `✓ aborted the run of session ${name}\n`
}

const tellWhatFollows = Effect.fnUntraced(function*(place: Settings, kept: KeptSession.Kept) {
  const { stderr } = yield* Output
  const { sessionId } = kept.info
  const resume = (yield* SessionAgent.foreign(kept)) === undefined
    ? `: ${Invocation.of("resume", [sessionId], [...place.flags, ...(yield* GoingOn.flagsOf(kept))])}`
    : ` in its program: ${InProgram.resume(sessionId)}`
  yield* stderr.write(`Go on with it anyway${resume}\n`)
})

const unasked = " that cannot be asked to abort: try again, or abort its run there"

export const run = (options: Options): Effect.Effect<void, Ended | Refusal, Output | Signals> =>
  untilSignal(Effect.scoped(abort(options)))
