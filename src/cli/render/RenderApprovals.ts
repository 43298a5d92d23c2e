/** What calls waiting for approval look like, as lines with all their arguments or as JSON, and the answers. Pure. */
import type * as DurableEvent from "../../run/DurableEvent.ts"
import type * as RunResult from "../../run/RunResult.ts"
import type { AllowedCall } from "../session/AllowedCalls.ts"
import type { Paint } from "./Paint.ts"
import * as TerminalText from "./TerminalText.ts"
import { age, duration } from "./Time.ts"
import * as ToolLine from "./ToolLine.ts"
import * as ToolResult from "./ToolResult.ts"
import * as Visible from "./Visible.ts"

interface Waiting {
  readonly sessionId: string
  readonly title: string
  /** the other program's agent that made the calls */
  readonly agent: string | undefined
  readonly approvals: ReadonlyArray<RunResult.Approval>
}

/** The session, and a line for each question below it; arguments too long for that line follow it, whole. */
export const lines = ({ agent, approvals, sessionId, title }: Waiting, now: number): string =>
  [
    `${TerminalText.line(sessionId)}  ${TerminalText.line(title)}`.trimEnd(),
    ...(agent === undefined ? [] : [`  for the program of the agent ${TerminalText.line(JSON.stringify(agent))}`]),
    ...approvals.flatMap((approval) => question(approval, now, sessionId))
  ].map((line) => `${line}\n`).join("")

/** The name of a question within a session: a question asked below it is named by its whole id. */
export const nameIn = ({ callId, id, ...approval }: RunResult.Approval, sessionId: string): string =>
  approval.sessionId === sessionId ? callId : id

/** `  1.0  refund amount=5  asked 3 min ago` */
export const question = (approval: RunResult.Approval, now: number, sessionId: string): ReadonlyArray<string> => {
  const { expiresAt, needsResult, params, requestedAt, tool } = approval
  const asked = `asked ${age(now - requestedAt)}`
  const expiry = expiresAt === undefined ? "" : `, expires in ${duration(Math.max(0, expiresAt - now))}`
  const [line, ...whole] = call({ callId: nameIn(approval, sessionId), params, tool })
  const needs = needsResult === true ? ", needs a result" : ""
  return [`${line}  ${asked}${expiry}${needs}`, ...whole]
}

/** `  1.0  refund amount=5`; a person decides by it, so nothing of the arguments is hidden. */
export const call = (
  { callId, params, tool }: Pick<RunResult.Approval, "callId" | "params" | "tool">
): readonly [line: string, ...whole: ReadonlyArray<string>] => {
  const call = ToolLine.call(tool, params)
  const whole = ToolLine.isCut(params) ? ToolResult.whole(ToolResult.text(params)).map((line) => `      ${line}`) : []
  return [`  ${TerminalText.line(callId)}  ${Visible.line(call)}`, ...whole.map(Visible.line)]
}

/** `  1.0  refund amount=5  will run, approved by alice`: a call that going on with its run makes. */
export const allowed = ({ by, ...made }: AllowedCall): ReadonlyArray<string> => {
  const [line, ...whole] = call(made)
  return [`${line}  will run, approved${by === undefined ? "" : ` by ${TerminalText.line(by)}`}`, ...whole]
}

/** A line of JSON for each question, which names its session. */
export const json = ({ approvals }: Pick<Waiting, "approvals">): string =>
  approvals.map((approval) => `${TerminalText.json(JSON.stringify(approval))}\n`).join("")

/** An answer to a question about a call of `tool`, if that is known. */
export const resolved = (
  { approved, by, params, reason, result }: DurableEvent.Of<"ApprovalResolved">,
  tool: string | undefined,
  paint: Paint
): string => {
  const what = tool === undefined ? "" : `${TerminalText.line(tool)} `
  const who = by === undefined ? "" : ` by ${TerminalText.line(by)}`
  const why = reason === undefined ? "" : `: ${TerminalText.sentence(reason)}`
  const edited = params === undefined ? "" : " with edited arguments"
  const yes = result === undefined ? `approved${edited}` : "answered"
  return approved ? paint.green(`✓ ${what}${yes}${who}${why}`) : paint.red(`✗ ${what}denied${who}${why}`)
}
