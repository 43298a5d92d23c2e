/**
 * What a tool call needs next: to run, a person's word, or an outcome without running. Told by hooks, by the rules of its tool
 * and of the run, and where it has started before, by what is known of that.
 *
 * Does not own what is done then (`CallStep`, `Question`), nor when a call is judged (`CallLanes`).
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as ToolOutcome from "../../run/ToolOutcome.ts"
import * as Transcript from "../../run/Transcript.ts"
import type * as Env from "../env/Env.ts"
import * as Severed from "../env/Severed.ts"
import * as Outcomes from "./Outcomes.ts"
import * as Reconciling from "./Reconciling.ts"
import * as ToolHooks from "./ToolHooks.ts"

type Call = OpenCall.OpenCall

/** `call` is the one that goes on, where hooks changed its arguments; `hook` is the one that settled it. */
export type Verdict =
  | { readonly _tag: "Run"; readonly call?: Call }
  | { readonly _tag: "Ask"; readonly call?: Call }
  | { readonly _tag: "Settle"; readonly outcome: ToolOutcome.ToolOutcome; readonly hook?: string }

/** A verdict, or the wait for one. */
export type Judged<E = never> = Verdict | { readonly _tag: "Wait"; readonly verdict: Effect.Effect<Verdict, E> }

/**
 * Of a call that has not started, what hooks make of it and then the rules of whatever they leave; of one that a drive before
 * this one started, what is known of it.
 */
export const judge = (env: Env.Env, call: Call): Judged => {
  if (call.phase === "started") return ofStarted(env, call)
  if (!ToolHooks.isAsked(env, call)) return byRules(env, call)
  const verdict = Effect.flatMap(
    ToolHooks.before(env, call),
    (prepared): Effect.Effect<Verdict> =>
      prepared._tag === "Settle"
        ? Effect.succeed({ ...prepared, outcome: Outcomes.storable(prepared.outcome) })
        : Effect.map(awaited(byRules(env, prepared.call)), (verdict) => ({ ...verdict, call: prepared.call }))
  )
  return { _tag: "Wait", verdict }
}

const awaited = (judged: Judged): Effect.Effect<Verdict> =>
  judged._tag === "Wait" ? judged.verdict : Effect.succeed(judged)

/** How often a person is asked about a call in one drive, where hooks change whatever arguments they give. */
const mostQuestions = 3

/**
 * The verdict once a person has answered the n-th question of this drive: hooks have seen all arguments but those that the
 * person gave. Where the two do not come to agree, the call does not run.
 */
export const rejudge = (env: Env.Env, call: Call, questions: number): Effect.Effect<Verdict> =>
  call.decision?.params === undefined
    ? awaited(byRules(env, call))
    : Effect.map(
      awaited(judge(env, call)),
      (verdict) => verdict._tag === "Ask" && questions >= mostQuestions ? unsettled : verdict
    )

const unsettled: Verdict = {
  _tag: "Settle",
  outcome: {
    _tag: "Denied",
    reason: "hooks changed the arguments that were given for the call time and again, and nobody allowed the others"
  }
}

const byRules = (env: Env.Env, call: Call): Judged => {
  if (call.decision?.approved === false) return { _tag: "Settle", outcome: Outcomes.denied(call.decision) }
  if (!env.tools.some((tool) => tool.name === call.tool)) {
    const available = env.tools.map((tool) => tool.name)
    return { _tag: "Settle", outcome: { _tag: "UnknownTool", available } }
  }
  if (call.decision !== undefined) return runs
  // what was asked stays asked, whatever the tool's rule says by now
  if (call.phase === "awaiting") return waits
  const candidate = {
    name: call.tool,
    params: OpenCall.asked(call),
    callId: call.callId,
    messages: () => Transcript.messages(Transcript.beforeTurn(env.journal.transcript))
  }
  const asks = env.executor.needsApproval(env.handlers, candidate, env.policy.requireApprovalByDefault ?? false)
  if (isSettled(asks)) return verdictOf(asks.value)
  const asked = Severed.run(env, `approval of ${call.tool}`, call.callId, asks)
  return { _tag: "Wait", verdict: Effect.map(asked, verdictOf) }
}

const runs: Verdict = { _tag: "Run" }
const waits: Verdict = { _tag: "Ask" }

const isSettled = (asks: Effect.Effect<boolean>): asks is Exit.Success<boolean> =>
  Exit.isExit(asks) && asks._tag === "Success"

const verdictOf = (asks: boolean): Verdict => asks ? waits : runs

/** It runs again, or has the outcome that is known of it. */
const ofStarted = (env: Env.Env, call: Call): Judged => {
  const isOffered = env.tools.some((tool) => tool.name === call.tool)
  if (isOffered && env.executor.isRepeatable(env.handlers, call.tool)) return runs
  const verdict = Effect.map(Reconciling.ask(env, call), (known): Verdict =>
    known !== undefined
      ? { _tag: "Settle", outcome: known }
      : isOffered
      ? runs
      : { _tag: "Settle", outcome: { _tag: "NotExecuted", reason: "stopped" } })
  return { _tag: "Wait", verdict }
}
