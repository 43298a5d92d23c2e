/** What calls that wait for an approval look like: in lines with all of their arguments, or as JSON. Pure. */
import type * as RunResult from "../../run/RunResult.ts"
import * as RenderSessions from "./RenderSessions.ts"
import * as TerminalText from "./TerminalText.ts"
import { duration } from "./ToolLine.ts"
import * as ToolLine from "./ToolLine.ts"
import * as ToolResult from "./ToolResult.ts"

export interface Waiting {
  readonly sessionId: string
  readonly title: string
  readonly approvals: ReadonlyArray<RunResult.Approval>
}

/** The session, and below it a line for each question; arguments that do not fit on theirs stand below it, whole. */
export const lines = ({ approvals, sessionId, title }: Waiting, now: number): string =>
  [
    `${TerminalText.line(sessionId)}  ${TerminalText.line(title)}`.trimEnd(),
    ...approvals.flatMap((approval) => question(approval, now))
  ].map((line) => `${line}\n`).join("")

/** `  1.0  refund amount=5  asked 3 min ago` */
export const question = (
  { callId, expiresAt, params, requestedAt, tool }: RunResult.Approval,
  now: number
): ReadonlyArray<string> => {
  const call = ToolLine.call(tool, params)
  const asked = `asked ${RenderSessions.age(now - requestedAt)}`
  const expiry = expiresAt === undefined ? "" : `, expires in ${duration(Math.max(0, expiresAt - now))}`
  const whole = call.endsWith("…") ? ToolResult.whole(ToolResult.text(params)).map((line) => `      ${line}`) : []
  return [`  ${TerminalText.line(callId)}  ${call}  ${asked}${expiry}`, ...whole]
}

/** A line of JSON for each question, that names its session. */
export const json = ({ approvals, sessionId }: Waiting): string =>
  approvals.map((approval) => `${TerminalText.json(JSON.stringify({ sessionId, ...approval }))}\n`).join("")
