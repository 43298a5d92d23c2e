/**
 * One way to make a context smaller, and when it is used: the part of a `ContextManager` that all strategies share.
 *
 * Does not own any of the ways.
 */
import * as Effect from "effect/Effect"
import type * as Message from "../../run/Message.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as Transcript from "../../run/Transcript.ts"
import * as ContextManager from "../../services/ContextManager.ts"
import * as OptionCheck from "../provider/OptionCheck.ts"

/** When a strategy is used. */
export interface Trigger {
  /** with more messages than this, once for each answer; default: whatever their number */
  readonly compactThreshold?: number | undefined
  /** with more tokens than this, also where the model's window is larger or not known; default: the window */
  readonly maxTokens?: number | undefined
  /** `false`: only when somebody asks for it; what is too much for the model ends the run then. Default `true` */
  readonly automatic?: boolean | undefined
}

export interface Strategy {
  /** the models that it may ask */
  readonly models?: ReadonlyArray<Message.ModelRef>
  /** whether there is anything that it could make smaller; pure */
  readonly canShrink: (view: ContextManager.View) => boolean
  readonly compact: (
    view: ContextManager.View
  ) => Effect.Effect<ContextManager.Compaction, ContextManager.CompactionError>
}

/** Throws where a number of the trigger is none. */
export const toManager = (strategy: Strategy, trigger: Trigger): ContextManager.ContextManager["Service"] => {
  OptionCheck.atLeast("compactThreshold", trigger.compactThreshold, 0)
  OptionCheck.atLeast("maxTokens", trigger.maxTokens, 1)
  return {
    ...(strategy.models === undefined ? {} : { models: strategy.models }),
    // what may take time is a model's part, which has a limit of its own
    keepsTime: true,
    plan: (view) => {
      const limited = withLimit(view, trigger)
      const cause = isHopeless(view) ? undefined : causeOf(limited, trigger)
      return cause !== undefined && strategy.canShrink(limited)
        ? { _tag: "Compact", request: { ...limited, cause } }
        : ContextManager.send
    },
    compact: (request) => Effect.suspend(() => strategy.compact(withLimit(request, trigger)))
  }
}

/** Fewer tokens than instructions and tools take are no limit of a conversation: the model's window is one all the same. */
const withLimit = <View extends ContextManager.View>(view: View, { maxTokens }: Trigger): View => {
  const { size } = view
  if (maxTokens === undefined || (size.limit !== undefined && size.limit <= maxTokens)) return view
  if (size.fixed >= maxTokens) return view
  return { ...view, size: ContextManager.withLimit(size, maxTokens) }
}

const causeOf = (
  { force, inARow, size, transcript }: ContextManager.View,
  { automatic = true, compactThreshold = Infinity }: Trigger
): RunEvent.CompactionCause | undefined => {
  if (!automatic) return force === "manual" ? force : undefined
  if (force !== undefined) return force
  // what leaves the number as it is, as pruning does, is not asked for again at once
  if (inARow === 0 && compactThreshold < Infinity && Transcript.size(transcript) > compactThreshold) return "messages"
  const { limit } = size
  // nothing is counted for a model whose window nobody knows
  return limit !== undefined && size.tokens > limit ? "window" : undefined
}

/** Where instructions and tools alone are more than the model's window, no conversation is short enough. */
const isHopeless = ({ force, size }: ContextManager.View): boolean =>
  force !== "manual" && size.limit !== undefined && size.fixed >= size.limit

/** How many tokens of messages a compaction is to leave: `part` of what there are, or may be. */
export const target = ({ size }: ContextManager.View, part: number): number => {
  const { fixed, limit = Infinity, tokens } = size
  return Math.max(0, Math.min(tokens, limit) - fixed) * part
}

/** The second one where the first one fails; why that failed is said. Neither spends what its ledger does not note. */
export const orElse = (first: Strategy, second: Strategy): Strategy => ({
  models: [...(first.models ?? []), ...(second.models ?? [])],
  canShrink: (view) => first.canShrink(view) || second.canShrink(view),
  compact: (view) =>
    first.canShrink(view)
      ? Effect.catch(first.compact(view), (failed) => afterFailure(second, view, failed))
      : second.compact(view)
})

const afterFailure = (
  second: Strategy,
  view: ContextManager.View,
  failed: ContextManager.CompactionError
): ReturnType<Strategy["compact"]> => {
  const { message } = failed
  if (!second.canShrink(view)) return Effect.fail(failed)
  return second.compact(view).pipe(
    Effect.map((compaction) => ({ ...compaction, passedOver: [message, ...compaction.passedOver ?? []] })),
    Effect.mapError((error) => new ContextManager.CompactionError({ message: `${message}; ${error.message}` }))
  )
}

export const nothingToLeaveOut = (): ContextManager.CompactionError =>
  new ContextManager.CompactionError({ message: ContextManager.nothingToLeaveOut })
