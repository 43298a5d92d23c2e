/**
 * What becomes of calls that are still open when nothing of them runs any more: a drive ends, or one that died gets
 * its end. The first line that fits a call says what; nothing is said where it stays open.
 *
 *     the call               settle                   settleLost    settleFound  settleAfter
 *     ---------------------  -----------------------  ------------  -----------  ---------------------------------
 *     started by this drive  as hooks leave it, as    the same (1)               as if a dead drive had started it
 *                            it was left behind, or
 *                            Interrupted
 *     started, repeatable    Interrupted                                         Interrupted
 *     started                as hooks leave it, or                  reconciled   reconciled, or OutcomeUnknown where
 *                            OutcomeUnknown                                      nobody is asked
 *     paused                 Interrupted                                         Interrupted (2)
 *     a result is given      as hooks leave it, or                               the same, once hooks are asked (3)
 *                            NotExecuted where a
 *                            guard has not begun
 *     refused                Denied                                              Denied
 *     a person is asked      NotExecuted                                         NotExecuted (2)
 *     any other              NotExecuted                                         NotExecuted
 *
 *     reconciled: as the reconciler knows it and hooks leave it, or NotExecuted where it took no effect
 *     (1) stays open where it is repeatable, unless its outcome is known
 *     (2) Denied for a new message
 *     (3) where nobody is asked, as `settle` has it; where the run is another agent's, NotExecuted
 *
 * Does not own when that is, nor why (`ToolRound`, `Ending`, `Recovery`).
 */
import * as Effect from "effect/Effect"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as ToolOutcome from "../../run/ToolOutcome.ts"
import * as LeaveBehind from "../../services/LeaveBehind.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Env from "../env/Env.ts"
import * as LeftBehind from "../env/LeftBehind.ts"
import * as CallStep from "./CallStep.ts"
import * as Outcomes from "./Outcomes.ts"
import * as Reconciling from "./Reconciling.ts"
import * as ToolHooks from "./ToolHooks.ts"

type Call = OpenCall.OpenCall

/** Why a call did not run. */
export type Reason = Extract<ToolOutcome.ToolOutcome, { _tag: "NotExecuted" }>["reason"]

/** Gives every open call the outcome that the end of this drive, or of its round, leaves it with. */
export const settle = (env: Env.Env, reason: Reason): void => {
  for (const call of env.journal.state.openCalls) {
    if (call.phase === "started") settleStarted(env, call)
    else CallStep.settle(env, call, ofUnheard(env, call, reason))
  }
}

/**
 * The same for the end of a drive whose run goes on by itself: only a call that this drive started, and that may not be made again or
 * whose outcome is known, gets an outcome. The next drive finds the others as after a crash.
 */
export const settleLost = (env: Env.Env): void => {
  for (const call of env.journal.state.openCalls) {
    const isLost = call.phase === "started" && CallStep.isOurs(env.journal, call) &&
      (env.hooks.held?.get(call.callId)?.isKnown === true || !env.executor.isRepeatable(env.handlers, call.tool))
    if (isLost) settleStarted(env, call)
  }
}

/** The handler may have ended: then hooks were looking at the outcome. */
const settleStarted = (env: Env.Env, call: Call): void => {
  const held = env.hooks.held?.get(call.callId)
  if (held === undefined) CallStep.settle(env, call, ofStarted(env, call))
  else CallStep.settleRan(env, held)
}

/**
 * The same as `settle` for calls that a dead drive started, while their run goes on: the application, which may know more of them, is
 * asked about all of them at once, and their outcomes are stored as they come. Calls that may be made again are left out.
 */
export const settleFound = (env: Env.Env, reason: Reason): Effect.Effect<void, SessionStore.StoreError> => {
  const found = env.journal.state.openCalls.filter((call) =>
    call.phase === "started" && !CallStep.isOurs(env.journal, call) &&
    !env.executor.isRepeatable(env.handlers, call.tool)
  )
  const settleOne = (call: Call) =>
    Effect.flatMap(reconciled(env, call, reason), (outcome) => {
      CallStep.settle(env, call, outcome)
      return env.journal.commit
    })
  return Effect.forEach(found, settleOne, { concurrency: "unbounded", discard: true })
}

/** The same after the end of a drive: the application may know more of its calls, and where `isAsked` it is asked about all at once. */
export const settleAfter = (env: Env.Env, reason: Reason, isAsked: boolean): Effect.Effect<void> =>
  Effect.provideService(asking(env, reason, isAsked), LeaveBehind.LeaveBehind, LeftBehind.listener(env.leftBehind))

const asking = Effect.fnUntraced(function*(
  env: Env.Env,
  reason: Reason,
  isAsked: boolean
): Effect.fn.Return<void> {
  const { agent, openCalls, runId } = env.journal.state
  const isOurs = env.agent === agent
  const outcomes = yield* Effect.forEach(
    openCalls,
    (call) => {
      if (call.phase === "started") return ofStartedBefore(env, call, reason, isAsked)
      if (!OpenCall.isAnswered(call)) return Effect.succeed(ofIdle(call, reason))
      // another agent's hooks do not know what is to be withheld
      return isAsked && isOurs ? ToolHooks.answered(env, call) : Effect.succeed(ofUnheard(env, call, reason, isOurs))
    },
    { concurrency: "unbounded" }
  )
  for (const [at, call] of openCalls.entries()) CallStep.settle(env, call, outcomes[at]!, { ofRun: runId })
})

/**
 * The outcome of a call whose handler is not at work. If the handler was never called, what a person said comes first: a result that
 * they gave, or a no. A yes to run the call no longer counts. A result is only shown so, before hooks have seen it (`ContextCommand`).
 */
export const ofIdle = (call: Call, reason: Reason): ToolOutcome.ToolOutcome => {
  const { decision, phase } = call
  if (phase === "paused") return reason === "superseded" ? left : { _tag: "Interrupted" }
  if (reason === "superseded" && phase === "awaiting") return superseded
  if (OpenCall.isAnswered(call)) return Outcomes.answered(call)
  return decision?.approved === false ? Outcomes.denied(decision) : { _tag: "NotExecuted", reason }
}

/** The same where no hook can be asked, as while a drive ends: a result that a guard might withhold is left out. */
const ofUnheard = (env: Env.Env, call: Call, reason: Reason, isOurs = true): ToolOutcome.ToolOutcome => {
  if (!OpenCall.isAnswered(call)) return ofIdle(call, reason)
  const known = isOurs ? ToolHooks.answeredUnheard(env, call) : undefined
  return known ?? { _tag: "NotExecuted", reason }
}

const superseded: ToolOutcome.ToolOutcome = { _tag: "Denied", reason: "superseded by a new message" }

/** What the call had done by then stays done. */
const left: ToolOutcome.ToolOutcome = {
  _tag: "Denied",
  reason: "superseded by a new message while it waited for a person; nothing is at work for it any more"
}

const ofStarted = (env: Env.Env, call: Call): ToolOutcome.ToolOutcome => {
  const isKnown = CallStep.isOurs(env.journal, call) || env.executor.isRepeatable(env.handlers, call.tool)
  return env.leftBehind.get(call.callId)?.outcome ?? { _tag: isKnown ? "Interrupted" : "OutcomeUnknown" }
}

const ofStartedBefore = (
  env: Env.Env,
  call: Call,
  reason: Reason,
  isAsked: boolean
): Effect.Effect<ToolOutcome.ToolOutcome> => {
  if (env.executor.isRepeatable(env.handlers, call.tool)) return Effect.succeed({ _tag: "Interrupted" })
  if (!isAsked) return Effect.succeed({ _tag: "OutcomeUnknown" })
  return reconciled(env, call, reason)
}

/** What the application knows of a call; it did not run where it took no effect. */
const reconciled = (env: Env.Env, call: Call, reason: Reason): Effect.Effect<ToolOutcome.ToolOutcome> =>
  Effect.map(Reconciling.ask(env, call), (known) => known ?? { _tag: "NotExecuted", reason })
