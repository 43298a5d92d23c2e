/**
 * The tool calls of one assistant message: each gets exactly one outcome, or waits for a person. An intent is stored
 * before its handler runs; outcomes are stored as they come; one call's trouble is never a sibling's.
 *
 * Does not own the steps of one call (`CallStep`), nor the ends of runs; `settleOpen` is what an end does to calls still
 * open.
 */
import * as Effect from "effect/Effect"
import type * as OpenCall from "../run/OpenCall.ts"
import * as RunDecision from "../run/RunDecision.ts"
import type * as RunError from "../run/RunError.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import * as ToolOutcome from "../run/ToolOutcome.ts"
import type * as SessionStore from "../services/SessionStore.ts"
import * as CallStep from "./CallStep.ts"
import type * as Env from "./Env.ts"

export interface Round {
  /** the limit that kept calls of this message from running */
  readonly cutBy: RunEvent.LimitedReason | undefined
  /** set where a call failed and the policy says not to continue */
  readonly toolError: RunError.Stored | undefined
  /** a call waits for a person, and nobody here answers */
  readonly isWaiting: boolean
}

type Call = OpenCall.OpenCall
type NotExecuted = Extract<ToolOutcome.ToolOutcome, { _tag: "NotExecuted" }>["reason"]

/** Takes up the open calls; in a drive that finds them in the log, the status says so already. */
export const run = Effect.fnUntraced(function*(
  env: Env.Env,
  finishReason: RunEvent.FinishReason
): Effect.fn.Return<Round, SessionStore.StoreError> {
  const { journal } = env
  const calls = journal.state().openCalls
  const enter = (when: "settledWithCalls" | "settledWithoutTurnLeft") => {
    if (journal.status() === "streaming") journal.move(when)
  }
  if (finishReason === "length" || finishReason === "content-filter") {
    enter("settledWithCalls")
    for (const call of calls) CallStep.settle(env, call, { _tag: "NotExecuted", reason: "truncated" })
    journal.move("everyCallSettled")
    return { cutBy: undefined, toolError: undefined, isWaiting: false }
  }
  const left = RunDecision.callsLeft(journal.state())
  const allowed = calls.slice(0, left.count)
  const cutBy = allowed.length < calls.length ? left.reason : undefined
  enter(cutBy === "turns" ? "settledWithoutTurnLeft" : "settledWithCalls")
  const { isWaiting, spent, toolError } = yield* runAll(env, allowed)
  const isOver = toolError !== undefined || spent !== undefined || !isWaiting
  if (!isOver) return { cutBy, toolError, isWaiting: true }
  for (const call of journal.state().openCalls) {
    CallStep.settle(env, call, { _tag: "NotExecuted", reason: toolError === undefined ? "limit" : "failed" })
  }
  if (journal.status() === "tool_running") {
    journal.move(toolError === undefined ? "everyCallSettled" : "toolFailed")
  }
  return { cutBy: spent ?? cutBy, toolError, isWaiting: false }
})

/**
 * Runs calls, at most `maxParallel` at once. Where one waits for a person, later ones wait with it when they run one by
 * one, else they go on.
 */
const runAll = Effect.fnUntraced(function*(
  env: Env.Env,
  calls: ReadonlyArray<Call>
): Effect.fn.Return<
  Pick<Round, "toolError" | "isWaiting"> & { readonly spent: RunEvent.LimitedReason | undefined },
  SessionStore.StoreError
> {
  const { journal, policy } = env
  const concurrency = Math.max(1, policy.maxParallel ?? 1)
  const first = calls.slice(0, concurrency)
  let toolError: RunError.Stored | undefined
  let isWaiting = false
  let spent: RunEvent.LimitedReason | undefined
  let workers = first.length
  let running = 0
  let next = first.length

  /** The round waits for a person while one is asked and nothing runs. */
  const watch = (change: number) => {
    running += change
    if (running > 0) {
      if (journal.status() === "awaiting_human") journal.move("answered")
    } else if (change === 0 && journal.status() === "tool_running") journal.move("everyCallWaits")
  }

  const begin = (call: Call, verdict: CallStep.Verdict) => {
    if (verdict._tag === "Run") CallStep.start(env, call)
    if (verdict._tag === "Settle") CallStep.settle(env, call, verdict.outcome)
  }

  const execute = Effect.fnUntraced(function*(call: Call) {
    const outcome = yield* CallStep.execute(env, call)
    if (policy.continueOnError === false && ToolOutcome.isError(outcome)) toolError ??= toolFailed(call)
  })

  /** Asks, and runs the call when it is allowed. */
  const ask = Effect.fnUntraced(function*(call: Call) {
    const question = yield* CallStep.request(env, call)
    yield* journal.commit
    watch(0)
    const answer = yield* CallStep.ask(env, question)
    if (answer === undefined) {
      isWaiting = true
      return
    }
    watch(1)
    CallStep.resolve(env, call, question, answer)
    if (answer.approved) {
      CallStep.start(env, call)
      yield* journal.commit
      yield* execute(call)
    }
    watch(-1)
  })

  const work = Effect.fnUntraced(function*(initial: Call, initialVerdict: CallStep.Verdict) {
    let call: Call | undefined = initial
    let verdict = initialVerdict
    while (call !== undefined) {
      if (verdict._tag === "Ask") yield* ask(call)
      else if (verdict._tag === "Run") {
        watch(1)
        yield* execute(call)
        watch(-1)
      }
      call = toolError !== undefined || (isWaiting && concurrency === 1) ? undefined : calls[next++]
      if (call !== undefined) spent ??= RunDecision.budgetSpent(journal.state(), journal.now())
      if (spent !== undefined) call = undefined
      if (call === undefined) workers--
      else {
        verdict = yield* CallStep.judge(env, call)
        begin(call, verdict)
      }
      // the last outcome of a round is stored with the end of the turn
      if (workers > 0) yield* journal.commit
    }
  })

  const verdicts: Array<CallStep.Verdict> = []
  for (const call of first) {
    const verdict = yield* CallStep.judge(env, call)
    begin(call, verdict)
    verdicts.push(verdict)
  }
  yield* journal.commit
  yield* first.length === 1
    ? work(first[0]!, verdicts[0]!)
    : Effect.forEach(first, (call, i) => work(call, verdicts[i]!), { concurrency: "unbounded", discard: true })
  if (isWaiting && journal.status() === "tool_running") journal.move("everyCallWaits")
  return { toolError, isWaiting, spent }
})

/** Gives every call that is still open the outcome that an end leaves it with; nothing runs. */
export const settleOpen = (env: Pick<Env.Env, "journal" | "leftBehind">, reason: NotExecuted): void => {
  for (const call of env.journal.state().openCalls) {
    const left = env.leftBehind.get(call.callId)?.outcome
    CallStep.settle(
      env,
      call,
      call.phase === "started" ? left ?? { _tag: "Interrupted" } : { _tag: "NotExecuted", reason }
    )
  }
}

const toolFailed = (call: Call): RunError.Stored => ({
  _tag: "NonRetryableError",
  reason: {
    _tag: "ToolFailed",
    tool: call.tool,
    callId: call.callId,
    message: `tool "${call.tool}" failed, and this run does not continue on errors`
  }
})
