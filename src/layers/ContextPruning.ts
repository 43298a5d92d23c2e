/**
 * Replaces old tool output by short notes: all messages stay, and the model can call a tool again. Needs no model. Keeps the
 * newest output, by default 30 percent of the tokens, and that of the last exchange.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Transcript from "../run/Transcript.ts"
import * as Pruning from "../run/transcript/Pruning.ts"
import * as Usage from "../run/Usage.ts"
import * as ContextManager from "../services/ContextManager.ts"
import * as Strategy from "./context/Strategy.ts"
import * as OptionCheck from "./options/OptionCheck.ts"

/** When old output is left out, and how much of it stays. */
export interface Options extends Strategy.Trigger {
  /** the share of the tokens, or of the limit where that is smaller, in which output is kept, between 0 and 1; default 0.3 */
  readonly keep?: number | undefined
}

/** The strategy alone; `make` decides when it is used. */
export const strategy = ({ keep = 0.3 }: Options = {}): Strategy.Strategy => ({
  canShrink: (view) => prunable(view, keep) !== undefined,
  compact: (view) => {
    const pruned = prunable(view, keep)
    return pruned === undefined
      ? Effect.fail(new ContextManager.CompactionError({ message: "no old output of tools can be left out" }))
      : Effect.succeed({ strategy: "pruning", upTo: 0, replacement: [], pruned, usage: Usage.zero })
  }
})

/** The `seq` up to which output can be left out; undefined where that would change nothing. */
const prunable = (view: ContextManager.View, keep: number): number | undefined => {
  const { size, transcript } = view
  const entries = Transcript.entries(transcript)
  const last = entries.at(-1)
  // output is old when it precedes the last thing said
  const lastExchange = last !== undefined && Transcript.isSaid(last)
    ? entries.length - 1
    : entries.findLastIndex(({ message }) => message.role === "assistant")
  const openSeq = Transcript.openSeq(transcript) ?? Infinity
  let left = Strategy.target(view, keep)
  let upTo = Infinity
  for (let i = entries.length - 1; i >= 0; i--) {
    const entry = entries[i]!
    left -= size.of(entry.message)
    const isOld = left < 0 && i < lastExchange && entry.seq < openSeq
    if (!isOld) upTo = Math.min(upTo, entry.seq - 1)
    else if (entry.seq <= upTo && Pruning.prune(entry) !== entry) return Math.min(upTo, openSeq - 1)
  }
  return undefined
}

const optionNames: Record<keyof Options, true> = { keep: true, ...Strategy.triggerNames }

/** Throws a `RangeError` for an option out of range, and for one that it does not have. */
export const make = (options: Options = {}): ContextManager.ContextManager["Service"] => {
  OptionCheck.options("ContextPruning", options, optionNames)
  OptionCheck.part("keep", options.keep)
  return Strategy.toManager(strategy(options), options)
}

/** With these options; one that `make` refuses is a defect when the layer is built. */
export const layerWith = (options: Options): Layer.Layer<ContextManager.ContextManager> =>
  Layer.sync(ContextManager.ContextManager, () => make(options))

/** Shrinks a context that exceeds the model's window, where that is known, or that the provider refused. */
export const layer: Layer.Layer<ContextManager.ContextManager> = layerWith({})
