/**
 * Calls a handler that can be reached directly: does what `Toolkit.handle` does, without the queue, the fiber and the stream
 * for preliminary results, which most handlers never emit.
 *
 * Does not own how arguments are read and results written (`ToolCodecs`), on which fiber it continues (`HandlerCall`), nor what
 * becomes of a failure (`Settling`).
 */
import type * as AiError from "effect/ai/AiError"
import type * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"
import * as Foreign from "../../run/Foreign.ts"
import * as Frozen from "../../run/Frozen.ts"
import { ToolCall } from "../../services/ToolCall.ts"
import type * as ToolExecutor from "../../services/ToolExecutor.ts"
import * as NoEffect from "./NoEffect.ts"
import * as Shield from "./Shield.ts"
import * as ToolCodecs from "./ToolCodecs.ts"

/** The handler of a toolkit's tool; nothing where handlers are only reached through somebody else's `handle`. */
export const find = (
  { foundIn }: ToolExecutor.Handlers,
  tool: Tool.Any
): Tool.Handler<string> | undefined => foundIn?.mapUnsafe.get(tool.id) as Tool.Handler<string> | undefined

/** Adds the services that the tool's schemas may need: its handler has them, where that is known. */
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
 * it is dropped (`Shield`); its own spans have that span as their parent.
 */
export const contextOf = (
  { context }: Tool.Handler<string>,
  given: Context.Context<never>,
  { identity }: ToolExecutor.Call
): Context.Context<never> => Context.add(together(context, given), ToolCall, identity)

/** Both stay the same during a drive, so they are merged once for all of its calls. */
const together = (context: Context.Context<never>, given: Context.Context<never>): Context.Context<never> => {
  let below = seen.get(context)
  if (below === undefined) seen.set(context, below = new WeakMap())
  let both = below.get(given)
  if (both === undefined) below.set(given, both = Shield.over(Context.merge(context, given)))
  return both
}

/** The merged contexts, by the agent's and the given one. */
const seen = new WeakMap<Context.Context<never>, WeakMap<Context.Context<never>, Context.Context<never>>>()

/**
 * Calls the handler: returns an `Exit` where it waits for nothing, else an effect to run on a fiber of its own, in the context
 * that `contextOf` returns; `isOver` says that this fiber has ended. Fails with what the tool failed with, or an `AiError` when
 * its arguments or its result do not fit.
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
    /** In order, each handed on before the handler continues; one that does not fit ends the call. */
    const preliminary = (value: unknown) =>
      Effect.suspend(() => hasEnded || isOver() ? Effect.void : encoded(value, progress)).pipe(
        Effect.catch((error) => {
          refused = error
          return Effect.die(error)
        }),
        Semaphore.withPermit(line ??= Semaphore.makeUnsafe(1))
      )
    const handling = handler(Frozen.opened(decoded), { toolCallId: identity.callId, preliminary })
    if (!Foreign.isEffect(handling)) return Effect.die(NoEffect.of(tool.name))
    return Effect.matchCauseEffectEager(handling, {
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
