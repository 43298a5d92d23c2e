/**
 * Keeps the newest part of a conversation: system messages and the newest 70 percent of the messages, always with the last
 * exchange, the latest user message, and what the run was given where that fits too. Needs no model.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Transcript from "../run/Transcript.ts"
import * as Usage from "../run/Usage.ts"
import * as ContextManager from "../services/ContextManager.ts"
import * as Cut from "./context/Cut.ts"
import * as Strategy from "./context/Strategy.ts"
import * as OptionCheck from "./options/OptionCheck.ts"

/** When the oldest messages are left out, and how many stay. */
export interface Options extends Strategy.Trigger {
  /** the share of the messages and tokens, or of their limits where those are smaller, that is kept, from 0 to 1; default 0.7 */
  readonly keep?: number | undefined
}

const strategy = ({ compactThreshold = Infinity, keep = 0.7 }: Options = {}): Strategy.Strategy => {
  const cut = (view: ContextManager.View) =>
    Cut.make(view, {
      messages: Math.floor(Math.min(Transcript.size(view.transcript), compactThreshold) * keep),
      tokens: view.size.limit === undefined ? Infinity : Strategy.target(view, keep)
    })
  return {
    canShrink: (view) => cut(view) !== undefined,
    compact: (view) => {
      const found = cut(view)
      return found === undefined
        ? Effect.fail(Strategy.nothingToLeaveOut())
        : Effect.succeed({
          strategy: "window",
          upTo: found.upTo,
          replacement: found.replacement,
          usage: Usage.zero
        })
    }
  }
}

const optionNames: Record<keyof Options, true> = { keep: true, ...Strategy.triggerNames }

/** Throws a `RangeError` for an option out of range, and for one that it does not have. */
export const make = (options: Options = {}): ContextManager.ContextManager["Service"] => {
  OptionCheck.options("ContextWindow", options, optionNames)
  OptionCheck.part("keep", options.keep)
  return Strategy.toManager(strategy(options), options)
}

/** With these options; one that `make` refuses is a defect when the layer is built. */
export const layerWith = (options: Options): Layer.Layer<ContextManager.ContextManager> =>
  Layer.sync(ContextManager.ContextManager, () => make(options))

/** Shrinks a context that exceeds the model's window, where that is known, or that the provider refused. */
export const layer: Layer.Layer<ContextManager.ContextManager> = layerWith({})
