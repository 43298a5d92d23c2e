/**
 * The tool calls of one assistant message: each gets exactly one outcome, or waits for people. An intent is stored
 * before its handler runs; outcomes are stored as they come; one call's trouble is never a sibling's.
 *
 * Does not own which call runs when (`CallLanes`), the steps of one (`CallStep`), what a round knows of itself (`RoundProgress`),
 * nor how calls are settled that are still open when nothing of them runs any more (`Unsettled`).
 */
import type * as Effect from "effect/Effect"
import type * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as CallQuota from "../../run/state/CallQuota.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import * as RunDecision from "../../run/state/RunDecision.ts"
import * as Env from "../env/Env.ts"
import * as CallLanes from "./CallLanes.ts"
import * as CallStep from "./CallStep.ts"
import { RoundProgress } from "./RoundProgress.ts"
import * as StopConditions from "./StopConditions.ts"
import * as ToolHooks from "./ToolHooks.ts"
import * as Unsettled from "./Unsettled.ts"

/** How a round ended. */
interface RoundEnd {
  /** the limit that kept calls of this message from running */
  readonly cutBy: RunEvent.LimitedReason | undefined
  /** set where a call failed and the policy says not to continue */
  readonly toolError: RunError.Stored | undefined
  /** a call waits for a person, and nobody here answers */
  readonly isWaiting: boolean
  /** the agent's condition stopped the run before it */
  readonly isStopped: boolean
}

/** A round with nothing to tell. */
export const none: RoundEnd = { cutBy: undefined, toolError: undefined, isWaiting: false, isStopped: false }

/** Takes up the open calls; in a drive that finds them in the log, the status already says so. */
export const run = function*(
  env: Env.Env,
  finishReason: RunEvent.FinishReason
): Effect.fn.Return<RoundEnd, RunError.RunError> {
  const { journal, rules } = env
  const isFound = journal.status !== "streaming"
  if (finishReason === "length" || finishReason === "content-filter") {
    enter(env, "settledWithCalls")
    return runNone(env, "truncated")
  }
  if (rules.stopBefore !== undefined) {
    enter(env, "settledWithCalls")
    if (yield* StopConditions.before(env)) return { ...runNone(env, "stopped"), isStopped: true }
  }
  // in a round that begins here nobody was asked yet
  if (isFound) yield* settleAnswered(env)
  const progress = new RoundProgress(env)
  return yield* close(env, progress, yield* runOpen(env, progress))
}

const enter = ({ journal }: Env.Env, when: "settledWithCalls" | "settledWithoutTurnLeft"): void => {
  if (journal.status === "streaming") journal.move(when)
}

/** What is left of the open calls, and the limit that keeps others from running. */
interface Remaining {
  readonly open: ReadonlyArray<OpenCall.OpenCall>
  readonly cutBy: RunEvent.LimitedReason | undefined
}

/** Runs calls until none can run, and settles those beyond a quota. */
const runOpen = function*(env: Env.Env, progress: RoundProgress): Effect.fn.Return<Remaining, RunError.RunError> {
  const { journal } = env
  const { allowed, beyond, cutBy } = withinLimits(env)
  enter(env, cutBy === "turns" ? "settledWithoutTurnLeft" : "settledWithCalls")
  for (const call of beyond) CallStep.settle(env, call, { _tag: "NotExecuted", reason: "limit" })
  const canGoOn = (call: OpenCall.OpenCall) => !CallStep.isPausedHere(journal, call)
  let open = allowed
  while (true) {
    const taken = open
    yield* CallLanes.runAll(env, progress, taken.filter(canGoOn))
    // the limits allow another call for one that was denied
    const left = withinLimits(env)
    open = left.allowed
    // a decision that came after its call gave up waiting is taken up before the round is over
    const isNew = ({ callId }: OpenCall.OpenCall) => OpenCall.find(taken, callId) === undefined
    const hasMore = open.some((call) => canGoOn(call) && (call.decision !== undefined || isNew(call)))
    if (!hasMore || !progress.mayRun()) return { open, cutBy: left.cutBy }
  }
}

/** Leaves the calls open that wait for people; else settles what is left, and the round is over. */
const close = function*(
  env: Env.Env,
  { reason, spent, toolError }: RoundProgress,
  { cutBy, open }: Remaining
): Effect.fn.Return<RoundEnd, RunError.RunError> {
  const { journal, waitingCalls } = env
  if (open.length > 0 && toolError === undefined && spent === undefined) {
    waitingCalls.close()
    return { ...none, cutBy, isWaiting: true }
  }
  if (open.length > 0) yield* settleAnswered(env)
  if (journal.state.openCalls.length > 0) yield* Unsettled.settleFound(env, reason)
  Unsettled.settle(env, reason)
  // nobody is waited for any more
  if (journal.status === "awaiting_human") journal.move("answered")
  if (journal.status === "tool_running") journal.move(toolError === undefined ? "everyCallSettled" : "toolFailed")
  return { ...none, cutBy: spent ?? cutBy, toolError }
}

/** Settles calls whose result people have given, after the hooks: whatever keeps other calls from running, these run nothing. */
const settleAnswered = function*(env: Env.Env): Effect.fn.Return<void, RunError.RunError> {
  while (true) {
    // while a hook looks at one, another may be answered
    const call = env.journal.state.openCalls.find(OpenCall.isAnswered)
    if (call === undefined) return
    CallStep.settle(env, call, yield* ToolHooks.answered(env, call))
  }
}

const runNone = (env: Env.Env, reason: Unsettled.Reason): RoundEnd => {
  Unsettled.settle(env, reason)
  env.journal.move("everyCallSettled")
  return none
}

/** The open calls that may run; those beyond the policy's quotas; and the limit that keeps the others from running. */
const withinLimits = (env: Env.Env) => {
  const { journal: { state }, policy } = env
  const { openCalls } = state
  const beyond = policy.maxCallsPerRun === undefined ? [] : CallQuota.beyond(
    policy.maxCallsPerRun,
    state.started,
    // a tool that is not offered is not called anyway
    openCalls.filter((call) => Env.isOffered(env, call.tool))
  )
  const within = beyond.length === 0 ? openCalls : openCalls.filter((call) => !beyond.includes(call))
  const { count, reason } = RunDecision.callsLeft(state)
  if (count >= within.length) return { beyond, allowed: within, cutBy: undefined }
  if (reason !== "toolCalls") return { beyond, allowed: within.slice(0, count), cutBy: reason }
  // a call without a tool does not count, and one that a dead drive started comes first: it cannot wait for people with others
  const counted = within.filter((call) => Env.isOffered(env, call.tool))
  const isBegun = ({ phase }: OpenCall.OpenCall) => Number(phase === "started")
  const first = new Set(counted.toSorted((a, b) => isBegun(b) - isBegun(a)).slice(0, count))
  const allowed = within.filter((call) => !Env.isOffered(env, call.tool) || first.has(call))
  return { beyond, allowed, cutBy: allowed.length < within.length ? reason : undefined }
}
