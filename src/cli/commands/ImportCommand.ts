/** `fiberloop import`: a session from the lines of JSON that an export made, whole or not at all. */
import * as Effect from "effect/Effect"
import * as RunState from "../../run/RunState.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import * as SessionLines from "../../SessionLines.ts"
import * as Sessions from "../../Sessions.ts"
import * as ErrorWords from "../ErrorWords.ts"
import * as SessionModel from "../model/SessionModel.ts"
import { badInput, type Ended, Refusal } from "../Refusal.ts"
import * as Invocation from "../render/Invocation.ts"
import * as Print from "../render/Print.ts"
import * as RenderImport from "../render/RenderImport.ts"
import * as RenderSessions from "../render/RenderSessions.ts"
import * as TerminalText from "../render/TerminalText.ts"
import * as Database from "../session/Database.ts"
import * as KeptSession from "../session/KeptSession.ts"
import * as SessionAgent from "../session/SessionAgent.ts"
import * as SessionRoot from "../session/SessionRoot.ts"
import type { Settings } from "../Settings.ts"
import * as LineFile from "../terminal/LineFile.ts"
import { Output } from "../terminal/Output.ts"
import { type Signals, untilSignal } from "../terminal/Signals.ts"

export interface Options {
  readonly place: Settings
  /** `-`: standard input */
  readonly file: string
  /** absent: the id that it was exported with */
  readonly to: string | undefined
}

const importLines = Effect.fnUntraced(function*(
  { file, place, to }: Options
): Effect.fn.Return<void, Ended | Refusal, Output> {
  const { stderr } = yield* Output
  // all is checked before a database is made
  const session = yield* read(file, to)
  yield* Database.prepare({ ...place, session: undefined })
  const imported = yield* add(session).pipe(
    Effect.provide(Database.layer(place)),
    Effect.mapError((error) => {
      if (error instanceof Refusal) return error
      return isTaken(error) ? taken(session.sessionId, file, place) : ErrorWords.refusal(error)
    })
  )
  const { info } = imported
  // the id alone is for scripts; where nobody can be told it there, it is told all the same: the session is made
  const shown = place.json ? RenderSessions.json(info) : `${TerminalText.line(info.sessionId)}\n`
  yield* Effect.ensuring(Print.print(shown), stderr.write(RenderImport.lines(imported, place.flags)))
})

/** The session of a file, whole, under the id that it is to have. */
const read = Effect.fnUntraced(function*(file: string, to: string | undefined) {
  if (file.trim() === "") return yield* badInput("the file is empty: name one that fiberloop export made")
  if (to !== undefined) yield* KeptSession.typedId("--to", to, "leave it out for the one that the session had")
  const session = yield* Effect.mapError(
    SessionLines.decode(LineFile.read(file), { to }),
    (error) => error instanceof Refusal ? error : unusable(file, ErrorWords.ofRun(error))
  )
  yield* KeptSession.newId(
    `the id of the session in ${LineFile.nameOf(file)}`,
    session.sessionId,
    "give another with --to"
  )
  return session
})

/** Stores it, and looks at what was stored. */
const add = Effect.fnUntraced(function*(
  session: SessionLines.Decoded
): Effect.fn.Return<RenderImport.Imported, SessionStore.StoreError | Refusal, SessionStore.SessionStore> {
  const info = yield* SessionLines.add(session)
  const kept = { store: yield* SessionStore.SessionStore, info }
  // what cannot be folded cannot be gone on with
  const { end, openCalls } = yield* Sessions.current(info.sessionId).pipe(
    Effect.map(({ state }) => state),
    Effect.catchReason("NonRetryableError", "StoreRefused", () => Effect.succeed(RunState.empty))
  )
  const decided = openCalls.filter(isDecided)
  return {
    info,
    hasEnded: end !== undefined,
    isForeign: (yield* SessionAgent.foreign(kept)) !== undefined,
    allowed: decided.filter((call) => !OpenCall.isAnswered(call)),
    answered: decided.filter(OpenCall.isAnswered),
    known: [...(yield* SessionRoot.flagsToSay(kept)), ...(yield* SessionModel.flagsOf(kept))]
  }
})

/** Nobody is asked about it again; one that paused runs again as well. */
const isDecided = ({ decision, phase }: OpenCall.OpenCall): boolean =>
  phase === "paused" || (phase !== "started" && decision?.approved === true)

const taken = (sessionId: string, file: string, { flags }: Settings): Refusal =>
  badInput(
    `session ${JSON.stringify(sessionId)} already exists, and nothing was changed; import it under another id: ` +
      `${Invocation.of("import", [file], flags)} --to <id>`
  )

const isTaken = ({ reason }: SessionStore.StoreError): boolean =>
  reason._tag === "InvalidInput" && reason.field === "to"

const unusable = (file: string, why: string): Refusal =>
  badInput(`${LineFile.nameOf(file)} cannot be imported: ${why[0]!.toLowerCase()}${why.slice(1)}`)

export const run = (options: Options): Effect.Effect<void, Ended | Refusal, Output | Signals> =>
  untilSignal(importLines(options))
