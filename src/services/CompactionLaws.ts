/**
 * The laws of a compaction, whoever makes it: the log can hold it, it makes the context smaller, and it keeps all open calls
 * and the latest message of the user. Pure.
 *
 * Does not own how one is made (`ContextManager`), nor what happens when it breaks a law: the loop does not record it, and a
 * chain goes on with its next strategy.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Foreign from "../run/Foreign.ts"
import * as Memory from "../run/Memory.ts"
import * as Message from "../run/Message.ts"
import * as Transcript from "../run/Transcript.ts"
import * as Usage from "../run/Usage.ts"
import * as ContextManager from "./ContextManager.ts"

const count = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))

const decode = Schema.decodeUnknownResult(Schema.Struct({
  strategy: Schema.String,
  upTo: count,
  replacement: Schema.Array(Message.Message),
  pruned: Schema.optional(count),
  memory: Schema.optional(Memory.Memory),
  usage: Schema.Struct({ ...Usage.Usage.fields, inputTokens: count, outputTokens: count }),
  model: Schema.optional(Message.ModelRef),
  passedOver: Schema.optional(Schema.Array(Schema.String))
}))

const unreadable = { message: "it cannot be read" }

/** What a compaction does to a context. */
interface Carried {
  readonly change: Transcript.Change
  readonly after: Transcript.Transcript
  readonly tokens: { readonly before: number; readonly after: number }
}

/** What a compaction recorded as event `seq` does to the context; fails with the law that it breaks, and with what it spent. */
export const carry = (
  view: Pick<ContextManager.View, "size" | "transcript">,
  given: ContextManager.Compaction,
  seq: number
): Result.Result<Carried, ContextManager.CompactionError> => {
  const decoded = Foreign.look(() => decode(given), Result.fail(unreadable))
  if (Result.isFailure(decoded)) {
    const message = `the strategy did not return a compaction: ${decoded.failure.message}`
    return Result.fail(new ContextManager.CompactionError({ message }))
  }
  const { size, transcript } = view
  const { memory = Transcript.memory(transcript), pruned, replacement, strategy, upTo } = given
  const change: Transcript.Change = { upTo, replacement, memory, pruned }
  const after = Transcript.compact(transcript, change, seq)
  const tokens = { before: Transcript.total(transcript, size.of).sum, after: Transcript.total(after, size.of).sum }
  const problem = leftOut(transcript, after, change) ?? (tokens.after < tokens.before ? undefined : notSmaller(tokens))
  return problem === undefined
    ? Result.succeed({ change, after, tokens })
    : Result.fail(failed(given, `the strategy "${strategy}" ${problem}`))
}

/** The error of a compaction that breaks a law: what it spent counts. */
export const failed = (
  { model, usage }: Pick<ContextManager.Compaction, "model" | "usage">,
  message: string
): ContextManager.CompactionError =>
  new ContextManager.CompactionError({ message, usage, ...(model === undefined ? {} : { model }) })

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
  `did not make the context smaller: about ${Math.ceil(before)} tokens before, ${Math.ceil(after)} after`
