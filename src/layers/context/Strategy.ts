/**
 * One way to make a context smaller, and when it is used: the part of a `ContextManager` that all strategies share.
 *
 * Does not own any of the ways.
 */
import * as Effect from "effect/Effect"
import * as InputCheck from "../../run/InputCheck.ts"
import type * as Message from "../../run/Message.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as Transcript from "../../run/Transcript.ts"
import * as ContextManager from "../../services/ContextManager.ts"
import * as OptionCheck from "../options/OptionCheck.ts"

/** When a strategy is used. */
export interface Trigger {
  /** with more messages than this, once for each answer; default: no limit */
  readonly compactThreshold?: number | undefined
  /** with more tokens than this, also where the model's window is larger or unknown; default: the window */
  readonly maxTokens?: number | undefined
  /** `false`: only when somebody asks; a context too large for the model then ends the run. Default `true` */
  readonly automatic?: boolean | undefined
}

export const triggerNames: Record<keyof Trigger, true> = { compactThreshold: true, maxTokens: true, automatic: true }

export interface Strategy {
  /** the models that it may call */
  readonly models?: ReadonlyArray<Message.ModelRef>
  /** whether there is anything that it could make smaller; pure */
  readonly canShrink: (view: ContextManager.View) => boolean
  readonly compact: (
    view: ContextManager.View
  ) => Effect.Effect<ContextManager.Compaction, ContextManager.CompactionError>
}

/** Throws for a trigger that is none. */
export const toManager = (strategy: Strategy, trigger: Trigger): ContextManager.ContextManager["Service"] => {
  OptionCheck.atLeast("compactThreshold", trigger.compactThreshold, 0)
  OptionCheck.atLeast("maxTokens", trigger.maxTokens, 1)
  OptionCheck.taken(InputCheck.flag("automatic", trigger.automatic))
  return {
    ...(strategy.models === undefined ? {} : { models: strategy.models }),
    // only a model's part takes time, and that has its own limit
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

/** A limit below what instructions and tools take is no use to a conversation; the model's window still applies. */
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
  // a compaction that leaves the number of messages as it is, as pruning does, is not asked for again at once
  if (inARow === 0 && compactThreshold < Infinity && Transcript.size(transcript) > compactThreshold) return "messages"
  const { limit } = size
  // tokens are not counted for a model whose window is unknown
  return limit !== undefined && size.tokens > limit ? "window" : undefined
}

/** When instructions and tools alone exceed the model's window, no conversation is short enough. */
const isHopeless = ({ force, size }: ContextManager.View): boolean =>
  force !== "manual" && size.limit !== undefined && size.fixed >= size.limit

/** How many tokens of messages a compaction should leave: `part` of what there are, or of the limit where that is smaller. */
export const target = ({ size }: ContextManager.View, part: number): number => {
  const { fixed, limit = Infinity, tokens } = size
  return Math.max(0, Math.min(tokens, limit) - fixed) * part
}

/**
 * Uses the second strategy, which passes no other over, when the first fails, and reports why that failed. Neither spends more than
 * its ledger notes.
 */
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
    Effect.map((compaction) => ({ ...compaction, passedOver: [message] })),
    Effect.mapError((error) => new ContextManager.CompactionError({ message: `${message}; ${error.message}` }))
  )
}

export const nothingToLeaveOut = (): ContextManager.CompactionError =>
  new ContextManager.CompactionError({ message: ContextManager.nothingToLeaveOut })
