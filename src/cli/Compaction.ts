/** A manual compaction: its result in words, or why the conversation is unchanged. */
import * as Effect from "effect/Effect"
import type * as Agent from "../Agent.ts"
import type * as RunError from "../run/RunError.ts"
import type * as RunResult from "../run/RunResult.ts"
import * as ErrorWords from "./ErrorWords.ts"
import { badInput, type Refusal } from "./Refusal.ts"
import * as CompactionLines from "./render/CompactionLines.ts"
import * as Spinner from "./render/Spinner.ts"
import type { Settings } from "./Settings.ts"
import type { Output } from "./terminal/Output.ts"

/** A terminal shows meanwhile that it goes on; `other` refuses for what is not about the compaction. */
export const compact = (
  client: Agent.Client<string>,
  sessionId: string,
  settings: Pick<Settings, "isPlain" | "json">,
  other: (error: RunError.RunError) => Refusal = ErrorWords.refusal
): Effect.Effect<RunResult.Compacted, Refusal, Output> =>
  client.compact(sessionId).pipe(
    Effect.mapError(refusal(sessionId, other)),
    Spinner.during(settings, "shortening the conversation")
  )

const refusal =
  (sessionId: string, other: (error: RunError.RunError) => Refusal) => (error: RunError.RunError): Refusal => {
    const { reason } = error
    const name = `session ${JSON.stringify(sessionId)}`
    switch (reason._tag) {
      case "CompactionFailed":
        return badInput(`${name} was not changed: ${reason.message}`)
      case "SessionBusy": {
        const run = reason.runId === undefined ? "another run" : `the run ${reason.runId}`
        return badInput(`${name} is busy with ${run}, which manages its own context: wait for its end`)
      }
      default:
        return other(error)
    }
  }

export const text = ({ messages, strategy, tokens, usage }: RunResult.Compacted): string => {
  const [shorter, how] = CompactionLines.lines({ ...messages, strategy, tokens, usage })
  return `✓ ${shorter}\n  ${how}\n`
}
