/**
 * Keeps the newest part of a conversation: system messages and the newest 70 percent of the messages, the latest user
 * message among them. Needs no model.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Transcript from "../run/Transcript.ts"
import * as Usage from "../run/Usage.ts"
import * as ContextManager from "../services/ContextManager.ts"

export interface Options {
  /** compact when there are more messages than this; default: only when a provider says that it is too much */
  readonly compactThreshold?: number
  /** the part of the messages, or of the threshold, that is kept, between 0 and 1; default 0.7 */
  readonly keep?: number
}

type Entries = ReturnType<typeof Transcript.entries>
type Cut = Pick<ContextManager.Compaction, "upTo" | "replacement">

export const make = (options: Options = {}): ContextManager.ContextManager["Service"] => {
  const { compactThreshold = Infinity, keep = 0.7 } = options
  const cut = (view: ContextManager.View) => {
    const entries = Transcript.entries(view.transcript)
    return cutEntries(entries, Math.floor(Math.min(entries.length, compactThreshold) * keep))
  }
  return {
    plan: (view) =>
      Transcript.size(view.transcript) > compactThreshold && cut(view) !== undefined
        ? { _tag: "Compact", request: view }
        : { _tag: "Send" },
    compact: (view) =>
      Effect.suspend(() => {
        const found = cut(view)
        return found === undefined
          ? Effect.fail(
            new ContextManager.CompactionError({
              message: "nothing can be left out: the conversation is already as short as its latest message allows"
            })
          )
          : Effect.succeed({ strategy: "window", ...found, usage: Usage.zero })
      })
  }
}

export const layerWith = (options: Options): Layer.Layer<ContextManager.ContextManager> =>
  Layer.succeed(ContextManager.ContextManager, make(options))

export const layer: Layer.Layer<ContextManager.ContextManager> = layerWith({})

/** Where to cut to keep that many messages, and what of the prefix stays; `undefined` when nothing would become shorter. */
const cutEntries = (entries: Entries, keep: number): Cut | undefined => {
  const latestUser = entries.findLastIndex((entry) => entry.message.role === "user")
  // the runtime's notices stand in the user's place, and are not what a person said
  const latestSaid = entries.findLastIndex((entry) => entry.message.role === "user" && entry.isNotice !== true)
  let at = entries.length - keep
  // results stay with their calls: a cut between them moves behind them
  while (entries[at]?.message.role === "tool") at++
  const prefix = entries.slice(0, at)
  const kept = prefix.filter((entry, i) => entry.message.role === "system" || i === latestUser || i === latestSaid)
  if (kept.length === prefix.length) return undefined
  // one event may have made several messages, and what came during a call stands behind its turn: messages behind the
  // cut that are not newer than those before it are kept in the replacement
  const upTo = prefix.reduce((max, entry) => Math.max(max, entry.seq), 0)
  const siblings = entries.slice(at).filter((entry) => entry.seq <= upTo)
  return { upTo, replacement: [...kept, ...siblings].map((entry) => entry.message) }
}
