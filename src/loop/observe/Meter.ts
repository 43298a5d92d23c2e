/**
 * Counts what a drive publishes: a fold of its events into metrics.
 *
 * Does not own durations of model calls, which are measured around them (`Chat`).
 */
import type * as Context from "effect/Context"
import type * as Message from "../../run/Message.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as RunState from "../../run/RunState.ts"
import * as Usage from "../../run/Usage.ts"
import * as Chat from "./Chat.ts"
import * as Conventions from "./Conventions.ts"
import * as Ends from "./Ends.ts"
import type * as Family from "./Family.ts"
import * as Metrics from "./Metrics.ts"
import * as Sink from "./Sink.ts"

/** `before`: the run as the drive found it, whose share is not counted again. */
export const make = (drive: Sink.Drive, before: RunState.RunState, context: Context.Context<never>): Sink.Sink => {
  const agent = { [Conventions.agentName]: drive.agent }
  const waiting = new Set<string>()
  const running = new Set<string>()
  let base = noTotals
  let isLive = false

  const live = (isNow: boolean) => {
    if (isLive !== isNow) Metrics.live(isNow ? 1 : -1, agent, context)
    isLive = isNow
  }
  const ask = (callId: string) => {
    if (waiting.has(callId)) return
    waiting.add(callId)
    Metrics.approvalsWaiting(1, agent, context)
  }
  const answered = (callId: string) => {
    if (waiting.delete(callId)) Metrics.approvalsWaiting(-1, agent, context)
  }

  return {
    see: (event) => {
      switch (event._tag) {
        case "RunStarted":
          return live(true)
        case "RunResumed":
          base = before.totals
          for (const { callId, decision, phase } of before.openCalls) {
            if (phase === "awaiting" && decision === undefined) ask(callId)
          }
          return live(true)
        case "AttemptDiscarded": {
          const error = { [Conventions.errorType]: event.error._tag }
          const model = event.model === undefined ? {} : Chat.attributesOf(event.model)
          Metrics.attempts(1, { ...model, ...error }, context)
          if (event.delay !== undefined) Metrics.retries(1, error, context)
          return spend(event.usage, event.model, context)
        }
        case "AssistantMessage":
          Metrics.attempts(1, Chat.attributesOf(event.model), context)
          return spend(event.usage, event.model, context)
        case "ContextCompacted":
          Metrics.compactions(1, { strategy: event.strategy }, context)
          return spend(event.usage, undefined, context)
        case "ToolStarted":
          running.add(event.callId)
          return undefined
        case "ToolSettled": {
          const tool = {
            [Conventions.toolName]: Sink.toolName(drive, event.tool),
            [Conventions.outcome]: event.outcome._tag
          }
          Metrics.toolCalls(1, tool, context)
          if (running.delete(event.callId)) Metrics.toolDuration(event.duration / 1000, tool, context)
          return answered(event.callId)
        }
        case "ApprovalRequested":
          return ask(event.callId)
        case "ApprovalResolved":
          Metrics.approvals(1, { ...agent, answer: event.approved ? "approved" : "denied" }, context)
          return answered(event.callId)
        case "RunCompleted":
        case "RunLimited":
        case "RunSuspended":
        case "RunFailed":
        case "RunAborted": {
          const { end, reason } = Ends.of(event)
          const { totals } = event
          Metrics.runs(1, { ...agent, end, reason }, context)
          Metrics.runDuration((totals.duration - base.duration) / 1000, { ...agent, end }, context)
          Metrics.turns(totals.turns - base.turns, agent, context)
          Metrics.toolRounds(totals.toolRounds - base.toolRounds, agent, context)
          return live(false)
        }
        default:
          return undefined
      }
    },
    close: () => {
      for (const callId of waiting) answered(callId)
      live(false)
    }
  }
}

/** Counts the end of a drive that died, and nothing else of it. */
export const ofEnds = (agent: string, context: Context.Context<never>): Sink.Sink["see"] => (event) => {
  if (event._tag !== "RunAborted" && event._tag !== "RunLimited") return
  Metrics.runs(1, { [Conventions.agentName]: agent, ...Ends.of(event) }, context)
}

const noTotals: Pick<RunEvent.Totals, "duration" | "turns" | "toolRounds"> = { duration: 0, turns: 0, toolRounds: 0 }

/** What a compaction spent is told without the model, which the log does not know. */
const spend = (usage: Usage.Usage, model: Message.ModelRef | undefined, context: Context.Context<never>): void => {
  const attributes = model === undefined ? noModel : Chat.attributesOf(model)
  const count = (kind: string, tokens: number | undefined) => {
    if (tokens !== undefined && tokens > 0) Metrics.tokensByKind(tokens, { ...attributes, kind }, context)
  }
  const { cacheWriteTokens, cachedInputTokens, cost, inputTokens, outputTokens, reasoningTokens } = usage
  count("input", inputTokens)
  count("output", outputTokens)
  count("cached_input", cachedInputTokens)
  count("cache_write", cacheWriteTokens)
  count("reasoning", reasoningTokens)
  if (model !== undefined && Usage.total(usage) > 0) {
    Metrics.tokenUsage(inputTokens, { ...attributes, [Conventions.tokenType]: "input" }, context)
    Metrics.tokenUsage(outputTokens, { ...attributes, [Conventions.tokenType]: "output" }, context)
  }
  if (cost !== undefined) Metrics.cost(cost, attributes, context)
}

const noModel: Family.Attributes = {}
