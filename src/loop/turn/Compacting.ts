/**
 * How a drive makes its context smaller: a strategy does it, and the log keeps the result, with a snapshot that readers begin at.
 *
 * Does not own when that is needed (`Fitting`), how it is done (`ContextManager`), nor what is no compaction (`CompactionLaws`).
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Frozen from "../../run/Frozen.ts"
import * as Bounds from "../../run/log/Bounds.ts"
import * as Snapshot from "../../run/log/Snapshot.ts"
import * as Lost from "../../run/Lost.ts"
import * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as Transcript from "../../run/Transcript.ts"
import * as Usage from "../../run/Usage.ts"
import * as Losses from "../../services/attempts/Losses.ts"
import * as CompactionLaws from "../../services/CompactionLaws.ts"
import * as ContextManager from "../../services/ContextManager.ts"
import * as ObserveCall from "../../services/ObserveCall.ts"
import * as StrategyFault from "../../services/StrategyFault.ts"
import * as Timeouts from "../../services/Timeouts.ts"
import * as AppCode from "../env/AppCode.ts"
import type * as Env from "../env/Env.ts"
import * as TooLarge from "../log/TooLarge.ts"
import * as Chat from "../observe/Chat.ts"
import * as CompactionSpan from "../observe/CompactionSpan.ts"
import * as AnswerUsage from "./AnswerUsage.ts"
import * as Ended from "./Ended.ts"

/** As warnings, errors and the log name the strategy of an agent. */
export const who = "the strategy"

/** Makes the context smaller; where that fails, the run ends as the reason for the compaction says. */
export const compact = Effect.fnUntraced(function*(
  env: Env.Env,
  request: ContextManager.Request,
  overflow?: RunError.RunError
): Effect.fn.Return<Ended.Limited | undefined, RunError.RunError> {
  const { journal } = env
  const limit = env.budget.limitReached(journal.now)
  if (limit !== undefined) return Ended.limited(limit)
  const { compactionsInARow, limits } = journal.state
  if (limits.maxCompactions !== undefined && compactionsInARow >= limits.maxCompactions) {
    return Ended.limited({ reason: "compactions" })
  }
  const result = yield* Effect.result(carryOut(env, request))
  if (result._tag === "Failure") {
    // an error of the store is not the strategy's failure
    if (result.failure._tag !== "CompactionError") return yield* result.failure
    const spent = env.budget.limitReached(journal.now)
    // a provider's own error says more
    if (spent !== undefined && overflow === undefined) return Ended.limited(spent)
    if (request.force === "length") return Ended.limited({ reason: "length" })
    journal.move("compactionFailed")
    return yield* Effect.fail<RunError.RunError>(overflow ?? failed(result.failure.message))
  }
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

type Compacted = Extract<RunEvent.Draft, { _tag: "ContextCompacted" }>

export const failed = (message: string) => new RunError.NonRetryableError({ _tag: "CompactionFailed", message })

/**
 * Records what the strategy returns. Where it fails, breaks, returns what is no compaction, or is cut off, records only what it
 * spent, which counts all the same.
 */
export const carryOut = (
  env: Env.Env,
  request: ContextManager.Request
): Effect.Effect<Compacted, ContextManager.CompactionError | RunError.RunError> => {
  // by hand it is bounded as a run of its own
  const losses = Losses.make(request.force === "manual" ? Lost.nothing : env.journal.state)
  const making = CompactionSpan.around(env.telemetry, request, make(env, request, losses))
  return Effect.onError(making, (cause) => Effect.sync(() => discard(env, request, errorOf(cause), losses)))
}

type CompactionLosses = ReturnType<typeof Losses.make>

const errorOf = (cause: Cause.Cause<ContextManager.CompactionError | RunError.RunError>) => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (error?._tag === "CompactionError") return error
  return Cause.hasInterruptsOnly(cause) ? cutOff : broke
}

const cutOff = new ContextManager.CompactionError({ message: "the compaction was cut off" })
const broke = new ContextManager.CompactionError({ message: StrategyFault.unexpectedly(who) })

const make = Effect.fnUntraced(function*(
  env: Env.Env,
  request: ContextManager.Request,
  losses: CompactionLosses
): Effect.fn.Return<Compacted, ContextManager.CompactionError | RunError.RunError> {
  const { context, journal, timeouts } = env
  // a strategy may take its time, and facts do not wait for it
  yield* journal.commit
  const asked = AppCode.run(env, "compaction", "", StrategyFault.asked(context, request))
  const making = StrategyFault.contained(who, asked)
  const inTime = context.keepsTime === true ? making : StrategyFault.limited(who, timeouts, making)
  const observe = Chat.observe(env)
  const compaction = yield* inTime.pipe(
    Effect.provideService(Timeouts.Timeouts, timeouts),
    Effect.provideService(Losses.Losses, losses),
    Effect.provideService(
      ObserveCall.ObserveCall,
      request.force === "manual" ? observe : AnswerUsage.watching(env, observe)
    )
  )
  const before = journal.transcript
  const view = { transcript: before, size: request.size }
  const { after, change, tokens } = yield* Effect.fromResult(
    CompactionLaws.carry(view, compaction, journal.state.seq + 1)
  )
  const { passedOver = [], replacement, strategy: name, upTo } = compaction
  const { memory, pruned } = change
  const tooLarge = TooLarge.of("the compacted context", [replacement, memory ?? null])
  if (tooLarge !== undefined) return yield* CompactionLaws.failed(compaction, tooLarge.message)
  for (const message of passedOver) discarded(env, request, message, Usage.zero)
  const compacted: Compacted = {
    _tag: "ContextCompacted",
    strategy: name,
    upTo,
    replacement: Frozen.copy(replacement),
    before: Transcript.size(before),
    after: Transcript.size(after),
    tokens: { before: Math.ceil(tokens.before), after: Math.ceil(tokens.after) },
    cause: ContextManager.causeOf(request),
    ...(memory === undefined ? {} : { memory: Frozen.copy(memory) }),
    ...(pruned === undefined ? {} : { pruned }),
    usage: spentOn(request, compaction),
    ...lostOf(losses),
    ...ownerOf(request),
    ...snapshotOf(env, change)
  }
  journal.record(compacted)
  return compacted
})

/** Records what a strategy spent and lost in vain, if anything. */
const discard = (
  env: Env.Env,
  request: ContextManager.Request,
  error: ContextManager.CompactionError,
  losses: CompactionLosses
): void => {
  const usage = spentOn(request, error)
  const lost = lostOf(losses)
  if (lost.lost !== undefined || !Usage.isNothing(usage)) discarded(env, request, error.message, usage, lost)
}

const discarded = (
  { journal }: Env.Env,
  request: ContextManager.Request,
  message: string,
  usage: Usage.Usage,
  lost?: Losing
): void =>
  journal.record({
    _tag: "CompactionDiscarded",
    message: Bounds.message(message),
    usage,
    ...lost,
    ...ownerOf(request)
  })

type Losing = Pick<Compacted, "lost">

const lostOf = (losses: CompactionLosses): Losing => {
  const lost = losses.noted()
  return lost.retries === 0 && lost.lostTime === 0 ? {} : { lost }
}

/** A compaction by hand is not the run's. */
const ownerOf = ({ force }: ContextManager.Request): { readonly isOfRun?: false } =>
  force === "manual" ? { isOfRun: false } : {}

/** What a strategy reported on the way, and in the end. */
const spentOn = (
  { ledger }: ContextManager.Request,
  { model, usage = Usage.zero }: Pick<ContextManager.CompactionError, "model" | "usage">
): Usage.Usage => {
  ledger.note(usage, model)
  return ledger.noted()
}

/** Left out where the event would be more than a store holds; readers then begin at the beginning. */
const snapshotOf = ({ journal }: Env.Env, { memory, replacement, upTo }: Transcript.Change) => {
  const snapshot = Snapshot.take(journal.state, journal.transcript, upTo)
  const isTooLarge = TooLarge.bytesOf([replacement, memory ?? null, snapshot ?? null]) !== undefined
  return snapshot === undefined || isTooLarge ? {} : { snapshot }
}
