/**
 * A strategy by a model: condenses the older part of a conversation into what is remembered of it. Where the model fails, old
 * tool output is left out instead.
 *
 * Does not own what is remembered (`ContextSummary`, `ContextKeyFacts`), how the model reads it (`Reading`), nor where the
 * conversation is cut (`Cut`).
 */
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import * as Message from "../../run/Message.ts"
import * as MessageTokens from "../../run/MessageTokens.ts"
import * as Transcript from "../../run/Transcript.ts"
import * as Usage from "../../run/Usage.ts"
import * as ContextManager from "../../services/ContextManager.ts"
import * as Model from "../../services/Model.ts"
import * as StrategyFault from "../../services/StrategyFault.ts"
import * as ContextPruning from "../ContextPruning.ts"
import * as OptionCheck from "../options/OptionCheck.ts"
import * as Cut from "./Cut.ts"
import * as MessageText from "./MessageText.ts"
import * as Reading from "./Reading.ts"
import * as Remembered from "./Remembered.ts"
import * as Strategy from "./Strategy.ts"
import type * as Way from "./Way.ts"

export interface Options extends Strategy.Trigger {
  /** tokens that the memory may take, fewer where little is left out; default 2,000 */
  readonly budget?: number | undefined
  /** the share of messages and tokens, or of the token limit if smaller, that stays word for word, from 0 to 1; default 0.3 */
  readonly keep?: number | undefined
}

export const optionNames: Record<keyof Options, true> = { budget: true, keep: true, ...Strategy.triggerNames }

/** A way with its limits. */
type Sized<A> = Way.Way<A> & { readonly budget: number; readonly keep: number }

/** Condenses with `model`. Throws a `RangeError` for an option out of range. */
export const make = <A>(
  model: Model.Model["Service"],
  way: Way.Way<A>,
  options: Options
): ContextManager.ContextManager["Service"] => {
  const { budget = 2_000, keep = 0.3 } = options
  OptionCheck.atLeast("budget", budget, 1)
  OptionCheck.part("keep", keep)
  return Strategy.toManager(strategy(model, { ...way, budget, keep }), options)
}

const strategy = <A>(model: Model.Model["Service"], way: Sized<A>): Strategy.Strategy =>
  Strategy.orElse(
    {
      models: Model.chainOf(model).map(({ info }) => Model.refOf(info)),
      canShrink: (view) => olderOf(view, way) !== undefined,
      compact: (view) =>
        StrategyFault.within(`the ${way.name} by ${Message.modelName(model.info)}`, condense(model, way, view))
    },
    ContextPruning.strategy()
  )

/** At least so many tokens must be left out for a memory of them to be worth a call. */
const least = 60

/**
 * The cut, and the tokens that it leaves out; undefined where they are not worth a call. The memory takes its room from the part
 * that stays, at most half of it.
 */
const olderOf = (view: ContextManager.View, { budget, keep }: { readonly budget: number; readonly keep: number }) => {
  const tokens = Strategy.target(view, keep)
  const kept = {
    messages: Math.max(1, Math.floor(Transcript.size(view.transcript) * keep)),
    tokens: tokens - Math.min(budget, tokens / 2)
  }
  const cut = Cut.make(view, kept, (cut) => sizeOf(view, cut) >= least)
  if (cut === undefined) return undefined
  const size = sizeOf(view, cut)
  return size < least ? undefined : { cut, size }
}

/** Tokens of what is left out, files and reasoning too. Not corrected by what a provider counts: budgets are not, either. */
const sizeOf = ({ size }: ContextManager.View, { left }: Cut.Cut): number => counterBy(size.ofText).messages(left)

/** Each message is counted once. */
const counterBy = memoize((count: (text: string) => number) => MessageTokens.make(count))

/** The share of the window that the conversation's first words may take in a question. */
const firstPart = 0.1

/** Tokens that the memory may take: as many as the old memory took, plus half of what is left out now. */
const budgetOf = <A>(model: Model.Model["Service"], way: Sized<A>, view: ContextManager.View, size: number): number => {
  const before = view.size.ofText(Transcript.memory(view.transcript)?.text ?? "")
  return Math.floor(Math.min(way.budget, Model.answerRoom(model.info), before + size / 2))
}

const condense = Effect.fnUntraced(function*<A>(
  model: Model.Model["Service"],
  way: Sized<A>,
  view: ContextManager.View
): Effect.fn.Return<ContextManager.Compaction, ContextManager.CompactionError> {
  const older = olderOf(view, way)
  if (older === undefined) return yield* Strategy.nothingToLeaveOut()
  const { cut, size } = older
  const { contextWindow = Infinity } = model.info
  const before = Transcript.memory(view.transcript)
  const first = Remembered.firstWords(view)
  const budget = budgetOf(model, way, view, size)
  const shown = MessageText.fit(first, contextWindow * firstPart, view.size.ofText)
  const task: Reading.Task<A> = { model, way, view, first: shown, budget }
  const remembered = yield* Effect.catch(
    Reading.read(task, cut.left, Remembered.known(way, before)),
    (error) =>
      Effect.fail(
        new ContextManager.CompactionError({
          message: `the ${way.name} could not be made by ${Message.modelName(model.info)}: ${error.message}`
        })
      )
  )
  return {
    strategy: way.name,
    upTo: cut.upTo,
    replacement: cut.replacement,
    memory: {
      text: way.render(remembered),
      data: { by: way.name, first, remembered: way.data(remembered) }
    },
    // the ledger has its calls already
    usage: Usage.zero
  }
})
