/**
 * What a kept session looks like: the whole log as a transcript for people. A fold, and pure; every step returns the text
 * to show next.
 *
 * Does not own what a run looks like while it goes (`Render`), nor what is shown below the log (`LogFooter`).
 */
import type * as Schema from "effect/Schema"
import type * as DurableEvent from "../../run/DurableEvent.ts"
import * as Message from "../../run/Message.ts"
import { count } from "../../run/Quantity.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import * as RunResult from "../../run/RunResult.ts"
import { callId } from "../../run/state/OpenCall.ts"
import * as Queue from "../../run/state/Queue.ts"
import * as SessionModel from "../model/SessionModel.ts"
import * as AgentName from "../session/AgentName.ts"
import * as Beginning from "./Beginning.ts"
import * as CompactionLines from "./CompactionLines.ts"
import * as EndLine from "./EndLine.ts"
import * as InputLines from "./InputLines.ts"
import { dimmed, type Look, say, type State, type Step } from "./LogState.ts"
import * as RenderApprovals from "./RenderApprovals.ts"
import * as SourceLines from "./SourceLines.ts"
import * as TerminalText from "./TerminalText.ts"
import * as ToolLine from "./ToolLine.ts"
import * as ToolResult from "./ToolResult.ts"
import * as Used from "./Used.ts"

export { finish } from "./LogFooter.ts"
export { initial, type Look, type State } from "./LogState.ts"

export const step = (look: Look, state: State, event: RunEvent.Durable): Step => {
  const [next, text] = show(look, state, event)
  return [{ ...next, queue: Queue.evolve(state.queue, event) }, text]
}

const show = (look: Look, state: State, event: RunEvent.Durable): Step => {
  const { paint } = look
  const note = (text: string) => say(state, "line", [paint.dim(`· ${text}`)])
  const warn = (text: string) => say(state, "line", [paint.yellow(`↻ ${text}`)])
  switch (event._tag) {
    case "RunStarted":
      return startRun(look, state, event)
    case "RunResumed":
      return say({ ...state, end: undefined }, "line", [
        paint.dim(`· ${Beginning.resumed[event.cause]} · ${Beginning.time(event.at)}`)
      ])
    case "TurnStarted": {
      const model = name(event.model)
      if (model === state.model) return [state, ""]
      const modelFlags = SessionModel.flags(event.model)
      return say({ ...state, model, modelFlags }, "line", [paint.dim(`· model ${model}`)])
    }
    case "AttemptDiscarded":
      return warn(`an attempt does not count: ${TerminalText.sentence(event.error.message)}`)
    case "ModelSwitched": {
      const model = name(event.to)
      return say({ ...state, model }, "line", [paint.yellow(`↻ going on with the model ${model}`)])
    }
    case "AssistantMessage":
      return settleMessage(look, state, event)
    case "ApprovalRequested":
      return say({ ...state, asked: new Set(state.asked).add(event.approvalId) }, "line", [
        paint.yellow(`? ${ToolLine.call(event.tool, event.params)} asks for approval`)
      ])
    case "ApprovalResolved":
      return say({ ...state, asked: without(state.asked, event.approvalId) }, "line", [
        RenderApprovals.resolved(event, state.open.get(event.callId)?.tool, paint)
      ])
    case "ToolStarted":
      return [opened(state, event.callId, event.tool, event.params), ""]
    case "ToolPaused":
      return say(state, "line", [
        paint.yellow(`? ${ToolLine.call(event.tool, state.open.get(event.callId)?.params)} ${waitsFor(event)}`)
      ])
    case "ToolSettled":
      return settleCall(look, state, event)
    case "InputReceived":
      return say(state, "words", InputLines.lines(event.messages))
    case "NoticeAdded":
      return note(`the model was told: ${TerminalText.sentence(event.text)}`)
    case "ContextCompacted":
      return compacted(look, state, event)
    case "CompactionDiscarded":
      return warn(CompactionLines.discarded(event))
    case "RunCompleted":
    case "RunLimited":
    case "RunSuspended":
    case "RunFailed":
    case "RunAborted":
      return endRun(look, state, event)
    default:
      return [state, ""]
  }
}

const startRun = ({ paint }: Look, state: State, event: DurableEvent.Of<"RunStarted">): Step => {
  const { history, messages } = event.input
  const runs = state.runs + 1
  const isForeign = event.agent !== AgentName.own
  const [headed, heading] = say(
    { ...state, runs, isForeign, open: new Map(), asked: new Set(), end: undefined },
    "heading",
    [
      paint.dim(`── run ${runs} · ${Beginning.time(event.at)} · ${TerminalText.line(event.runId)}`),
      ...(history === undefined ? [] : [paint.dim(`· after ${count(history.length, "earlier message")}`)])
    ]
  )
  const [next, words] = say(headed, "words", InputLines.lines(messages))
  return [next, heading + words]
}

const settleMessage = (look: Look, state: State, event: DurableEvent.Of<"AssistantMessage">): Step => {
  const { content } = event.message
  let next = state
  let out = ""
  const add = (kind: "words" | "line", lines: ReadonlyArray<string>) => {
    const [after, text] = say(next, kind, lines)
    next = after
    out += text
  }
  for (const part of content) {
    switch (part.type) {
      case "text":
        if (part.text.trim() !== "") add("words", ToolResult.whole(part.text.trim()))
        break
      case "reasoning":
        if (look.isFull && part.text.trim() !== "") add("words", dimmed(look, ToolResult.whole(part.text.trim())))
        break
      case "file":
        add("words", [InputLines.file(part)])
        break
      case "tool-call":
        if (part.providerExecuted === true) add("line", [`● ${ToolLine.call(part.name, part.params)}  by the provider`])
        break
      case "tool-result":
        break
    }
  }
  const { sources } = event
  add("line", dimmed(look, look.isFull ? SourceLines.all(sources) : SourceLines.few(sources, "; --full shows all")))
  for (const [index, call] of Message.toolCalls(content).entries()) {
    next = opened(next, callId(event.turn, index), call.name, call.params)
  }
  return [next, out]
}

const without = (asked: State["asked"], id: string): State["asked"] => new Set([...asked].filter((one) => one !== id))

const opened = (state: State, id: string, tool: string, params: Schema.Json): State => ({
  ...state,
  open: new Map(state.open).set(id, { tool, params })
})

const settleCall = (look: Look, state: State, event: DurableEvent.Of<"ToolSettled">): Step => {
  const params = state.open.get(event.callId)?.params
  const line = ToolLine.settled(event, params, look.paint)
  const open = new Map(state.open)
  open.delete(event.callId)
  const isCut = ToolLine.isCut(params)
  const { runId, usage } = event
  const totals = usage === undefined ? state.totals : Used.spentAfter(state.totals, { runId, usage })
  return say({ ...state, open, totals }, "line", [
    line,
    ...(look.isFull && isCut ? below(look, ToolResult.whole(ToolResult.text(params!))) : []),
    ...below(look, ToolResult.below(line, event, look.isFull))
  ])
}

const waitsFor = ({ waitsFor }: DurableEvent.Of<"ToolPaused">): string => {
  const sessions = waitsFor.map(({ sessionId }) => TerminalText.line(sessionId)).join(", ")
  return `waits for what is asked in ${sessions}`
}

const below = (look: Look, lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  dimmed(look, lines.map((line) => `    ${line}`))

const compacted = (look: Look, state: State, event: DurableEvent.Of<"ContextCompacted">): Step => {
  const { memory } = event
  const [shorter, how] = CompactionLines.lines(event)
  return say({ ...state, totals: Used.spentAfter(state.totals, event) }, "line", [
    look.paint.yellow(`↻ ${shorter}`),
    look.paint.dim(`  ${how}`),
    ...(memory === undefined ? [] : below(look, ToolResult.linesOf(memory.text, look.isFull)))
  ])
}

const endRun = (look: Look, state: State, event: RunEvent.End): Step => {
  const { paint } = look
  const unfinished = RunEvent.unfinishedOf(event)
  const [said, words] = say(state, "words", unfinished.flatMap((text) => ToolResult.whole(text.trim())))
  const [broken, cut] = unfinished.length === 0 ? [said, ""] : say(said, "line", [paint.dim("· cut off there")])
  const [next, end] = endLines(look, broken, event)
  return [next, words + cut + end]
}

const endLines = (look: Look, state: State, event: RunEvent.End): Step => {
  const { paint } = look
  const waiting = Queue.evolve(state.queue, event)
  const lost = state.queue.filter((queued) => !waiting.includes(queued))
  const explained = TerminalText.sentence(RunResult.outcome(event))
  const totals = new Map(state.totals).set(event.runId, event.totals)
  return say({ ...state, totals, end: event }, "end", [
    ...dimmed(look, [...InputLines.undelivered(lost, true), ...InputLines.undelivered(waiting, false)]),
    event._tag === "RunCompleted" ? paint.green(`✓ ${explained}`) : paint.red(`✗ ${explained}`),
    paint.dim(`  ${[...Used.words(event.totals), ...EndLine.leftRunning(event)].join(" · ")}`)
  ])
}

const name = (model: Message.ModelRef): string => TerminalText.line(Message.modelName(model))
