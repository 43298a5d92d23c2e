/** `/compact` in a conversation: makes its context smaller before the next message. */
import * as Effect from "effect/Effect"
import type * as Agent from "../../Agent.ts"
import type * as RunError from "../../run/RunError.ts"
import * as Compaction from "../Compaction.ts"
import * as ErrorWords from "../ErrorWords.ts"
import { badInput, codes } from "../Refusal.ts"
import type { Settings } from "../Settings.ts"
import { Output } from "../terminal/Output.ts"
import { type Signal, Signals, until } from "../terminal/Signals.ts"

interface Compacted {
  /** the exit code of a command that only does this */
  readonly code: number
  /** what stopped it */
  readonly signal: Signal | undefined
}

/** Reports the result. A signal leaves the conversation unchanged; at a terminal, Ctrl-C ends only the compaction. */
export const run = Effect.fnUntraced(function*(
  client: Agent.Client<string>,
  sessionId: string | undefined,
  settings: Settings
): Effect.fn.Return<Compacted, never, Output | Signals> {
  const { stderr } = yield* Output
  const { forget } = yield* Signals
  const end = (text: string, code: number, signal?: Signal) => Effect.as(stderr.write(text), { code, signal })
  if (sessionId === undefined) return yield* end("Nothing has been said yet.\n", codes.failed)
  const other = (error: RunError.RunError) => badInput(ErrorWords.inChat(error, sessionId, settings.flags))
  const shortened = Effect.match(Compaction.compact(client, sessionId, settings, other), {
    onSuccess: (compacted) => end(Compaction.text(compacted), codes.completed),
    onFailure: ({ line }) => end(`${ErrorWords.line(line)}\n`, codes.failed)
  })
  const stopped = (signal: Signal) =>
    Effect.as(
      signal === "SIGINT" ? forget : Effect.void,
      end("Stopped; the conversation was not changed.\n", codes[signal], signal)
    )
  return yield* Effect.flatten(until(shortened, stopped))
})
