/**
 * How a drive makes its context smaller: a strategy does it, the log keeps what it gave, with a snapshot to begin at.
 *
 * Does not own when that is needed (`Turn`), nor how it is done (`ContextManager`).
 */
import * as Effect from "effect/Effect"
import * as Bounds from "../../run/log/Bounds.ts"
import * as Snapshot from "../../run/log/Snapshot.ts"
import * as RunError from "../../run/RunError.ts"
import * as Transcript from "../../run/Transcript.ts"
import type * as ContextManager from "../../services/ContextManager.ts"
import * as Prices from "../../services/Prices.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import type * as Env from "../drive/Env.ts"
import * as Severed from "../drive/Severed.ts"
import type * as Turn from "./Turn.ts"

/** Makes the context smaller; when it cannot be, the run ends as what asked for it says. */
export const compact = Effect.fnUntraced(function*(
  env: Env.Env,
  request: ContextManager.View,
  overflow?: RunError.RunError
): Effect.fn.Return<Limited | undefined, RunError.RunError> {
  const { journal } = env
  const { compactionsInARow, limits } = journal.state()
  if (limits.maxCompactions !== undefined && compactionsInARow >= limits.maxCompactions) return limited("compactions")
  // a strategy may take its time, and facts do not wait for it
  yield* journal.commit
  const compacted = Severed.run(env, "compaction", "", env.context.compact(request))
  const result = yield* Effect.result(Effect.flatMap(compacted, storable))
  if (result._tag === "Failure") {
    if (request.force === "length") return limited("length")
    journal.move("compactionFailed")
    return yield* Effect.fail<RunError.RunError>(overflow ?? compactionFailed(result.failure.message))
  }
  const { model, replacement, strategy, upTo, usage } = result.success
  const all = Transcript.entries(journal.transcript())
  journal.record({
    _tag: "ContextCompacted",
    strategy,
    upTo,
    replacement,
    before: all.length,
    after: replacement.length + all.filter((entry) => entry.seq > upTo).length,
    usage: model === undefined ? usage : Prices.costed(env.prices, model, usage),
    ...snapshotOf(env, result.success)
  })
  if (request.force === "length") {
    journal.record({
      _tag: "NoticeAdded",
      kind: "length",
      text: "Your last answer was cut at the output limit. Go on where it ended, in smaller steps."
    })
  }
  journal.move("shrank")
  return undefined
})

type Limited = Extract<Turn.Ending, { _tag: "RunLimited" }>

const limited = (reason: Limited["reason"]): Limited => ({ _tag: "RunLimited", reason })

/** A replacement that is more than a store holds is none. */
const storable = (compaction: ContextManager.Compaction) => {
  const bytes = Bounds.above(compaction.replacement, SessionStore.maxContentBytes)
  return bytes === undefined
    ? Effect.succeed(compaction)
    : Effect.fail(RunError.tooLarge("the compacted context", bytes, SessionStore.maxContentBytes))
}

/** Left out where the event would be more than a store holds; readers begin at the beginning then. */
const snapshotOf = ({ journal }: Env.Env, { replacement, upTo }: ContextManager.Compaction) => {
  const snapshot = Snapshot.take(journal.state(), journal.transcript(), upTo)
  const isTooLarge = Bounds.above([replacement, snapshot ?? null], SessionStore.maxContentBytes) !== undefined
  return snapshot === undefined || isTooLarge ? {} : { snapshot }
}

const compactionFailed = (message: string) => new RunError.NonRetryableError({ _tag: "CompactionFailed", message })
