/** `fiberloop export`: a session as lines of JSON, on standard output or in a new file. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { count } from "../../run/Quantity.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import * as SessionLines from "../../SessionLines.ts"
import * as ErrorWords from "../ErrorWords.ts"
import { badValue, type Ended, type Refusal } from "../Refusal.ts"
import * as Invocation from "../render/Invocation.ts"
import * as Print from "../render/Print.ts"
import * as TerminalText from "../render/TerminalText.ts"
import * as KeptSession from "../session/KeptSession.ts"
import type { Settings } from "../Settings.ts"
import * as LineFile from "../terminal/LineFile.ts"
import { Output } from "../terminal/Output.ts"
import { type Signals, untilSignal } from "../terminal/Signals.ts"

export interface Options {
  readonly place: Settings
  /** an id, or the beginning of one */
  readonly session: string
  /** a file that does not exist yet; absent or `-`: standard output */
  readonly to: string | undefined
}

const exportLines = Effect.fnUntraced(function*(
  { place, session, to }: Options
): Effect.fn.Return<void, Ended | Refusal, Output | Scope.Scope> {
  const { stderr, stdout } = yield* Output
  if (to?.trim() === "") return yield* badValue("--to is empty: name a file, or leave it out for standard output")
  const { info, store } = yield* KeptSession.toRead(place, session)
  const eachPage = <R>(write: (text: string) => Effect.Effect<void, Ended | Refusal, R>) =>
    SessionLines.toLines(info.sessionId).pipe(
      Stream.mapError(ErrorWords.refusal),
      Stream.runForEachArray((lines) => write(lines.map((line) => `${line}\n`).join(""))),
      Effect.provideService(SessionStore.SessionStore, store)
    )
  if (to === undefined || to === "-") {
    return yield* eachPage((text) => Print.print(stdout.isTerminal ? shown(text) : text))
  }
  yield* LineFile.writeNew(to, eachPage)
  yield* stderr.write(
    `✓ exported session ${TerminalText.line(info.sessionId)} with ${count(info.turns, "turn")}\n` +
      `Import it with: ${Invocation.of("import", [to], [])} --db <file>\n`
  )
})

/** The same values, safe to show. */
const shown = (lines: string): string => lines.split("\n").map(TerminalText.json).join("\n")

export const run = (options: Options): Effect.Effect<void, Ended | Refusal, Output | Signals> =>
  untilSignal(Effect.scoped(exportLines(options)))
