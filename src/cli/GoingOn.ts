/**
 * The settings to go on with a kept session: those that were typed, with what the session knows.
 *
 * Does not own how a session is found (`KeptSession.ts`), whose it is (`SessionAgent.ts`), its folder (`SessionRoot.ts`), nor its
 * model (`SessionModel.ts`).
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as SessionStore from "../services/SessionStore.ts"
import * as SessionModel from "./model/SessionModel.ts"
import type { Ended, Refusal } from "./Refusal.ts"
import * as InProgram from "./render/InProgram.ts"
import * as KeptSession from "./session/KeptSession.ts"
import * as SessionAgent from "./session/SessionAgent.ts"
import * as SessionRoot from "./session/SessionRoot.ts"
import type { Settings } from "./Settings.ts"
import { type Signals, untilSignal } from "./terminal/Signals.ts"

export interface GoingOn {
  readonly settings: Settings
  readonly info: SessionStore.SessionInfo
}

/** A session, and the settings to go on with it; `call` is what another program would call to do the same. */
export const find = Effect.fnUntraced(function*(
  settings: Settings,
  typed: string,
  call: (info: SessionStore.SessionInfo) => string = InProgram.goOn
): Effect.fn.Return<GoingOn, Refusal, Scope.Scope> {
  const kept = yield* KeptSession.find(settings, typed)
  const admitted = yield* SessionAgent.admit(settings, kept, call)
  const adopted = yield* adopt(admitted, kept)
  return { settings: { ...adopted, session: kept.info.sessionId }, info: kept.info }
}, Effect.scoped)

/** The settings with what the session knows: its folder and its model, where nobody names others. */
export const adopt = (settings: Settings, kept: KeptSession.Kept): Effect.Effect<Settings, Refusal> =>
  Effect.flatMap(SessionRoot.adopt(settings, kept), (rooted) => SessionModel.adopt(rooted, kept))

/** The flags that name what the session knows, for a command to type. */
export const flagsOf = (kept: KeptSession.Kept): Effect.Effect<ReadonlyArray<string>, Refusal> =>
  Effect.map(Effect.all([SessionRoot.flagsOf(kept), SessionModel.flagsOf(kept)]), (flags) => flags.flat())

/** The settings with the whole id of their session, its folder and its model, if they name a session. */
export const whole = (settings: Settings): Effect.Effect<Settings, Ended | Refusal, Signals> =>
  settings.session === undefined
    ? Effect.succeed(settings)
    : untilSignal(Effect.map(find(settings, settings.session), ({ settings }) => settings))
