/**
 * The steps of one tool call: the intent, the handler, the outcome.
 *
 * Does not own whether it may run (`Judging`), nor which call takes which step when; that is `CallLanes`.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as ToolOutcome from "../../run/ToolOutcome.ts"
import type * as ToolExecutor from "../../services/ToolExecutor.ts"
import type * as Env from "../env/Env.ts"
import * as ToolSpan from "../observe/ToolSpan.ts"
import * as Outcomes from "./Outcomes.ts"
import * as ToolHooks from "./ToolHooks.ts"

type Call = OpenCall.OpenCall

/** Records the intent. It is stored before the handler runs. */
export const start = (env: Env.Env, call: Call): void => {
  const { callId, tool, turn } = call
  env.journal.record({ _tag: "ToolStarted", turn, callId, tool, params: OpenCall.final(call) })
}

/**
 * Gives a call an outcome without running it, or without waiting for it any longer; `ofRun` where that is an older one, and
 * `hook` where it is a hook's.
 */
export const settle = (
  { journal }: Pick<Env.Env, "journal">,
  call: Call,
  outcome: ToolOutcome.ToolOutcome,
  { hook, ofRun }: { readonly hook?: string | undefined; readonly ofRun?: string | undefined } = {}
): void => {
  const { callId, phase, startedAt, tool, turn } = call
  const hasRunHere = ofRun === undefined && startedAt !== undefined && isOurs(journal, call)
  const duration = hasRunHere ? Math.max(0, journal.now() - startedAt) : 0
  const ran = phase === "started" ? editedOf(call) : {}
  journal.record(
    { _tag: "ToolSettled", turn, callId, tool, outcome, duration, ...ran, ...(hook === undefined ? {} : { hook }) },
    ofRun
  )
}

/** What the outcome of a call that ran says of its arguments, where a person edited them. */
const editedOf = ({ decision }: Call) => decision?.params === undefined ? {} : { edited: decision.params }

/** This drive started it, and not one that died: told by the log, because clocks of machines differ. */
export const isOurs = (journal: Env.Env["journal"], { drive }: Call): boolean => drive === journal.state.drive

/** Runs the handler of a call whose intent is stored, and records the outcome once there is one. */
export const execute = (
  env: Env.Env,
  call: Call
): Effect.Effect<ToolOutcome.ToolOutcome> | Effect.fn.Return<ToolOutcome.ToolOutcome> =>
  env.telemetry.isTraced
    ? ToolSpan.around(env, call, Effect.gen(() => carryOut(env, call)))
    : carryOut(env, call)

const carryOut = function*(env: Env.Env, call: Call): Effect.fn.Return<ToolOutcome.ToolOutcome> {
  const { journal, sessionId } = env
  const { callId, tool, turn } = call
  const { runId } = journal
  const startedAt = journal.now()
  // as it stood before its intent
  const attempt = (call.tries ?? 0) + 1
  let isSettled = false
  const show = (value: Schema.Json | undefined) =>
    Effect.sync(() => {
      if (!isSettled && value !== undefined) journal.emit({ _tag: "ToolProgress", turn, callId, tool, value })
    })
  const hasHooks = env.hooks.at.afterToolCall.length > 0
  const execution = env.executor.execute(
    env.handlers,
    {
      name: tool,
      params: OpenCall.final(call),
      timeout: Duration.fromInputUnsafe(env.timeouts.tool),
      identity: {
        sessionId,
        runId,
        callId,
        idempotencyKey: OpenCall.idempotencyKey(sessionId, runId, callId),
        attempt,
        data: journal.state.input?.data
      }
    },
    {
      // a handler that was left behind is not heard any more
      progress: (value) =>
        hasHooks
          ? Effect.flatMap(ToolHooks.preliminary(env, call, value, journal.now() - startedAt), show)
          : show(value),
      leftBehind: (outcome) => Effect.sync(() => env.leftBehind.set(callId, { name: tool, outcome }))
    }
  )
  const settle = (settlement: ToolExecutor.Settlement, left: ToolOutcome.ToolOutcome, duration: number) => {
    // arguments that do not fit any more say nothing of the try before, which they did
    const isUnknown = attempt > 1 && settlement.outcome._tag === "InvalidArguments"
    const edited = editedOf(call)
    const outcome = isUnknown ? { _tag: "OutcomeUnknown" as const } : Outcomes.storable(left, edited)
    journal.record({ _tag: "ToolSettled", turn, callId, tool, duration, ...settlement, ...edited, outcome })
    return outcome
  }
  if (!hasHooks) {
    const settlement = yield* execution
    isSettled = true
    return settle(settlement, settlement.outcome, journal.now() - startedAt)
  }
  return yield* Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(restore(execution), (settlement) => {
      isSettled = true
      const duration = journal.now() - startedAt
      const left = restore(ToolHooks.after(env, call, settlement.outcome, duration, "ran"))
      return Effect.map(left, (outcome) => settle(settlement, outcome, duration))
    })
  )
}
