/**
 * The steps of one tool call: the intent, the handler, the outcome.
 *
 * Does not own whether it may run (`Judging`), nor which call takes which step when (`CallLanes`, `Slots`).
 */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as DurableEvent from "../../run/DurableEvent.ts"
import * as Pointer from "../../run/Pointer.ts"
import * as RunPolicy from "../../run/RunPolicy.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as ToolOutcome from "../../run/ToolOutcome.ts"
import * as Usage from "../../run/Usage.ts"
import * as Stopwatch from "../../services/fibers/Stopwatch.ts"
import * as Pausing from "../../services/Pausing.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as ToolExecutor from "../../services/ToolExecutor.ts"
import * as AppCode from "../env/AppCode.ts"
import type * as Env from "../env/Env.ts"
import type * as HookRun from "../env/HookRun.ts"
import * as ToolSpan from "../observe/ToolSpan.ts"
import * as Outcomes from "./Outcomes.ts"
import type { RoundProgress } from "./RoundProgress.ts"
import * as Settlements from "./Settlements.ts"
import * as ToolHooks from "./ToolHooks.ts"

type Call = OpenCall.OpenCall

/** Records the intent. It is stored before the handler runs. */
export const start = (env: Pick<Env.Env, "journal">, call: Call): void => {
  const { callId, tool, turn } = call
  env.journal.record({ _tag: "ToolStarted", turn, callId, tool, params: OpenCall.final(call) })
}

/** A call that may run; `Started` where its intent is already recorded. */
export interface Runnable {
  readonly _tag: "Run" | "Started"
  readonly call: Call
}

/** Runs the handler; before that, the intent is stored, together with what else is recorded. */
export const perform = function*(
  env: Env.Env,
  progress: RoundProgress,
  { _tag, call }: Runnable
): Effect.fn.Return<void, SessionStore.StoreError> {
  // an accepted abort is carried out once it is stored: nothing starts before that
  const isAborted = () => env.journal.state.abortRequested !== undefined
  if (_tag === "Run") {
    if (!progress.mayRun()) return leave(env, progress, call)
    if (isAborted()) return yield* Effect.never
    start(env, call)
    yield* env.journal.commit
  }
  if (isAborted()) return yield* Effect.never
  progress.began()
  const outcome = yield* run(env, call)
  if (outcome === undefined) progress.paused()
  else progress.ended(call, outcome)
}

/** Leaves a call that may no longer run for the round to settle; but where a reconciler has said that it took no effect, that counts. */
const leave = (env: Env.Env, { reason }: RoundProgress, call: Call): void => {
  if (call.phase !== "started" || env.executor.isRepeatable(env.handlers, call.tool)) return
  settle(env, call, { _tag: "NotExecuted", reason })
}

/**
 * Gives a call an outcome without running it, or without waiting for it any longer, and returns what is recorded of it. `ofRun` is the
 * run that made the call, where that is an older one; `hook` is the name of the hook that gave the outcome. With `isMade`, its intent
 * is recorded too, so that the call counts; both are stored together, so that no drive finds it without its outcome.
 */
export const settle = (
  env: Settling,
  call: Call,
  outcome: ToolOutcome.ToolOutcome,
  { hook, isMade = false, ofRun }: Settled = {}
): ToolOutcome.ToolOutcome => {
  // nothing starts once an abort is stored
  if (isMade && env.journal.state.abortRequested === undefined) start(env, call)
  const { callId, decision, phase, startedAt } = call
  const hasRunHere = ofRun === undefined && phase !== "paused" && startedAt !== undefined && isOurs(env.journal, call)
  const duration = hasRunHere ? Math.max(0, env.journal.now() - startedAt) : 0
  const usage = env.budget.spentIn(callId)
  const isCut = outcome._tag === "Succeeded" && decision?.originalSize !== undefined
  const more = {
    duration,
    ...(isCut ? { originalSize: decision.originalSize } : {}),
    ...(usage === undefined ? {} : { usage }),
    ...(hook === undefined ? {} : { hook })
  }
  return record(env, call, { outcome, more, edited: OpenCall.hasStarted(call) ? editedOf(call) : {}, ofRun })
}

type Settling = Pick<Env.Env, "budget" | "hooks" | "journal">

interface Settled {
  readonly hook?: string | undefined
  readonly isMade?: boolean | undefined
  readonly ofRun?: string | undefined
}

/** Records as much of an outcome as a store holds beside the arguments that a person edited, and returns that. */
const record = (
  { hooks, journal }: Settling,
  { callId, tool, turn }: Call,
  { edited, more, ofRun, outcome }: {
    readonly outcome: ToolOutcome.ToolOutcome
    readonly more: Pick<DurableEvent.Of<"ToolSettled">, "duration" | "originalSize" | "usage" | "hook">
    readonly edited: ReturnType<typeof editedOf>
    readonly ofRun?: string | undefined
  }
): ToolOutcome.ToolOutcome => {
  const left = Outcomes.storable(outcome, edited)
  journal.record({ _tag: "ToolSettled", turn, callId, tool, ...more, ...edited, outcome: left }, ofRun)
  hooks.held?.delete(callId)
  return left
}

/** The arguments that a call ran with, where a person edited them. */
const editedOf = ({ decision }: Call) => decision?.params === undefined ? {} : { edited: decision.params }

/** This drive started the call, not one that died: read from the log, because the clocks of machines differ. */
export const isOurs = (journal: Env.Env["journal"], { drive }: Call): boolean => drive === journal.state.drive

/** The call paused in this drive, and goes on in another one. */
export const isPausedHere = (journal: Env.Env["journal"], call: Call): boolean =>
  call.phase === "paused" && isOurs(journal, call)

/** Runs the handler of a call whose intent is stored, and records the outcome; returns none where it waits for other runs. */
const run = (env: Env.Env, call: Call): Running => env.telemetry.isTraced ? traced(env, call) : carryOut(env, call)

type Running = Effect.fn.Return<ToolOutcome.ToolOutcome | undefined>

const traced = function*(env: Env.Env, call: Call): Running {
  return yield* ToolSpan.around(env, call, Effect.gen(() => carryOut(env, call)))
}

const carryOut = function*(env: Env.Env, call: Call): Running {
  const { callId, tool, turn } = call
  const hasHooks = env.hooks.at.afterToolCall.length > 0
  const elapsed = Stopwatch.start(env.clock)
  const settlement = yield* env.executor.execute(env.handlers, executable(env, call), {
    progress: (value) =>
      hasHooks
        ? Effect.flatMap(ToolHooks.preliminary(env, call, value, elapsed()), (left) => show(env, call, left))
        : show(env, call, value),
    leftBehind: (outcome) =>
      Effect.sync(() => env.leftBehind.set(callId, { name: tool, ...Settlements.checked({ outcome }) }))
  })
  const duration = elapsed()
  if (Settlements.isPaused(settlement)) {
    const waitsFor = Pausing.known(settlement.waitsFor)
    const others = env.budget.runsFor(callId).filter((run) => !waitsFor.some((known) => Pointer.isSameRun(known, run)))
    const beside = others.length === 0 ? {} : { beside: others }
    env.journal.record({ _tag: "ToolPaused", turn, callId, tool, waitsFor, ...beside, duration })
    return undefined
  }
  const told = { ...Settlements.checked(settlement), duration }
  const left = hasHooks ? yield* ToolHooks.after(env, call, told, "ran") : told.outcome
  return settleRan(env, { call, told, left })
}

/** Records what is left of the outcome of a call whose handler has ended, and returns it. */
export const settleRan = (
  env: Settling,
  { call, left, told }: Pick<HookRun.Held, "call" | "told" | "left">
): ToolOutcome.ToolOutcome => {
  const { callId, tries = 0 } = call
  // the arguments did fit the earlier try: that they no longer do says nothing of what became of it
  const isUnknown = tries > 0 && told.outcome._tag === "InvalidArguments"
  const outcome = isUnknown ? { _tag: "OutcomeUnknown" as const } : left
  const below = env.budget.spentIn(callId)
  const more = below === undefined ? told : { ...told, usage: Usage.add(told.usage ?? Usage.zero, below) }
  return record(env, call, { outcome, more, edited: editedOf(call) })
}

/** The call as its executor gets it; `call` is as it was before its intent. */
const executable = (env: Env.Env, call: Call): ToolExecutor.Call => {
  const { callId, tool, tries = 0 } = call
  return {
    name: tool,
    params: OpenCall.final(call),
    timeout: RunPolicy.callTimeout(env.timeouts, tool),
    identity: { ...AppCode.ofCall(env, callId), attempt: tries + 1 }
  }
}

/** Shows how far a call is, until it has its outcome; a handler that was left behind is no longer heard. */
const show = (
  { journal, leftBehind }: Env.Env,
  { callId, tool, turn }: Call,
  value: Schema.Json | undefined
): Effect.Effect<void> =>
  Effect.sync(() => {
    const isHeard = OpenCall.find(journal.state.openCalls, callId) !== undefined && leftBehind.get(callId) === undefined
    if (isHeard && value !== undefined) journal.emit({ _tag: "ToolProgress", turn, callId, tool, value })
  })
