/**
 * One call of a handler that is known by itself: what `Toolkit.handle` makes of it, without the queue, the fiber and the
 * stream for preliminary results that most handlers never give.
 *
 * Does not own how arguments are read and results written (`ToolCodecs`), on which fiber it goes on (`HandlerCall`), nor what
 * becomes of a failure (`Settling`).
 */
import type * as AiError from "effect/ai/AiError"
import type * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"
import * as Frozen from "../../run/Frozen.ts"
import { ToolCall } from "../../services/ToolCall.ts"
import type * as ToolExecutor from "../../services/ToolExecutor.ts"
import * as Shield from "./Shield.ts"
import * as ToolCodecs from "./ToolCodecs.ts"

/** The handler of a toolkit's tool; nothing where the handlers are behind a `handle` of somebody else's making. */
export const find = (
  { foundIn }: ToolExecutor.Handlers,
  tool: Tool.Any
): Tool.Handler<string> | undefined => foundIn?.mapUnsafe.get(tool.id) as Tool.Handler<string> | undefined

/** With the services that the tool's schemas may ask for: its handler has them, where that is known. */
export const inContext = <A, E>(
  handlers: ToolExecutor.Handlers,
  tool: Tool.Any,
  self: Effect.Effect<A, E>
): Effect.Effect<A, E> => {
  const handler = find(handlers, tool)
  return handler === undefined
    ? self
    : Effect.updateContext(self, (given: Context.Context<never>) => Context.merge(handler.context, given))
}

/**
 * What the handler sees: the agent's services, the caller's over them, and its own call. What it writes into the span around
 * it goes nowhere (`Shield`); spans of its own are below that one.
 */
export const contextOf = (
  { context }: Tool.Handler<string>,
  given: Context.Context<never>,
  { identity }: ToolExecutor.Call
): Context.Context<never> => Context.add(together(context, given), ToolCall, identity)

/** Both stay the same while a drive does: they are put together once for all of its calls. */
const together = (context: Context.Context<never>, given: Context.Context<never>): Context.Context<never> => {
  let below = seen.get(context)
  if (below === undefined) seen.set(context, below = new WeakMap())
  let both = below.get(given)
  if (both === undefined) below.set(given, both = Shield.over(Context.merge(context, given)))
  return both
}

/** The contexts that handlers see, by their agent's and the one that is given. */
const seen = new WeakMap<Context.Context<never>, WeakMap<Context.Context<never>, Context.Context<never>>>()

/**
 * Calls the handler: gives an `Exit` where it waits for nothing, else what is to be run on a fiber of its own, in the context that
 * `contextOf` gives; `isOver` says that this fiber has ended. Fails with what the tool failed with, an `AiError` where its
 * arguments or its result do not fit.
 */
export const run = (
  tool: Tool.Any,
  { handler }: Tool.Handler<string>,
  { identity, params }: ToolExecutor.Call,
  progress: (encoded: unknown) => Effect.Effect<void>,
  isOver: () => boolean
): Effect.Effect<ToolCodecs.Result, unknown> => {
  const { decode, encoded, failed, settled, unfit } = ToolCodecs.of(tool)
  const onSuccess = (decoded: unknown): Effect.Effect<ToolCodecs.Result, unknown> => {
    let line: Semaphore.Semaphore | undefined
    let refused: AiError.AiError | undefined
    let hasEnded = false
    /** In order, and each handed on before the handler goes on; one that does not fit ends the call. */
    const preliminary = (value: unknown) =>
      Effect.suspend(() => hasEnded || isOver() ? Effect.void : encoded(value, progress)).pipe(
        Effect.catch((error) => {
          refused = error
          return Effect.die(error)
        }),
        Semaphore.withPermit(line ??= Semaphore.makeUnsafe(1))
      )
    return Effect.matchCauseEffectEager(handler(Frozen.opened(decoded), { toolCallId: identity.callId, preliminary }), {
      onFailure: (cause) => {
        hasEnded = true
        if (refused !== undefined) return Effect.fail(refused)
        const error = Cause.findErrorOption(cause)
        return Option.isSome(error) ? failed(error.value) : Effect.failCause(cause)
      },
      onSuccess: (result) => {
        hasEnded = true
        return refused === undefined ? settled(result) : Effect.fail(refused)
      }
    })
  }
  try {
    return Effect.matchCauseEffectEager(decode(params), { onFailure: unfit, onSuccess })
  } catch (error) {
    return Effect.die(error)
  }
}
