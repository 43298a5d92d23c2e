/**
 * What a run's events look like in plain text: the model's words on standard output, everything about them on standard
 * error. A fold, and pure.
 *
 * On a terminal the words appear as they come. Anywhere else standard output gets the text of the settled messages that
 * answer, so that a file or a pipe holds the answer and nothing that was discarded or only said on the way.
 */
import type * as Schema from "effect/Schema"
import type * as DurableEvent from "../../run/DurableEvent.ts"
import * as Message from "../../run/Message.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as RunEvents from "../../run/RunEvents.ts"
import { callId } from "../../run/state/OpenCall.ts"
import * as AnsweredBy from "../approval/AnsweredBy.ts"
import * as ErrorWords from "../ErrorWords.ts"
import * as CompactionLines from "./CompactionLines.ts"
import * as EndLine from "./EndLine.ts"
import * as InputLines from "./InputLines.ts"
import type { Paint } from "./Paint.ts"
import * as RenderApprovals from "./RenderApprovals.ts"
import * as SourceLines from "./SourceLines.ts"
import * as TerminalText from "./TerminalText.ts"
import { duration } from "./Time.ts"
import * as ToolLine from "./ToolLine.ts"

export interface Write {
  readonly to: "stdout" | "stderr"
  readonly text: string
}

export interface Look {
  readonly isTerminal: boolean
  readonly paint: Paint
  readonly sessionId: string
  /** flags for the command that goes on with the run */
  readonly flags: ReadonlyArray<string>
  /** whether how to go on is left out, because the next message is asked for anyway */
  readonly isChat?: boolean
  /** arguments of the calls that were open before the first event, by the calls' ids */
  readonly calls?: ReadonlyMap<string, Schema.Json>
  /** the tools that were asked about before the first event, by the ids of the questions */
  readonly asked?: ReadonlyMap<string, string>
}

interface State {
  /** the words of the attempt under way that were shown; none except on a terminal */
  readonly shown: RunEvents.Reading
  /** the end of a piece, held back because the next piece may complete it */
  readonly held: string
  /** whether standard output ended within a line */
  readonly isMidLine: boolean
  readonly calls: ReadonlyMap<string, Schema.Json>
  /** the tools that were asked about, by the ids of the questions */
  readonly asked: ReadonlyMap<string, string>
  /** why the last attempt at this answer is repeated */
  readonly trouble: string | undefined
  /** what the run waits for */
  readonly waitsFor: string | undefined
}

export const initial: State = {
  shown: RunEvents.unread,
  held: "",
  isMidLine: false,
  calls: new Map(),
  asked: new Map(),
  trouble: undefined,
  waitsFor: "starting"
}

type Step = readonly [State, ReadonlyArray<Write>]

const err = (text: string): Write => ({ to: "stderr", text: `${text}\n` })

export const step = (look: Look, state: State, event: RunEvent.RunEvent): Step => {
  switch (event._tag) {
    case "TextDelta":
    case "ReasoningDelta":
    case "ToolParamsDelta":
      return look.isTerminal ? read(state, event) : [state, []]
    case "TurnStarted":
      return [{ ...state, waitsFor: "thinking" }, []]
    case "AssistantMessage":
      return withSources(look, event, settleMessage(look, state, event))
    case "AttemptDiscarded":
      return discard(look, state)
    case "RetryScheduled": {
      const [next, writes] = endLine(state)
      const trouble = TerminalText.sentence(ErrorWords.ofAttempt(event.error))
      const why = trouble === state.trouble ? "the same again" : trouble
      const words = `${why}; trying again in ${duration(event.delay)}`
      return [{ ...next, trouble, waitsFor: "waiting to try again" }, [...writes, err(look.paint.yellow(`↻ ${words}`))]]
    }
    case "ApprovalRequested":
      return [{ ...state, asked: new Map(state.asked).set(event.approvalId, event.tool) }, []]
    case "ApprovalResolved":
      return AnsweredBy.isHere(event.by)
        ? [state, []]
        : [state, [err(RenderApprovals.resolved(event, state.asked.get(event.approvalId), look.paint))]]
    case "ToolStarted":
      return [{
        ...state,
        calls: new Map(state.calls).set(event.callId, event.params),
        waitsFor: ToolLine.call(event.tool, event.params)
      }, []]
    case "ToolSettled":
      return [
        { ...state, waitsFor: "thinking" },
        [err(ToolLine.settled(event, state.calls.get(event.callId), look.paint))]
      ]
    case "ModelSwitched":
      return [state, [err(look.paint.yellow(`↻ going on with the model ${TerminalText.line(event.to.name)}`))]]
    case "InputReceived":
      return [state, InputLines.lines(event.messages).map(err)]
    case "ContextCompacted": {
      const [shorter, how] = CompactionLines.lines(event)
      return [state, [err(look.paint.yellow(`↻ ${shorter}`)), err(look.paint.dim(`  ${how}`))]]
    }
    case "CompactionDiscarded":
      return [state, [err(look.paint.yellow(`↻ ${CompactionLines.discarded(event)}`))]]
    case "RunCompleted":
    case "RunLimited":
    case "RunSuspended":
    case "RunFailed":
    case "RunAborted":
      return end(look, state, event)
    default:
      return [state, []]
  }
}

/** Shows what an event adds to the words. */
const read = (state: State, event: RunEvent.RunEvent): Step => {
  const [shown, pieces] = RunEvents.readText(state.shown, event)
  const { held, text } = TerminalText.piece(state.held, pieces.join(""))
  return [
    { ...state, shown, held, isMidLine: text === "" ? state.isMidLine : !text.endsWith("\n") },
    text === "" ? [] : [{ to: "stdout", text }]
  ]
}

const endLine = (state: State): Step => {
  const rest = TerminalText.lines(state.held)
  const isMidLine = rest === "" ? state.isMidLine : !rest.endsWith("\n")
  const text = rest + (isMidLine ? "\n" : "")
  return [{ ...state, held: "", isMidLine: false }, text === "" ? [] : [{ to: "stdout", text }]]
}

const settleMessage = (
  look: Look,
  state: State,
  event: DurableEvent.Of<"AssistantMessage">
): Step => {
  const { content } = event.message
  const calls = new Map(state.calls)
  for (const [index, call] of Message.toolCalls(content).entries()) calls.set(callId(event.turn, index), call.params)
  const settled = { ...state, calls, trouble: undefined, waitsFor: "thinking" }
  if (look.isTerminal) {
    const [complete, writes] = read(settled, event)
    const [next, more] = endLine(complete)
    return [next, [...writes, ...more]]
  }
  const whole = Message.textOf(content)
  if (whole.trim() === "") return [settled, []]
  const isAnswer = Message.toolCalls(content).length === 0
  return [settled, [
    isAnswer ? { to: "stdout", text: ended(whole) } : err(look.paint.dim(TerminalText.lines(whole.trim())))
  ]]
}

/** What the answer rests on is beneath it, and not among its words. */
const withSources = (
  { paint }: Look,
  { sources }: DurableEvent.Of<"AssistantMessage">,
  [state, writes]: Step
): Step => [state, [...writes, ...SourceLines.few(sources).map((line) => err(paint.dim(line)))]]

const ended = (text: string): string => text.endsWith("\n") ? text : `${text}\n`

const discard = (look: Look, state: State): Step => {
  const [next, writes] = endLine(state)
  const isShown = state.shown.seen.trim() !== ""
  return [
    { ...next, shown: RunEvents.unread },
    isShown ? [...writes, err(look.paint.yellow("↻ the answer broke off there and does not count"))] : writes
  ]
}

const end = (look: Look, state: State, event: RunEvent.End): Step => {
  const [next, writes] = endLine(state)
  return [{ ...next, waitsFor: undefined }, [...writes, { to: "stderr", text: ending(look, event) }]]
}

/** The lines about how a run ended: why it failed, what it took, how to go on. */
export const ending = (look: Look, event: RunEvent.End): string => {
  const goOn = look.isChat ? undefined : EndLine.goOn(event, look.sessionId, look.flags)
  return [
    ...(event._tag === "RunFailed" ? [ErrorWords.line(ErrorWords.ofReason(event.error.reason, look.flags))] : []),
    EndLine.line(event, look.sessionId, look.paint),
    ...(goOn === undefined ? [] : [goOn])
  ].map((line) => `${line}\n`).join("")
}
