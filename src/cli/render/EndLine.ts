/** How a run ended, on one line, and how to go on with it. Pure. */
import type * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as RunResult from "../../run/RunResult.ts"
import * as Misunderstood from "../offline/Misunderstood.ts"
import * as InProgram from "./InProgram.ts"
import * as Invocation from "./Invocation.ts"
import type { Paint } from "./Paint.ts"
import * as TerminalText from "./TerminalText.ts"
import * as Used from "./Used.ts"

const ending = (event: RunEvent.End): string => {
  switch (event._tag) {
    case "RunCompleted":
      return event.reason === "contentFilter" ? "completed, cut by the provider's content filter" : "completed"
    case "RunLimited":
      return `stopped at ${RunResult.limited[event.reason]}${
        event.around === undefined ? "" : " of the run that it is part of"
      }`
    case "RunSuspended":
      return "waits for an approval"
    case "RunFailed":
      return "failed"
    case "RunAborted":
      return "aborted"
  }
}

/** `✓ completed · 2 turns · 1 tool call · 15 tokens · 120 ms · session 0199...` */
export const line = (event: RunEvent.End, sessionId: string, paint: Paint): string => {
  const isGood = event._tag === "RunCompleted"
  const details = [
    ...Used.words(event.totals),
    `session ${TerminalText.line(sessionId)}`,
    ...leftRunning(event)
  ]
  return `${isGood ? paint.green(`✓ ${ending(event)}`) : paint.red(`✗ ${ending(event)}`)}${
    paint.dim(` · ${details.join(" · ")}`)
  }`
}

/** What still runs after the end, in words. */
export const leftRunning = ({ leftBehind }: Pick<RunEvent.End, "leftBehind">): ReadonlyArray<string> =>
  leftBehind === undefined ? [] : [`left running: ${leftBehind.map(TerminalText.line).join(", ")}`]

/** How to go on with a run that the command leaves before its end. */
export const left = (sessionId: string, flags: ReadonlyArray<string>, isChat = false): string =>
  `The run was left before its end. ${
    isChat ? comeBack(sessionId, flags) : `Go on with: ${Invocation.of("run", ["--session", sessionId], flags)}`
  }`

/** How to go on with a conversation. */
export const comeBack = (sessionId: string, flags: ReadonlyArray<string>): string =>
  `Come back with: ${Invocation.of("chat", ["--session", sessionId], flags)}`

/** Instead of `comeBack`, where somebody has deleted the session. */
export const deleted = (sessionId: string): string =>
  `The session ${TerminalText.line(sessionId)} was deleted meanwhile: there is nothing to come back to.`

/** What is known of a run besides its end. */
export interface Course {
  /** whether its questions have been answered */
  readonly isDecided?: boolean
  /** whether it belongs to another program's agent */
  readonly isForeign?: boolean
  /** the session to go on with once people have answered, if the run works for a call of another run */
  readonly goesOn?: string
}

/** Whether the same run must fail the same way again. */
const failsAgain = (reason: RunError.Stored["reason"]): boolean =>
  reason._tag === "ContextOverflow" || reason._tag === "ContentPolicy" || Misunderstood.is(reason)

/**
 * The command that goes on with the run, if one does; with its session, if only a new task does. For another program's run,
 * what that program calls.
 */
export const goOn = (
  event: RunEvent.End,
  sessionId: string,
  flags: ReadonlyArray<string>,
  { goesOn = sessionId, isDecided = false, isForeign = false }: Course = {}
): string | undefined => {
  const how = isForeign ? "go on with it in its program:" : "go on with:"
  const session = Invocation.of("run", ["--session", sessionId], flags)
  const again = isForeign ? InProgram.resume(sessionId) : session
  const other = isForeign ? InProgram.say(sessionId) : `${session} "<task>"`
  switch (event._tag) {
    case "RunAborted":
      return `G${how.slice(1)} ${again}`
    case "RunFailed":
      return `G${how.slice(1)} ${failsAgain(event.error.reason) ? other : again}`
    case "RunLimited": {
      const maxTurns = event.totals.turns + 20
      const more = isForeign ? InProgram.resume(sessionId, { maxTurns }) : `${session} --max-turns ${maxTurns}`
      return `G${how.slice(1)} ${event.reason === "turns" ? more : other}`
    }
    case "RunSuspended": {
      const outer = isForeign ? InProgram.resume(goesOn) : Invocation.of("run", ["--session", goesOn], flags)
      return isDecided
        ? `Decided; ${how} ${outer}`
        : `Decide with: ${
          Invocation.of("approve", [sessionId], Invocation.placeOf(flags))
        }, or deny; then ${how} ${outer}`
    }
    default:
      return undefined
  }
}
