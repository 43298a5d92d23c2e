/** What a run's events look like to a program: each one as a line of JSON. Pure. */
import type * as RunEvent from "../run/RunEvent.ts"
import * as TerminalText from "./TerminalText.ts"

export const line = (event: RunEvent.RunEvent): string => `${TerminalText.json(JSON.stringify(event))}\n`
