/** What is shown below a log: calls with an unknown outcome, totals of the session, how to go on. Pure. */
import { count } from "../../run/Quantity.ts"
import * as EndLine from "./EndLine.ts"
import * as InProgram from "./InProgram.ts"
import * as InputLines from "./InputLines.ts"
import * as Invocation from "./Invocation.ts"
import { dimmed, type Look, say, type State } from "./LogState.ts"
import * as TerminalText from "./TerminalText.ts"
import * as ToolLine from "./ToolLine.ts"
import * as Used from "./Used.ts"

/** `known` is what other logs say about the run. */
export const finish = (look: Look, state: State, known: EndLine.Course = {}): string => {
  const { paint } = look
  const { isForeign } = state
  const flags = [...look.flags, ...state.modelFlags]
  const open = state.end !== undefined ? [] : [
    ...Array.from(
      state.open.values(),
      ({ params, tool }) => `● ${ToolLine.call(tool, params)}  ${paint.yellow("… no outcome yet")}`
    ),
    ...dimmed(look, InputLines.undelivered(state.queue, false)),
    paint.yellow("… The run has not ended: it is still running, or its process died."),
    isForeign
      ? `If it died, go on with it in its program: ${InProgram.resume(look.sessionId)}`
      : `If it died, go on with: ${Invocation.of("resume", [look.sessionId], flags)}`
  ]
  const [next, before] = open.length === 0 ? [state, ""] : say(state, "line", open)
  const course = { isForeign, isDecided: state.asked.size === 0, ...known }
  const goOn = state.end === undefined ? undefined : EndLine.goOn(state.end, look.sessionId, flags, course)
  const used = state.totals.size === 0 ? [] : Used.words(Used.sum(state.totals.values()))
  const underWay = state.end !== undefined
    ? ""
    : used.length === 0
    ? ", not ended"
    : ", without the drive that has not ended"
  const totals = [count(state.runs, "run"), ...used].join(" · ") + underWay
  const [, after] = say(next, "heading", [
    paint.dim(`── session ${TerminalText.line(look.sessionId)} · ${totals}`),
    ...(goOn === undefined ? [] : [goOn])
  ])
  return before + after
}
