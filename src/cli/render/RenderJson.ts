/** What a run's events look like to a program: each one a line of JSON that also names its session. Pure. */
import type * as RunEvent from "../../run/RunEvent.ts"
import * as TerminalText from "./TerminalText.ts"

export const line = (sessionId: string) => (event: RunEvent.RunEvent): string =>
  `${TerminalText.json(JSON.stringify({ sessionId, ...event }))}\n`
