/** A manual compaction: its result in words, or why the conversation is unchanged. */
import * as Effect from "effect/Effect"
import type * as Agent from "../Agent.ts"
import type * as RunError from "../run/RunError.ts"
import type * as RunResult from "../run/RunResult.ts"
import * as ErrorWords from "./ErrorWords.ts"
import { badInput, type Refusal } from "./Refusal.ts"
import * as CompactionLines from "./render/CompactionLines.ts"

export const compact = (
  client: Agent.Client<string>,
  sessionId: string
): Effect.Effect<RunResult.Compacted, Refusal> => Effect.mapError(client.compact(sessionId), refusal(sessionId))

const refusal = (sessionId: string) => (error: RunError.RunError): Refusal => {
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
      return ErrorWords.refusal(error)
  }
}

export const text = ({ messages, strategy, tokens, usage }: RunResult.Compacted): string => {
  const [shorter, how] = CompactionLines.lines({ ...messages, strategy, tokens, usage })
  return `✓ ${shorter}\n  ${how}\n`
}
