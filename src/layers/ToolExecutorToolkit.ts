/**
 * Runs calls through an effect/ai toolkit, and turns everything that may go wrong with them into an outcome. Arguments stay
 * out of spans.
 *
 * Does not own how a handler is called (`HandlerCall`), what its exit means (`Settling`), which calls need a person's yes
 * (`ApprovalRule`), nor what a person gives for one (`GivenByPeople`).
 */
import * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as ToolOutcome from "../run/ToolOutcome.ts"
import * as Detached from "../services/fibers/Detached.ts"
import * as Leavable from "../services/fibers/Leavable.ts"
import { NeedsResult } from "../services/NeedsResult.ts"
import { ResultLimit } from "../services/ResultLimit.ts"
import * as ToolExecutor from "../services/ToolExecutor.ts"
import * as Warning from "../services/Warning.ts"
import * as ApprovalRule from "./tools/ApprovalRule.ts"
import * as GivenByPeople from "./tools/GivenByPeople.ts"
import * as HandlerCall from "./tools/HandlerCall.ts"
import * as NoEffect from "./tools/NoEffect.ts"
import * as NoHandler from "./tools/NoHandler.ts"
import * as Settling from "./tools/Settling.ts"

export { ResultLimit }

const execute: ToolExecutor.ToolExecutor["Service"]["execute"] = (handlers, call, observer) => {
  const tool = toolOf(handlers, call.name)
  if (tool === undefined) {
    return Effect.succeed({ outcome: { _tag: "UnknownTool", available: Object.keys(handlers.tools) } })
  }
  return Effect.callback((resume) => {
    const context = Detached.contextHere()
    const limit = Context.get(context, ResultLimit)
    const settled = (exit: Settling.Exited): Effect.Effect<ToolExecutor.Settlement | ToolExecutor.Paused> => {
      const settlement = Settling.paused(exit) ?? Settling.of(tool, call.params, exit, limit)
      return Settling.isContained(exit) ? Effect.as(warn(call, exit.cause), settlement) : Effect.succeed(settlement)
    }
    const running = HandlerCall.start(handlers, tool, call, observer, context)
    if (Exit.isExit(running)) return resume(settled(running))
    const onExit = (exit: Settling.Exited) => resume(Effect.suspend(() => settled(exit)))
    const onLeftBehind = Effect.suspend(() => observer.leftBehind(leftBehind(tool)))
    return Leavable.awaiting(running, onExit, resume, onLeftBehind, () => timeLimit(tool, call.timeout))
  })
}

/** What a handler that died threw is in nobody's log: the model reads its message. */
const warn = ({ identity: { callId, runId }, name }: ToolExecutor.Call, cause: Cause.Cause<unknown>) => {
  const defect = Cause.squash(cause)
  const how = NoHandler.isSaidBy(defect)
    ? "is missing: provide what toLayer of its toolkit gives"
    : NoEffect.isSaidBy(defect)
    ? "failed: it returned or yielded no Effect, such as Effect.succeed(result)"
    : Warning.howOf(cause)
  return Warning.warn(
    `the handler of the tool "${name}" ${how} (run "${runId}", call ${callId}); its call has failed, and the model is told`
  )
}

/** How long a call may take, and how it is settled when that is over. */
const timeLimit = (tool: Tool.Any, timeout: Duration.Duration): Leavable.Limit<ToolExecutor.Settlement, never> => {
  const millis = Duration.toMillis(timeout)
  const late = (isLeftBehind: boolean): Effect.Effect<ToolExecutor.Settlement> => {
    const isUnknown = isLeftBehind && !isRepeatable(tool)
    return Effect.succeed({ outcome: isUnknown ? { _tag: "OutcomeUnknown" } : { _tag: "TimedOut", limit: millis } })
  }
  return { millis, over: () => late }
}

/** The outcome of a call that an ending run leaves behind. */
const leftBehind = (tool: Tool.Any): ToolOutcome.ToolOutcome => ({
  _tag: isRepeatable(tool) ? "Interrupted" : "OutcomeUnknown"
})

/** Any agent can decide for another, except where it needs the tool's schema. */
const notOurs = "this agent has no such tool; decide with the agent that asked"

/** A tool by name; names inherited from `Object` are not tools. */
const toolOf = (handlers: ToolExecutor.Handlers, name: string): Tool.Any | undefined =>
  Object.hasOwn(handlers.tools, name) ? handlers.tools[name] : undefined

/** Runs the handlers of the agent's toolkit, and takes a tool's own annotations for its rules. */
export const make: ToolExecutor.ToolExecutor["Service"] = {
  execute,
  needsApproval: (handlers, call, byDefault) => {
    const tool = toolOf(handlers, call.name)
    return tool === undefined ? Effect.succeed(false) : ApprovalRule.asks(handlers, tool, call, byDefault)
  },
  problemOf: (handlers, name, params) => {
    const tool = toolOf(handlers, name)
    return tool === undefined ? Effect.succeed(notOurs) : GivenByPeople.problemOf(handlers, tool, params)
  },
  answeredWith: (handlers, name, given) => {
    const tool = toolOf(handlers, name)
    return tool === undefined
      ? Effect.fail(notOurs)
      : Effect.flatMap(ResultLimit, (limit) => GivenByPeople.answer(handlers, tool, given, limit))
  },
  needsResult: (handlers, name) => {
    const tool = toolOf(handlers, name)
    return tool !== undefined && Context.get(tool.annotations, NeedsResult)
  },
  isRepeatable: (handlers, name) => {
    const tool = toolOf(handlers, name)
    return tool !== undefined && isRepeatable(tool)
  }
}

/** The executor as a layer; see `make`. */
export const layer: Layer.Layer<ToolExecutor.ToolExecutor> = Layer.succeed(ToolExecutor.ToolExecutor, make)

const isRepeatable = (tool: Tool.Any): boolean =>
  Context.get(tool.annotations, Tool.Readonly) || Context.get(tool.annotations, Tool.Idempotent)
