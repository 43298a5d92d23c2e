/**
 * Whether arguments of a tool will never fit it, whenever they are read.
 *
 * Does not own what follows from it (`ApprovalRule`), nor how arguments are read (`ToolCodecs`).
 */
import type * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as ToolCodecs from "./ToolCodecs.ts"

/** `true` where reading them fails at once, and takes nothing but they themselves: no service, not even the clock. */
export const forGood = (tool: Tool.Any, params: unknown): Effect.Effect<boolean> => {
  const reading = Effect.updateContext(ToolCodecs.decoded(tool, params), alone)
  return Effect.flatMap(Effect.forkChild(reading, { startImmediately: true }), (fiber) => {
    const exit = fiber.pollUnsafe()
    return exit === undefined
      ? Effect.as(Fiber.interrupt(fiber), false)
      : Effect.succeed(Exit.isFailure(exit) && exit.cause.reasons.every(Cause.isFailReason))
  })
}

const noTime = Effect.die("there is no clock")

const unsafe = (): never => {
  throw new Error("there is no clock")
}

const nothing: Context.Context<never> = Context.make(Clock.Clock, {
  currentTimeMillisUnsafe: unsafe,
  currentTimeMillis: noTime,
  currentTimeNanosUnsafe: unsafe,
  currentTimeNanos: noTime,
  monotonicTimeNanosUnsafe: unsafe,
  monotonicTimeNanos: noTime,
  sleep: () => noTime
})

const alone: (given: Context.Context<never>) => Context.Context<never> = () => nothing
