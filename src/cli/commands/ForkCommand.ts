/** `fiberloop fork`: a copy of a session up to the end of a turn, independent of it from then on. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as InputCheck from "../../run/InputCheck.ts"
import { count } from "../../run/Quantity.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as Ids from "../../services/Ids.ts"
import * as ErrorWords from "../ErrorWords.ts"
import * as SessionModel from "../model/SessionModel.ts"
import type { Ended, Refusal } from "../Refusal.ts"
import * as InProgram from "../render/InProgram.ts"
import * as Invocation from "../render/Invocation.ts"
import * as Print from "../render/Print.ts"
import * as RenderSessions from "../render/RenderSessions.ts"
import * as TerminalText from "../render/TerminalText.ts"
import * as KeptSession from "../session/KeptSession.ts"
import * as SessionAgent from "../session/SessionAgent.ts"
import * as SessionRoot from "../session/SessionRoot.ts"
import * as Settings from "../Settings.ts"
import { Output } from "../terminal/Output.ts"
import { type Signals, untilSignal } from "../terminal/Signals.ts"

export interface Options {
  readonly place: Settings.Settings
  /** an id, or the beginning of one */
  readonly session: string
  readonly at: string | undefined
  readonly to: string | undefined
}

const fork = Effect.fnUntraced(function*(
  { at, place, session, to }: Options
): Effect.fn.Return<void, Ended | Refusal, Output | Scope.Scope> {
  const { stderr } = yield* Output
  const seq = yield* Settings.whole("--at", at)
  const id = to === undefined
    ? yield* (yield* Ids.Ids).next
    : yield* KeptSession.typedId("--to", to, InputCheck.orNew)
  const { info, store } = yield* KeptSession.find(place, session)
  const model = yield* SessionModel.flagsOf({ store, info })
  const made = yield* store.fork(info.sessionId, { to: id, ...(seq === undefined ? {} : { at: seq }) }).pipe(
    Effect.mapError(ErrorWords.refusal)
  )
  const isForeign = (yield* SessionAgent.foreign({ store, info: made })) !== undefined
  const flags = [...place.flags, ...(yield* SessionRoot.flagsOf({ store, info: made })), ...model]
  const ofTask = [...place.flags, ...(yield* SessionRoot.flagsToSay({ store, info: made })), ...model]
  const told = [
    `✓ forked from session ${TerminalText.line(info.sessionId)} with ${count(made.turns, "turn")}`,
    isForeign
      ? `Go on with it in its program: ${InProgram.say(id)}`
      : `Go on with: ${Invocation.of("run", ["--session", id], ofTask)} "<task>"`,
    ...(made.end === "RunCompleted"
      ? []
      : [`or its run:  ${isForeign ? InProgram.resume(id) : resume(made.end, id, flags)}`])
  ].map((line) => `${line}\n`).join("")
  // standard output has only the id, for scripts; the rest is told even if that cannot be written, since the session exists
  const shown = place.json ? RenderSessions.json(made) : `${TerminalText.line(made.sessionId)}\n`
  yield* Effect.ensuring(Print.print(shown), stderr.write(told))
})

/** The command that goes on with the copied run; a run that ended at a limit needs a higher one. */
const resume = (end: RunEvent.End["_tag"] | undefined, id: string, flags: ReadonlyArray<string>): string =>
  `${Invocation.of("resume", [id], flags)}${end === "RunLimited" ? " --max-turns <n>" : ""}`

export const run = (options: Options): Effect.Effect<void, Ended | Refusal, Output | Signals> =>
  untilSignal(Effect.scoped(fork(options)))
