/** `fiberloop compact`: makes the context of a session smaller, as its agent would; the log keeps all. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as RunError from "../../run/RunError.ts"
import type { Input } from "../Input.ts"
import * as KeptSession from "../KeptSession.ts"
import * as Messages from "../Messages.ts"
import { Output } from "../Output.ts"
import { badInput, type Ended, type Refusal } from "../Refusal.ts"
import * as CompactionLines from "../render/CompactionLines.ts"
import * as EndLine from "../render/EndLine.ts"
import * as Print from "../render/Print.ts"
import * as TerminalText from "../render/TerminalText.ts"
import * as Run from "../Run.ts"
import type { Settings } from "../Settings.ts"
import type { Signals } from "../Signals.ts"

export interface Options {
  readonly settings: Settings
  /** an id, or the beginning of one */
  readonly session: string
}

const compact = Effect.fnUntraced(function*(
  { session, settings: typed }: Options
): Effect.fn.Return<void, Ended | Refusal, Input | Output | Signals | Scope.Scope> {
  const { stderr } = yield* Output
  const { info: { sessionId }, settings } = yield* KeptSession.goingOn(typed, session)
  const { client } = yield* Run.open(settings)
  if (stderr.isTerminal) yield* stderr.write("Shortening the conversation, Ctrl-C leaves it as it is.\n")
  const { messages, strategy, tokens, usage } = yield* Effect.mapError(client.compact(sessionId), refusal(sessionId))

  if (settings.json) {
    const line = JSON.stringify({ sessionId, strategy, messages, tokens, usage })
    return yield* Print.print(`${TerminalText.json(line)}\n`)
  }
  const [shorter, how] = CompactionLines.lines({ ...messages, strategy, tokens, usage })
  yield* Print.print(`✓ ${shorter}\n  ${how}\n`)
  yield* stderr.write(
    `See it with: ${EndLine.command("show", [sessionId, "--context"], EndLine.placeOf(settings.flags))}\n` +
      `Go on with:  ${EndLine.command("chat", ["--session", sessionId], settings.flags)}\n`
  )
})

const refusal = (sessionId: string) => (error: RunError.RunError): Refusal => {
  const { reason } = error
  const name = `session ${JSON.stringify(sessionId)}`
  switch (reason._tag) {
    case "CompactionFailed":
      return badInput(`${name} is as it was: ${reason.message}`)
    case "SessionBusy": {
      const run = reason.runId === undefined ? "another run" : `the run ${reason.runId}`
      return badInput(`${name} is busy with ${run}, which sees to its context itself: wait for its end`)
    }
    default:
      return Messages.refusal(error)
  }
}

export const run = (options: Options): Effect.Effect<void, Ended | Refusal, Input | Output | Signals> =>
  Print.untilSignal(Effect.scoped(compact(options)))
