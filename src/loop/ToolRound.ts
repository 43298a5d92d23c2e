/**
 * The tool calls of one assistant message: each gets exactly one outcome, or waits for a person. An intent is stored
 * before its handler runs; outcomes are stored as they come; one call's trouble is never a sibling's.
 *
 * Does not own the steps of one call (`CallStep`), what a round knows of itself (`RoundProgress`), nor the ends of runs;
 * `settleOpen` is what an end does to calls still open.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Semaphore from "effect/Semaphore"
import type * as OpenCall from "../run/OpenCall.ts"
import * as RunDecision from "../run/RunDecision.ts"
import type * as RunError from "../run/RunError.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import type * as ToolOutcome from "../run/ToolOutcome.ts"
import type * as SessionStore from "../services/SessionStore.ts"
import * as CallStep from "./CallStep.ts"
import type * as Env from "./Env.ts"
import * as Recovery from "./Recovery.ts"
import { RoundProgress } from "./RoundProgress.ts"
import * as Stopping from "./Stopping.ts"

export interface Round {
  /** the limit that kept calls of this message from running */
  readonly cutBy: RunEvent.LimitedReason | undefined
  /** set where a call failed and the policy says not to continue */
  readonly toolError: RunError.Stored | undefined
  /** a call waits for a person, and nobody here answers */
  readonly isWaiting: boolean
  /** the agent's condition stopped the run before it */
  readonly isStopped: boolean
}

/** One of which there is nothing to tell. */
export const none: Round = { cutBy: undefined, toolError: undefined, isWaiting: false, isStopped: false }

type Call = OpenCall.OpenCall
type NotExecuted = Extract<ToolOutcome.ToolOutcome, { _tag: "NotExecuted" }>["reason"]

/** Takes up the open calls; in a drive that finds them in the log, the status says so already. */
export const run = Effect.fnUntraced(function*(
  env: Env.Env,
  finishReason: RunEvent.FinishReason
): Effect.fn.Return<Round, RunError.RunError> {
  const { journal } = env
  const calls = journal.state().openCalls
  const enter = (when: "settledWithCalls" | "settledWithoutTurnLeft") => {
    if (journal.status() === "streaming") journal.move(when)
  }
  if (finishReason === "length" || finishReason === "content-filter") {
    enter("settledWithCalls")
    for (const call of calls) CallStep.settle(env, call, { _tag: "NotExecuted", reason: "truncated" })
    journal.move("everyCallSettled")
    return none
  }
  if (env.rules.stopBefore !== undefined) enter("settledWithCalls")
  if (yield* Stopping.before(env)) {
    settleOpen(env, "stopped")
    journal.move("everyCallSettled")
    return { ...none, isStopped: true }
  }
  const left = RunDecision.callsLeft(journal.state())
  const allowed = calls.slice(0, left.count)
  const cutBy = allowed.length < calls.length ? left.reason : undefined
  enter(cutBy === "turns" ? "settledWithoutTurnLeft" : "settledWithCalls")
  const { isUnanswered: isWaiting, spent, toolError } = yield* runAll(env, allowed)
  const isOver = toolError !== undefined || spent !== undefined || !isWaiting
  if (!isOver) return { ...none, cutBy, isWaiting: true }
  settleOpen(env, toolError === undefined ? "limit" : "failed")
  // nobody is waited for any more
  if (journal.status() === "awaiting_human") journal.move("answered")
  if (journal.status() === "tool_running") {
    journal.move(toolError === undefined ? "everyCallSettled" : "toolFailed")
  }
  return { ...none, cutBy: spent ?? cutBy, toolError }
})

/**
 * Runs calls, at most `maxParallel` at once; one that waits for a person takes no place. Later calls wait with it when they
 * run one by one, else they go on. Calls that may not run any more, all of them where a limit was reached before, stay
 * open for the round to settle.
 */
const runAll = Effect.fnUntraced(function*(
  env: Env.Env,
  calls: ReadonlyArray<Call>
): Effect.fn.Return<RoundProgress, SessionStore.StoreError> {
  const { journal, policy } = env
  const progress = new RoundProgress(env)
  if (calls.length === 0 || !progress.mayRun()) return progress
  const places = Math.max(1, Math.min(policy.maxParallel ?? 1, calls.length))
  const place = Semaphore.makeUnsafe(places)
  const desk = Semaphore.makeUnsafe(1)
  let left = calls.length

  /** `isStarted`: the intent is stored already. */
  const workOff = Effect.fnUntraced(function*(call: Call, verdict: CallStep.Verdict, isStarted: boolean) {
    const run = isStarted ? execute(env, progress, call) : startAndExecute(env, progress, call)
    if (verdict._tag === "Settle") CallStep.settle(env, call, verdict.outcome)
    else if (verdict._tag === "Run") yield* place.withPermit(run)
    else if (yield* isAllowed(env, progress, call, desk)) {
      // with the intent, where that follows at once
      if (progress.running >= places) yield* journal.commit
      yield* place.withPermit(startAndExecute(env, progress, call))
    }
    left--
    // the last outcome of a round is stored with the end of the turn, and one behind another with its intent
    if (left > 0 && places > 1) yield* journal.commit
  })

  // the intents of the first calls are stored together
  const first = calls.slice(0, places)
  const verdicts: Array<CallStep.Verdict> = []
  for (const call of first) {
    const verdict = yield* judge(env, call)
    if (verdict._tag === "Run") CallStep.start(env, call)
    verdicts.push(verdict)
  }
  yield* journal.commit

  if (places === 1) {
    for (const [i, call] of calls.entries()) {
      if (i > 0 && (progress.isUnanswered || !progress.mayRun())) break
      yield* workOff(call, verdicts[i] ?? (yield* judge(env, call)), i === 0)
    }
  } else {
    const work = (call: Call, i: number) =>
      Effect.flatMap(
        i < first.length ? Effect.succeed(verdicts[i]!) : judge(env, call),
        (verdict) => workOff(call, verdict, i < first.length)
      )
    yield* Effect.forEach(calls, work, { concurrency: "unbounded", discard: true })
  }
  return progress
})

/** What is known is not kept back by a rule that takes its time. */
const judge = (env: Env.Env, call: Call): Effect.Effect<CallStep.Verdict, SessionStore.StoreError> => {
  const verdict = call.phase === "started" ? Recovery.judge(env, call) : CallStep.judge(env, call)
  return Exit.isExit(verdict) ? verdict : Effect.andThen(env.journal.commit, verdict)
}

const execute = (env: Env.Env, progress: RoundProgress, call: Call) =>
  Effect.suspend(() => {
    progress.began()
    return Effect.map(CallStep.execute(env, call), (outcome) => progress.ended(call, outcome))
  })

const startAndExecute = (env: Env.Env, progress: RoundProgress, call: Call) =>
  Effect.suspend(() => {
    if (!progress.mayRun()) return Effect.void
    CallStep.start(env, call)
    return Effect.andThen(env.journal.commit, execute(env, progress, call))
  })

/** Whether a person allows the call; not while nobody answers, nor once the round is over. */
const isAllowed = Effect.fnUntraced(function*(
  env: Env.Env,
  progress: RoundProgress,
  call: Call,
  desk: Semaphore.Semaphore
) {
  if (!progress.mayRun()) return false
  // one after the other, so that the log has the questions in call order
  const question = yield* desk.withPermit(CallStep.request(env, call))
  progress.asked()
  yield* env.journal.commit
  progress.look()
  const answer = yield* Effect.raceFirst(CallStep.ask(env, question), Effect.as(progress.over, "over" as const))
  if (answer === undefined) {
    progress.unanswered()
    return false
  }
  progress.answered()
  if (answer === "over") return false
  CallStep.resolve(env, call, question, answer)
  progress.look()
  return answer.approved === true
})

/** Gives every call that is still open the outcome that an end leaves it with; nothing runs. */
export const settleOpen = (env: Env.Env, reason: NotExecuted): void => {
  for (const call of env.journal.state().openCalls) {
    if (call.phase === "started") CallStep.settle(env, call, outcomeOfStarted(env, call))
    else CallStep.settle(env, call, { _tag: "NotExecuted", reason })
  }
}

const outcomeOfStarted = (env: Env.Env, call: Call): ToolOutcome.ToolOutcome => {
  const isKnown = CallStep.isOurs(env.journal, call) || env.executor.isRepeatable(env.handlers, call.tool)
  return env.leftBehind.get(call.callId)?.outcome ?? { _tag: isKnown ? "Interrupted" : "OutcomeUnknown" }
}
