/**
 * Counts what a drive publishes: a fold of its events into metrics.
 *
 * Does not own durations of model calls, which are measured around them (`Chat`).
 */
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as RunState from "../../run/RunState.ts"
import * as Usage from "../../run/Usage.ts"
import * as Ends from "./Ends.ts"
import type * as Family from "./Family.ts"
import * as Metrics from "./Metrics.ts"
import * as Sink from "./Sink.ts"

/** `before`: the run as the drive found it, whose share is not counted again. */
export const make = (drive: Sink.Drive, before: RunState.RunState, target: Family.Target): Sink.Sink => {
  const agent = Metrics.ofAgent(drive.agent)
  const waiting = new Set<string>()
  const running = new Set<string>()
  let base = noTotals
  let isLive = false

  const live = (isNow: boolean) => {
    if (isLive !== isNow) agent.live(isNow ? 1 : -1, target)
    isLive = isNow
  }
  const ask = (callId: string) => {
    if (waiting.has(callId)) return
    waiting.add(callId)
    agent.waiting(1, target)
  }
  const answered = (callId: string) => {
    if (waiting.delete(callId)) agent.waiting(-1, target)
  }
  const one = (event: RunEvent.Durable) => {
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
        const model = event.model === undefined ? undefined : Metrics.ofModel(event.model)
        model?.discarded(event.error._tag).count(1, target)
        if (event.delay !== undefined) Metrics.retried(event.error._tag)(1, target)
        return spend(event.usage, model, target)
      }
      case "AssistantMessage": {
        const model = Metrics.ofModel(event.model)
        model.settled.count(1, target)
        return spend(event.usage, model, target)
      }
      case "ContextCompacted":
        Metrics.compacted(event.strategy)(1, target)
        return spend(event.usage, undefined, target)
      case "ToolStarted":
        running.add(event.callId)
        return undefined
      case "ToolSettled": {
        const tool = Metrics.ofTool(Sink.toolName(drive, event.tool))(event.outcome._tag)
        tool.count(1, target)
        if (running.delete(event.callId)) tool.duration(event.duration / 1000, target)
        return answered(event.callId)
      }
      case "ApprovalRequested":
        return ask(event.callId)
      case "ApprovalResolved":
        agent[event.approved ? "approved" : "denied"](1, target)
        return answered(event.callId)
      case "RunCompleted":
      case "RunLimited":
      case "RunSuspended":
      case "RunFailed":
      case "RunAborted": {
        const { totals } = event
        const ended = agent.ended(Ends.named(event))
        ended.count(1, target)
        ended.duration((totals.duration - base.duration) / 1000, target)
        agent.turns(totals.turns - base.turns, target)
        agent.toolRounds(totals.toolRounds - base.toolRounds, target)
        return live(false)
      }
      default:
        return undefined
    }
  }

  return {
    see: (events) => {
      for (const event of events) if ("seq" in event) one(event)
    },
    close: () => {
      for (const callId of waiting) answered(callId)
      live(false)
    }
  }
}

/** Counts the end of a drive that died, and nothing else of it. */
export const ofEnds = (agent: string, target: Family.Target): Sink.See => (events) => {
  for (const event of events) {
    if (event._tag !== "RunAborted" && event._tag !== "RunLimited") continue
    Metrics.ofAgent(agent).ended(Ends.named(event)).count(1, target)
  }
}

const noTotals: Pick<RunEvent.Totals, "duration" | "turns" | "toolRounds"> = { duration: 0, turns: 0, toolRounds: 0 }

/** What a compaction spent is told without the model, which the log does not know. */
const spend = (usage: Usage.Usage, model: Metrics.OfModel | undefined, target: Family.Target): void => {
  const spending = model?.spending ?? Metrics.onCompaction
  const { cacheWriteTokens = 0, cachedInputTokens = 0, cost, inputTokens, outputTokens, reasoningTokens = 0 } = usage
  if (inputTokens > 0) spending.input(inputTokens, target)
  if (outputTokens > 0) spending.output(outputTokens, target)
  if (cachedInputTokens > 0) spending.cachedInput(cachedInputTokens, target)
  if (cacheWriteTokens > 0) spending.cacheWrite(cacheWriteTokens, target)
  if (reasoningTokens > 0) spending.reasoning(reasoningTokens, target)
  if (cost !== undefined) spending.cost(cost, target)
  if (model === undefined || Usage.total(usage) === 0) return
  model.inputUsage(inputTokens, target)
  model.outputUsage(outputTokens, target)
}
