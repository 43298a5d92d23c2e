/** `fiberloop import`: a session from the lines of JSON that an export made, whole or not at all. */
import * as Effect from "effect/Effect"
import * as InputCheck from "../../run/InputCheck.ts"
import { count } from "../../run/Quantity.ts"
import * as RunState from "../../run/RunState.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import * as SessionLines from "../../SessionLines.ts"
import * as Sessions from "../../Sessions.ts"
import * as Database from "../Database.ts"
import * as LineFile from "../LineFile.ts"
import * as Messages from "../Messages.ts"
import * as SessionModel from "../model/SessionModel.ts"
import { Output } from "../Output.ts"
import { badInput, type Ended, Refusal } from "../Refusal.ts"
import * as InProgram from "../render/InProgram.ts"
import * as Invocation from "../render/Invocation.ts"
import * as Print from "../render/Print.ts"
import * as RenderApprovals from "../render/RenderApprovals.ts"
import * as RenderSessions from "../render/RenderSessions.ts"
import * as TerminalText from "../render/TerminalText.ts"
import * as SessionAgent from "../SessionAgent.ts"
import type { Settings } from "../Settings.ts"
import type { Signals } from "../Signals.ts"

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
  if (file.trim() === "") return yield* badInput("the file is empty: name one that fiberloop export made")
  if (to !== undefined) {
    const id = InputCheck.id("--to", to, "leave it out for the one that the session had")
    yield* Effect.mapError(Effect.fromResult(id), Messages.refusal)
  }
  // all is checked before a database is made
  const session = yield* Effect.mapError(
    SessionLines.decode(LineFile.read(file), { to }),
    (error) => error instanceof Refusal ? error : unusable(file, Messages.ofRun(error))
  )
  const taken = badInput(
    `there is a session ${
      JSON.stringify(session.sessionId)
    } already, and nothing was changed; import it under another ` +
      `id: ${Invocation.of("import", [file], place.flags)} --to <id>`
  )
  yield* Database.prepare({ ...place, session: undefined })
  const { allowed, answered, end, flags, info, isForeign } = yield* Effect.gen(function*() {
    const info = yield* SessionLines.add(session)
    const store = yield* SessionStore.SessionStore
    const isForeign = (yield* SessionAgent.foreign({ store, info })) !== undefined
    // what cannot be folded cannot be gone on with
    const { end, openCalls } = yield* Sessions.current(info.sessionId).pipe(
      Effect.map(({ state }) => state),
      Effect.orElseSucceed(() => RunState.empty)
    )
    // one that paused runs again as well
    const decided = openCalls.filter(({ decision, phase }) =>
      phase === "paused" || (phase !== "started" && decision?.approved === true)
    )
    const [allowed, answered] = [
      decided.filter((call) => !OpenCall.isAnswered(call)),
      decided.filter(OpenCall.isAnswered)
    ]
    return { allowed, answered, end, info, isForeign, flags: yield* SessionModel.flagsOf({ store, info }) }
  }).pipe(
    Effect.provide(Database.layer(place)),
    Effect.mapError((error) => error instanceof Refusal ? error : isTaken(error) ? taken : Messages.refusal(error))
  )
  const told = [
    `✓ imported session ${TerminalText.line(info.sessionId)} with ${count(info.turns, "turn")}`,
    ...(info.end !== undefined ? [] : [
      end === undefined
        ? "Its last run has not ended in what was exported."
        : "Its last run was shut down with its process, and goes on where it is taken up."
    ]),
    ...(allowed.length === 0 ? [] : [
      "It brings along a yes to these calls: going on with its last run makes them, and nobody is asked; a new task leaves " +
      "them out.",
      ...allowed.flatMap((open) => RenderApprovals.call({ ...open, params: OpenCall.final(open) }))
    ]),
    ...(answered.length === 0 ? [] : [
      "It brings along results that somebody gave in place of these calls: the model reads them as the tools' own.",
      ...answered.flatMap(RenderApprovals.call)
    ]),
    `Look at it: ${Invocation.of("show", [info.sessionId], place.flags)}`,
    isForeign
      ? `Go on with it in its program: ${InProgram.goOn(info)}`
      : `Go on with: ${Invocation.of("run", ["--session", info.sessionId], [...place.flags, ...flags])} "<task>"`
  ].map((line) => `${line}\n`).join("")
  // the id alone is for scripts; where nobody can be told it there, it is told all the same: the session is made
  const shown = place.json ? RenderSessions.json(info) : `${TerminalText.line(info.sessionId)}\n`
  yield* Effect.ensuring(Print.print(shown), stderr.write(told))
})

const isTaken = ({ reason }: SessionStore.StoreError): boolean =>
  reason._tag === "InvalidInput" && reason.field === "to"

const unusable = (file: string, why: string): Refusal =>
  badInput(`${LineFile.nameOf(file)} cannot be imported: ${why[0]!.toLowerCase()}${why.slice(1)}`)

export const run = (options: Options): Effect.Effect<void, Ended | Refusal, Output | Signals> =>
  Print.untilSignal(importLines(options))
