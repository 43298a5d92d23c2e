/**
 * What an import tells people: what was made, what it brings along that nobody is asked about any more, and what comes next.
 *
 * Does not own what is imported (`ImportCommand`).
 */
import { count } from "../../run/Quantity.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as InProgram from "./InProgram.ts"
import * as Invocation from "./Invocation.ts"
import * as RenderApprovals from "./RenderApprovals.ts"
import * as TerminalText from "./TerminalText.ts"

export interface Imported {
  readonly info: SessionStore.SessionInfo
  /** its log says that its last run has ended, by a shutdown too */
  readonly hasEnded: boolean
  /** another program's agent made it */
  readonly isForeign: boolean
  /** calls that somebody has said yes to, which going on makes */
  readonly allowed: ReadonlyArray<OpenCall.OpenCall>
  /** calls that somebody has given the results of */
  readonly answered: ReadonlyArray<OpenCall.OpenCall>
  /** the flags that name the folder to go on in, and the model of the session */
  readonly known: ReadonlyArray<string>
}

/** Lines, each with its end; `flags` are those that the import was called with. */
export const lines = (imported: Imported, flags: ReadonlyArray<string>): string => {
  const { allowed, answered, info } = imported
  return [
    `✓ imported session ${TerminalText.line(info.sessionId)} with ${count(info.turns, "turn")}`,
    ...lastRun(imported),
    ...(allowed.length === 0 ? [] : [
      "These calls of it were approved: going on with its last run makes them without asking anybody; a new task leaves " +
      "them out.",
      ...allowed.flatMap((open) => RenderApprovals.call({ ...open, params: OpenCall.final(open) }))
    ]),
    ...(answered.length === 0 ? [] : [
      "A person gave the results of these calls instead of the tools: the model reads them as the tools' own.",
      ...answered.flatMap(RenderApprovals.call)
    ]),
    `Look at it: ${Invocation.of("show", [info.sessionId], flags)}`,
    next(imported, flags)
  ].map((line) => `${line}\n`).join("")
}

const lastRun = ({ hasEnded, info }: Imported): ReadonlyArray<string> => {
  if (info.end !== undefined) return []
  return [
    hasEnded
      ? "Its last run ended with its process, or its store, and continues when it is resumed."
      : "Its last run had not ended when it was exported."
  ]
}

const next = ({ info, isForeign, known }: Imported, flags: ReadonlyArray<string>): string =>
  isForeign
    ? `Go on with it in its program: ${InProgram.goOn(info)}`
    : `Go on with: ${Invocation.of("run", ["--session", info.sessionId], [...flags, ...known])} "<task>"`
