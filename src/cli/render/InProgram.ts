/** What another program calls to do with its session what the command does with its own. Pure. */
import type * as SessionStore from "../../services/SessionStore.ts"
import * as TerminalText from "./TerminalText.ts"

const quoted = (id: string): string => TerminalText.json(JSON.stringify(id))

/** Goes on with the last run; `limits` if it needs others. */
export const resume = (sessionId: string, limits?: { readonly maxTurns: number }): string =>
  `agent.resumeRun({ sessionId: ${quoted(sessionId)}${
    limits === undefined ? "" : `, limits: { maxTurns: ${limits.maxTurns} }`
  } })`

/** Says something more. */
export const say = (sessionId: string): string => `agent.run({ sessionId: ${quoted(sessionId)}, input })`

/** Goes on, however the last run ended. */
export const goOn = ({ end, sessionId }: Pick<SessionStore.SessionInfo, "end" | "sessionId">): string =>
  end === "RunCompleted" ? say(sessionId) : resume(sessionId)

/** Shortens the session. */
export const compact = ({ sessionId }: Pick<SessionStore.SessionInfo, "sessionId">): string =>
  `agent.compact(${quoted(sessionId)})`
