/**
 * What a compaction must be, whoever makes it: what the log can keep, smaller than before, with all calls that are open and
 * the latest message of the user. Pure.
 *
 * Does not own how one is made (`ContextManager`), nor what follows where it breaks a law (`Compacting`).
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Memory from "../../run/Memory.ts"
import * as Message from "../../run/Message.ts"
import * as Transcript from "../../run/Transcript.ts"
import * as Usage from "../../run/Usage.ts"
import type * as ContextManager from "../../services/ContextManager.ts"
import * as TooLarge from "../log/TooLarge.ts"

const count = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))

const decode = Schema.decodeUnknownResult(Schema.Struct({
  strategy: Schema.String,
  upTo: count,
  replacement: Schema.Array(Message.Message),
  pruned: Schema.optional(count),
  memory: Schema.optional(Memory.Memory),
  usage: Schema.Struct({ ...Usage.Usage.fields, inputTokens: count, outputTokens: count }),
  model: Schema.optional(Message.ModelRef)
}))

/** Why what a strategy gave is no compaction in the log's own terms; `undefined` where it is one. */
export const misshapen = (given: ContextManager.Compaction): string | undefined => {
  const decoded = decode(given)
  return Result.isFailure(decoded) ? `the strategy gave no compaction: ${decoded.failure.message}` : undefined
}

/** A compaction, and the context before and behind it; `tokens` as they are counted here. */
interface Carried {
  readonly strategy: string
  readonly change: Transcript.Change
  readonly before: Transcript.Transcript
  readonly after: Transcript.Transcript
  readonly tokens: { readonly before: number; readonly after: number }
}

/** The law that it breaks, in words; `undefined` where it breaks none. */
export const broken = ({ after, before, change, strategy, tokens }: Carried): string | undefined => {
  const problem = leftOut(before, after, change) ?? (tokens.after < tokens.before ? undefined : notSmaller(tokens))
  return problem === undefined
    ? TooLarge.of("the compacted context", [change.replacement, change.memory ?? null])?.message
    : `the strategy "${strategy}" ${problem}`
}

const leftOut = (
  before: Transcript.Transcript,
  after: Transcript.Transcript,
  { upTo }: Transcript.Change
): string | undefined => {
  const openSeq = Transcript.openSeq(before)
  if (openSeq !== undefined && upTo >= openSeq) return "left out calls that are still open"
  const latest = Transcript.latestSaid(before)
  if (latest === undefined) return undefined
  const kept = new Set(
    Transcript.entries(after).flatMap(({ message }) =>
      message.role === "user" ? message.content.map((part) => JSON.stringify(part)) : []
    )
  )
  return latest.content.every((part) => kept.has(JSON.stringify(part)))
    ? undefined
    : "did not keep the latest message of the user"
}

const notSmaller = ({ after, before }: Carried["tokens"]): string =>
  `made nothing smaller: about ${Math.ceil(before)} tokens before, ${Math.ceil(after)} after`
