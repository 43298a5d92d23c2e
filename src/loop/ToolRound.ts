/**
 * The tool calls of one assistant message: each gets exactly one outcome, in one round. An intent is stored before its
 * handler runs; outcomes are stored as they come; one call's trouble is never a sibling's.
 *
 * Does not own how a call runs (`ToolExecutor`), nor what an end does to calls still open (`settleOpen`, used by the
 * drive).
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as RunError from "../run/RunError.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import * as RunState from "../run/RunState.ts"
import * as ToolOutcome from "../run/ToolOutcome.ts"
import type * as SessionStore from "../services/SessionStore.ts"
import type * as Env from "./Env.ts"

export interface Round {
  /** the limit that kept calls of this message from running */
  readonly cutBy: RunEvent.LimitedReason | undefined
  /** set where a call failed and the policy says not to continue */
  readonly toolError: RunError.Stored | undefined
}

type NotExecuted = Extract<ToolOutcome.ToolOutcome, { _tag: "NotExecuted" }>["reason"]

export const run = Effect.fnUntraced(function*(
  env: Env.Env,
  finishReason: RunEvent.FinishReason
): Effect.fn.Return<Round, SessionStore.StoreError> {
  const { journal } = env
  const calls = journal.state().openCalls
  if (finishReason === "length" || finishReason === "content-filter") {
    journal.move("settledWithCalls")
    for (const call of calls) skip(env, call, "truncated")
    journal.move("everyCallSettled")
    return { cutBy: undefined, toolError: undefined }
  }
  const left = RunState.callsLeft(journal.state())
  const allowed = calls.slice(0, left.count)
  const cutBy = allowed.length < calls.length ? left.reason : undefined
  journal.move(cutBy === "turns" ? "settledWithoutTurnLeft" : "settledWithCalls")
  const toolError = yield* runAll(env, allowed)
  for (const call of journal.state().openCalls) skip(env, call, toolError === undefined ? "limit" : "failed")
  if (cutBy !== "turns") journal.move(toolError === undefined ? "everyCallSettled" : "toolFailed")
  return { cutBy, toolError }
})

/** Runs calls, at most `maxParallel` at once, and gives the first failure that the policy does not continue after. */
const runAll = Effect.fnUntraced(function*(
  env: Env.Env,
  calls: ReadonlyArray<RunState.OpenCall>
): Effect.fn.Return<RunError.Stored | undefined, SessionStore.StoreError> {
  const { journal, policy } = env
  const concurrency = Math.max(1, policy.maxParallel ?? 1)
  let toolError: RunError.Stored | undefined
  let running = Math.min(concurrency, calls.length)
  let next = running
  for (const call of calls.slice(0, running)) start(env, call)
  yield* journal.commit

  const work = (first: RunState.OpenCall) =>
    Effect.gen(function*() {
      let call: RunState.OpenCall | undefined = first
      while (call !== undefined) {
        const outcome = yield* execute(env, call)
        if (policy.continueOnError === false && ToolOutcome.isError(outcome)) toolError ??= toolFailed(call)
        call = toolError === undefined ? calls[next++] : undefined
        if (call !== undefined) start(env, call)
        else running--
        // the last outcome of a round is stored with the end of the turn
        if (running > 0) yield* journal.commit
      }
    })
  yield* concurrency === 1
    ? Effect.forEach(calls.slice(0, 1), work, { discard: true })
    : Effect.forEach(calls.slice(0, concurrency), work, { concurrency: "unbounded", discard: true })
  return toolError
})

/** Records the intent; a call that cannot run needs none. */
const start = (env: Env.Env, call: RunState.OpenCall): void => {
  if (isOffered(env, call.tool)) {
    const { callId, params, tool, turn } = call
    env.journal.record({ _tag: "ToolStarted", turn, callId, tool, params })
  }
}

const execute = Effect.fnUntraced(function*(
  env: Env.Env,
  call: RunState.OpenCall
): Effect.fn.Return<ToolOutcome.ToolOutcome> {
  const { journal } = env
  const { callId, tool, turn } = call
  if (!isOffered(env, tool)) {
    const outcome: ToolOutcome.ToolOutcome = { _tag: "UnknownTool", available: env.tools.map((tool) => tool.name) }
    journal.record({ _tag: "ToolSettled", turn, callId, tool, outcome, duration: 0 })
    return outcome
  }
  const startedAt = journal.now()
  const settlement = yield* env.executor.execute(
    env.handlers,
    {
      name: tool,
      params: call.params,
      timeout: Duration.fromInputUnsafe(env.timeouts.tool),
      identity: {
        sessionId: env.sessionId,
        runId: journal.runId,
        callId,
        idempotencyKey: [env.sessionId, journal.runId, callId].map(encodeURIComponent).join("/"),
        attempt: 1,
        data: journal.state().input?.data
      }
    },
    {
      progress: (value) => Effect.sync(() => journal.emit({ _tag: "ToolProgress", turn, callId, tool, value })),
      leftBehind: (outcome) => Effect.sync(() => env.leftBehind.set(callId, { name: tool, outcome }))
    }
  )
  journal.record({
    _tag: "ToolSettled",
    turn,
    callId,
    tool,
    duration: journal.now() - startedAt,
    ...settlement
  })
  return settlement.outcome
})

/** Gives every call that is still open the outcome that an end leaves it with; nothing runs. */
export const settleOpen = (env: Pick<Env.Env, "journal" | "leftBehind">, reason: NotExecuted): void => {
  for (const call of env.journal.state().openCalls) {
    if (call.phase === "started") interrupt(env, call)
    else skip(env, call, reason)
  }
}

const interrupt = (env: Pick<Env.Env, "journal" | "leftBehind">, call: RunState.OpenCall): void => {
  const { callId, tool, turn } = call
  const outcome = env.leftBehind.get(callId)?.outcome ?? { _tag: "Interrupted" as const }
  env.journal.record({ _tag: "ToolSettled", turn, callId, tool, outcome, duration: 0 })
}

const skip = (env: Pick<Env.Env, "journal">, call: RunState.OpenCall, reason: NotExecuted): void => {
  const { callId, tool, turn } = call
  env.journal.record({
    _tag: "ToolSettled",
    turn,
    callId,
    tool,
    outcome: { _tag: "NotExecuted", reason },
    duration: 0
  })
}

const isOffered = (env: Env.Env, name: string): boolean => env.tools.some((tool) => tool.name === name)

const toolFailed = (call: RunState.OpenCall): RunError.Stored => ({
  _tag: "NonRetryableError",
  reason: {
    _tag: "ToolFailed",
    tool: call.tool,
    callId: call.callId,
    message: `tool "${call.tool}" failed, and this run does not continue on errors`
  }
})
