/** One debug line for each step of a drive, of names, counts and times: `run=r1 status=calling turn=2/20 attempt=1/4`. */
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import type * as Fiber from "effect/Fiber"
import type * as LogLevel from "effect/LogLevel"
import * as References from "effect/References"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as RunState from "../../run/RunState.ts"
import type * as Model from "../../services/Model.ts"
import * as RetryPolicy from "../../services/RetryPolicy.ts"
import * as Ends from "./Ends.ts"
import * as Sink from "./Sink.ts"

/** The minimum levels that let debug lines through. */
const verbose: ReadonlySet<LogLevel.LogLevel> = new Set(["All", "Trace", "Debug"])

/** `undefined` where nobody reads debug lines. */
export const make = (
  drive: Sink.Drive,
  before: RunState.RunState,
  model: Model.ModelInfo,
  fiber: Fiber.Fiber<unknown, unknown>,
  clock: Clock.Clock
): Sink.Sink | undefined => {
  if (!verbose.has(fiber.cache.minimumLogLevel)) return undefined
  const loggers = fiber.getRef(References.CurrentLoggers)
  if (loggers.size === 0) return undefined
  const toLine = lines(drive, before, model, fiber.getRef(RetryPolicy.RetryPolicy))
  return {
    name: "logs",
    see: (events) => {
      for (const event of events) {
        const line = toLine(event)
        if (line === undefined) continue
        const date = new Date(clock.currentTimeMillisUnsafe())
        const message = [`run=${drive.runId} ${line}`]
        for (const logger of loggers) logger.log({ message, logLevel: "Debug", cause: Cause.empty, fiber, date })
      }
    }
  }
}

type Field = readonly [name: string, value: string | number | undefined]

const format = (...fields: ReadonlyArray<Field>): string =>
  fields.flatMap(([name, value]) => value === undefined ? [] : [`${name}=${value}`]).join(" ")

/** A reason as people write it: `toolCalls` is `tool-calls`. */
const words = (reason: string): string => reason.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

const limitOf = (limit: number | undefined): string => limit === undefined || limit === Infinity ? "" : `/${limit}`

const ofAttempt: ReadonlySet<string> = new Set(["calling", "streaming", "retrying"])

/** Remembers from events where the drive is. */
const lines = (
  drive: Sink.Drive,
  before: RunState.RunState,
  model: Model.ModelInfo,
  policy: RetryPolicy.RetryPolicy
) => {
  let { maxRetries } = RetryPolicy.of(policy, model)
  let { limits } = before
  let turn = 0
  /** of the model's tries in this turn, which a fallback begins anew */
  let attempt = 1

  return (event: RunEvent.RunEvent): string | undefined => {
    switch (event._tag) {
      case "RunStarted":
        limits = { ...limits, ...event.input.limits }
        return format(["started", drive.agent], ["session", drive.sessionId])
      case "RunResumed":
        limits = { ...limits, ...event.limits }
        return format(["resumed", drive.agent], ["session", drive.sessionId], ["drive", event.drive], [
          "cause",
          event.cause
        ])
      case "TurnStarted":
        if (event.turn !== turn) attempt = 1
        turn = event.turn
        return undefined
      case "StatusChanged": {
        const isCalling = ofAttempt.has(event.to)
        return format(
          ["status", event.to],
          ["turn", turn === 0 ? undefined : `${turn}${limitOf(limits.maxTurns)}`],
          ["attempt", isCalling ? `${attempt}${maxRetries === undefined ? "" : limitOf(maxRetries + 1)}` : undefined]
        )
      }
      case "AttemptDiscarded":
        attempt++
        return format(["discarded", event.attempt], ["error", event.error._tag], ["ms", event.duration], [
          "delay",
          event.delay
        ])
      case "ModelSwitched":
        attempt = 1
        maxRetries = RetryPolicy.of(policy, event.to).maxRetries
        return format(["model", `${event.to.provider}/${event.to.name}`])
      case "AssistantMessage":
        return format(
          ["answered", `${event.model.provider}/${event.model.name}`],
          ["finish", event.finishReason],
          ["input", event.usage.inputTokens],
          ["output", event.usage.outputTokens]
        )
      case "ToolSettled":
        return format(["tool", Sink.toolName(drive, event.tool)], ["outcome", event.outcome._tag], [
          "ms",
          event.duration
        ])
      case "ApprovalRequested":
        return format(["approval", event.approvalId], ["tool", Sink.toolName(drive, event.tool)])
      case "ApprovalResolved":
        return format(["approval", event.approvalId], ["answer", event.approved ? "approved" : "denied"])
      case "ContextCompacted":
        return format(["compacted", event.strategy], ["before", event.before], ["after", event.after])
      case "NoticeAdded":
        return format(["notice", event.kind])
      case "TurnFinished": {
        const { decision, latency } = event
        const reason = decision._tag === "Fail" ? decision.error.reason._tag : words(decision.reason)
        return format(["decision", decision._tag.toLowerCase()], ["reason", reason], ["model", latency.model], [
          "tools",
          latency.tools
        ])
      }
      case "RunCompleted":
      case "RunLimited":
      case "RunSuspended":
      case "RunFailed":
      case "RunAborted": {
        const { end, reason } = Ends.of(event)
        const { duration, errors, toolCalls, turns } = event.totals
        return format(
          ["end", end],
          ["reason", event._tag === "RunFailed" ? reason : words(reason)],
          ["turns", turns],
          [
            "tools",
            toolCalls
          ],
          ["errors", errors],
          ["ms", duration]
        )
      }
      default:
        return undefined
    }
  }
}
