/** What a compaction did to a conversation, and what is remembered from there on. Pure. */
import type * as DurableEvent from "../../run/DurableEvent.ts"
import { count } from "../../run/Quantity.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as TerminalText from "./TerminalText.ts"
import * as Used from "./Used.ts"

type Compacted = Pick<
  DurableEvent.Of<"ContextCompacted">,
  "strategy" | "before" | "after" | "tokens" | "cause" | "usage"
>

/** Two lines: how much shorter, and how, why and what it took. */
export const lines = (event: Compacted): readonly [string, string] => [
  `the conversation was shortened${shorter(event)}`,
  [
    by(event.strategy),
    ...(event.cause === undefined ? [] : [causes[event.cause]]),
    ...Used.spent(event.usage)
  ].join(" · ")
]

/** The strategy, worded so that it does not read as a cause. */
const by = (strategy: string): string => `by the strategy ${TerminalText.line(JSON.stringify(strategy))}`

/** The strategy, and why it was used: `cause`. */
export const why = (strategy: string, cause: RunEvent.CompactionCause): string => `${by(strategy)} · ${causes[cause]}`

/** `from 40 to 12 messages, about 52000 to 9300 tokens` */
const shorter = ({ after, before, tokens }: Compacted): string =>
  (before === after ? `, all ${count(after, "message")} stay` : ` from ${before} to ${count(after, "message")}`) +
  (tokens === undefined ? "" : `, about ${tokens.before} to ${count(tokens.after, "token")}`)

const causes: Record<RunEvent.CompactionCause, string> = {
  messages: "it had too many messages",
  window: "it had more tokens than may be sent",
  overflow: "the provider said that it was too long",
  length: "an answer was cut at the output limit",
  manual: "by hand"
}

/** Another strategy may have succeeded after the one that failed. */
export const discarded = ({ message, usage }: DurableEvent.Of<"CompactionDiscarded">): string => {
  const failed = `an attempt to shorten the conversation failed: ${TerminalText.sentence(message)}`
  return [failed, ...Used.spent(usage)].join(" · ")
}
