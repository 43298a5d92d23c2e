/**
 * The tool calls of one assistant message: each gets exactly one outcome, or waits for a person. An intent is stored
 * before its handler runs; outcomes are stored as they come; one call's trouble is never a sibling's.
 *
 * Does not own the steps of one call (`CallStep`), what a round knows of itself (`RoundProgress`), nor the ends of runs;
 * `settleOpen` is what an end does to calls still open.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Semaphore from "effect/Semaphore"
import type * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as CallQuota from "../../run/state/CallQuota.ts"
import type * as OpenCall from "../../run/state/OpenCall.ts"
import * as RunDecision from "../../run/state/RunDecision.ts"
import type * as ToolOutcome from "../../run/ToolOutcome.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Env from "../drive/Env.ts"
import * as Recovery from "../start/Recovery.ts"
import * as Stopping from "../turn/Stopping.ts"
import * as CallStep from "./CallStep.ts"
import * as Question from "./Question.ts"
import { RoundProgress } from "./RoundProgress.ts"

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
  const beyond = beyondQuota(env, calls)
  const within = beyond.length === 0 ? calls : calls.filter((call) => !beyond.includes(call))
  const left = RunDecision.callsLeft(journal.state())
  const allowed = within.slice(0, left.count)
  const cutBy = allowed.length < within.length ? left.reason : undefined
  enter(cutBy === "turns" ? "settledWithoutTurnLeft" : "settledWithCalls")
  for (const call of beyond) CallStep.settle(env, call, { _tag: "NotExecuted", reason: "limit" })
  const progress = new RoundProgress(env)
  let open: ReadonlyArray<Call> = allowed
  // what was decided after a call gave up waiting is taken up before the round is over
  do {
    yield* runAll(env, progress, open)
    open = stillOpen(env, allowed)
  } while (open.some((call) => call.decision !== undefined) && progress.mayRun())
  const { spent, toolError } = progress
  if (open.length > 0 && toolError === undefined && spent === undefined) {
    env.desk.close()
    return { ...none, cutBy, isWaiting: true }
  }
  settleOpen(env, toolError === undefined ? "limit" : "failed")
  // nobody is waited for any more
  if (journal.status() === "awaiting_human") journal.move("answered")
  if (journal.status() === "tool_running") {
    journal.move(toolError === undefined ? "everyCallSettled" : "toolFailed")
  }
  return { ...none, cutBy: spent ?? cutBy, toolError }
})

/** What the policy has no call left for; a tool that is not offered is not called anyway. */
const beyondQuota = ({ journal, policy, tools }: Env.Env, calls: ReadonlyArray<Call>): ReadonlyArray<Call> =>
  policy.maxCallsPerRun === undefined ? [] : CallQuota.beyond(
    policy.maxCallsPerRun,
    journal.state().started,
    calls.filter((call) => tools.some((tool) => tool.name === call.tool))
  )

/** Those of a round's calls that have no outcome, as they stand now. */
const stillOpen = ({ journal }: Env.Env, calls: ReadonlyArray<Call>): ReadonlyArray<Call> =>
  journal.state().openCalls.filter(({ callId }) => calls.some((call) => call.callId === callId))

/**
 * Runs calls, at most `maxParallel` at once; one that waits for a person takes no place. Where they run one by one and nobody
 * answers for it, later calls are asked about too, and wait with it unless a person has decided; else they go on, and it
 * waits for a decision from elsewhere until they are over. Calls that may not run any more, all of them where a limit was
 * reached before, stay open for the round to settle.
 */
const runAll = Effect.fnUntraced(function*(
  env: Env.Env,
  progress: RoundProgress,
  calls: ReadonlyArray<Call>
): Effect.fn.Return<void, SessionStore.StoreError> {
  const { journal, policy } = env
  if (calls.length === 0 || !progress.mayRun()) return
  const places = Math.max(1, Math.min(policy.maxParallel ?? 1, calls.length))
  const place = Semaphore.makeUnsafe(places)
  const line = Semaphore.makeUnsafe(1)
  const idle = Deferred.makeUnsafe<void>()
  /** Those that run one by one stand in nobody's way. */
  const inPlace = <A, E>(run: Effect.Effect<A, E>) => places === 1 ? run : place.withPermit(run)
  let left = calls.length
  const leave = () => {
    if (--left === 0) Deferred.doneUnsafe(idle, Effect.void)
  }
  /** What a call does for which nobody answers. */
  const nobody = places === 1 ? Effect.void : Effect.suspend(() => {
    leave()
    return Effect.onInterrupt(Deferred.await(idle), () => Effect.sync(() => left++))
  })

  /** Until a person has decided about the arguments that the call goes on with; `n` counts the questions from 1. */
  const askAndCarryOut = Effect.fnUntraced(function*(
    asked: Call,
    n = 1
  ): Effect.fn.Return<void, SessionStore.StoreError> {
    const decided = yield* decision(env, progress, asked, { line, nobody })
    if (decided === undefined) return
    const verdict = yield* CallStep.rejudge(env, decided, n)
    const call = verdict._tag === "Settle" ? decided : verdict.call ?? decided
    if (verdict._tag === "Ask") return yield* askAndCarryOut(call, n + 1)
    if (verdict._tag === "Settle") {
      CallStep.settle(env, call, verdict.outcome, undefined, verdict.hook)
      return progress.look()
    }
    // with the intent, where that follows at once
    if (progress.running >= places) yield* journal.commit
    yield* inPlace(startAndExecute(env, progress, call))
  })

  const workOff = (given: Call, verdict: CallStep.Verdict, isStarted: boolean) =>
    Effect.flatMap(carryOut(given, verdict, isStarted), () => {
      leave()
      // the last outcome of a round is stored with the end of the turn, and one behind another with its intent
      return left > 0 && places > 1 ? journal.commit : Effect.void
    })

  /** `isStarted`: the intent is stored already. */
  const carryOut = (
    given: Call,
    verdict: CallStep.Verdict,
    isStarted: boolean
  ): Effect.Effect<void, SessionStore.StoreError> => {
    if (verdict._tag === "Settle") {
      CallStep.settle(env, given, verdict.outcome, undefined, verdict.hook)
      return Effect.void
    }
    const call = verdict.call ?? given
    if (verdict._tag === "Ask") return askAndCarryOut(call)
    return inPlace(isStarted ? execute(env, progress, call) : startAndExecute(env, progress, call))
  }

  // the intents of the first calls are stored together, where no hook takes its time before one of them
  const first = calls.slice(0, places > 1 && env.hooks.at.beforeToolCall.length > 0 ? 0 : places)
  const verdicts: Array<CallStep.Verdict> = []
  for (const call of first) {
    const verdict = yield* judge(env, call)
    if (verdict._tag === "Run") CallStep.start(env, verdict.call ?? call)
    verdicts.push(verdict)
  }
  yield* journal.commit

  if (places === 1) {
    let isHeld = false
    for (const [i, call] of calls.entries()) {
      if (i > 0 && !progress.mayRun()) break
      const verdict = verdicts[i] ?? (yield* judge(env, call))
      const isFree = verdict._tag === "Run" && call.phase === "pending" && call.decision === undefined
      if (isFree && isHeld) continue
      yield* workOff(call, verdict, i === 0)
      isHeld ||= stillOpen(env, [call]).length > 0
    }
  } else {
    const work = (call: Call, i: number) =>
      Effect.flatMap(
        i < first.length ? Effect.succeed(verdicts[i]!) : judge(env, call),
        (verdict) => workOff(call, verdict, i < first.length)
      )
    yield* Effect.forEach(calls, work, { concurrency: "unbounded", discard: true })
  }
})

/** What is known is not kept back by a rule that takes its time. */
const judge = (env: Env.Env, call: Call): Effect.Effect<CallStep.Verdict, SessionStore.StoreError> => {
  const verdict = call.phase === "started" ? Recovery.judge(env, call) : CallStep.judge(env, call)
  return Exit.isExit(verdict) ? verdict : Effect.andThen(env.journal.commit, verdict)
}

const execute = (env: Env.Env, progress: RoundProgress, call: Call) =>
  Effect.suspend(() => {
    // an abort that was accepted is carried out once that is stored: nothing starts before
    if (env.journal.state().abortRequested !== undefined) return Effect.never
    progress.began()
    return Effect.map(CallStep.execute(env, call), (outcome) => progress.ended(call, outcome))
  })

const startAndExecute = (env: Env.Env, progress: RoundProgress, call: Call) =>
  Effect.suspend(() => {
    if (!progress.mayRun()) return Effect.void
    CallStep.start(env, call)
    return Effect.andThen(env.journal.commit, execute(env, progress, call))
  })

/** The call once somebody has decided about it; not while nobody does, nor once the round is over. */
const decision = Effect.fnUntraced(function*(
  env: Env.Env,
  progress: RoundProgress,
  call: Call,
  { line, nobody }: { readonly line: Semaphore.Semaphore; readonly nobody: Effect.Effect<void> }
) {
  if (!progress.mayRun()) return undefined
  // one after the other, so that the log has the questions in call order
  const question = yield* line.withPermit(Question.request(env, call))
  const isNew = progress.asked(question.approvalId)
  yield* env.journal.commit
  progress.look()
  const word = isNew ? Question.asking(env, question, nobody) : nobody
  yield* Effect.raceFirst(Question.answered(env, question, word), progress.over)
  const now = stillOpen(env, [call])[0]
  if (now?.decision === undefined) return undefined
  progress.answered(question.approvalId)
  return now
})

/** Gives every call that is still open the outcome that an end leaves it with; nothing runs. */
export const settleOpen = (env: Env.Env, reason: NotExecuted): void => {
  for (const call of env.journal.state().openCalls) {
    if (call.phase === "started") CallStep.settle(env, call, outcomeOfStarted(env, call))
    else CallStep.settle(env, call, CallStep.unstarted(call, { _tag: "NotExecuted", reason }))
  }
}

const outcomeOfStarted = (env: Env.Env, call: Call): ToolOutcome.ToolOutcome => {
  const isKnown = CallStep.isOurs(env.journal, call) || env.executor.isRepeatable(env.handlers, call.tool)
  return env.leftBehind.get(call.callId)?.outcome ?? { _tag: isKnown ? "Interrupted" : "OutcomeUnknown" }
}
