/** `fiberloop compact`: makes the context of a session smaller, as its agent would; the log keeps everything. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Worker from "../agent/Worker.ts"
import * as Compaction from "../Compaction.ts"
import * as GoingOn from "../GoingOn.ts"
import type { Ended, Refusal } from "../Refusal.ts"
import * as InProgram from "../render/InProgram.ts"
import * as Invocation from "../render/Invocation.ts"
import * as Print from "../render/Print.ts"
import * as TerminalText from "../render/TerminalText.ts"
import type { Settings } from "../Settings.ts"
import type { Input } from "../terminal/Input.ts"
import { Output } from "../terminal/Output.ts"
import { type Signals, untilSignal } from "../terminal/Signals.ts"

export interface Options {
  readonly settings: Settings
  /** an id, or the beginning of one */
  readonly session: string
}

const compact = Effect.fnUntraced(function*(
  { session, settings: typed }: Options
): Effect.fn.Return<void, Ended | Refusal, Input | Output | Signals | Scope.Scope> {
  const { stderr } = yield* Output
  const { info: { sessionId }, settings } = yield* GoingOn.find(typed, session, InProgram.compact)
  const { client } = yield* Worker.open(settings)
  if (stderr.isTerminal) yield* stderr.write("Shortening the conversation, Ctrl-C leaves it as it is.\n")
  const shortened = yield* Compaction.compact(client, sessionId, settings)

  if (settings.json) {
    const line = JSON.stringify({ sessionId, ...shortened })
    return yield* Print.print(`${TerminalText.json(line)}\n`)
  }
  yield* Print.print(Compaction.text(shortened))
  yield* stderr.write(
    `See it with: ${Invocation.of("show", [sessionId, "--context"], Invocation.placeOf(settings.flags))}\n` +
      `Go on with:  ${Invocation.of("chat", ["--session", sessionId], settings.flags)}\n`
  )
})

export const run = (options: Options): Effect.Effect<void, Ended | Refusal, Input | Output | Signals> =>
  untilSignal(Effect.scoped(compact(options)))
