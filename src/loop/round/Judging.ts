/**
 * What a tool call needs next: to run, a person's decision, or an outcome without running. That is decided by hooks and by the rules
 * of its tool and of the run; for a call that has started before, by what is known of it.
 *
 * Does not own what is done then (`CallStep`, `Permission`), nor when a call is judged (`CallLanes`, `Slots`).
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as RunPolicy from "../../run/RunPolicy.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as ToolOutcome from "../../run/ToolOutcome.ts"
import * as Transcript from "../../run/Transcript.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as ToolExecutor from "../../services/ToolExecutor.ts"
import * as Warning from "../../services/Warning.ts"
import * as AppCode from "../env/AppCode.ts"
import * as Env from "../env/Env.ts"
import * as ToolSpan from "../observe/ToolSpan.ts"
import * as Outcomes from "./Outcomes.ts"
import * as Reconciling from "./Reconciling.ts"
import * as Settlements from "./Settlements.ts"
import * as ToolHooks from "./ToolHooks.ts"
import * as Unsettled from "./Unsettled.ts"

type Call = OpenCall.OpenCall

/**
 * `call` has the arguments that hooks left it; `hook` is the one that settled it. `isMade`: it counts as one that was made, because its
 * arguments did not fit; no drive runs it, though its tool may be one that may run again.
 */
export type Verdict =
  | { readonly _tag: "Run"; readonly call: Call }
  | { readonly _tag: "Ask"; readonly call: Call }
  | {
    readonly _tag: "Settle"
    readonly call: Call
    readonly outcome: ToolOutcome.ToolOutcome
    readonly hook?: string
    readonly isMade?: boolean
  }

type Waiting = Effect.Effect<Verdict, SessionStore.StoreError>

/** A verdict, or the wait for one about `call` as it is now. */
export type Judged = Verdict | { readonly _tag: "Wait"; readonly call: Call; readonly verdict: Waiting }

/**
 * A call that has not started is judged by the hooks, and then by the rules with the arguments that hooks left; one that an earlier
 * drive started, by what is known of it; one that paused runs again. What a person has said since `known` was read counts, and what
 * one says while hooks look.
 */
export const judge = (env: Env.Env, known: Call): Judged => {
  const call = asItIs(env, known)
  if (call.phase === "started") return ofStarted(env, call)
  if (call.phase === "paused") return ofPaused(env, call)
  if (!ToolHooks.isAsked(env, call)) return byRules(env, call)
  return wait(
    env,
    call,
    Effect.flatMap(ToolHooks.before(env, call), (prepared): Waiting => {
      const now = asItIs(env, call)
      if (!ToolHooks.isAsked(env, now)) return awaited(byRules(env, now))
      // hooks have looked at other arguments
      if (now.decision?.params !== undefined && call.decision === undefined) {
        env.hooks.held?.delete(call.callId)
        return awaited(judge(env, now))
      }
      return prepared._tag === "Settle"
        ? Effect.succeed({ ...prepared, call })
        : awaited(byRules(env, prepared.call))
    })
  )
}

const asItIs = ({ journal }: Env.Env, call: Call): Call => OpenCall.find(journal.state.openCalls, call.callId) ?? call

/** What is recorded is stored before a verdict is waited for. */
const wait = ({ journal }: Env.Env, call: Call, verdict: Waiting): Judged => ({
  _tag: "Wait",
  call,
  verdict: Effect.andThen(journal.commit, verdict)
})

const awaited = (judged: Judged): Waiting => judged._tag === "Wait" ? judged.verdict : Effect.succeed(judged)

/** How often a person is asked about a call in one drive, where hooks keep changing the arguments that the person gives. */
const mostQuestions = 3

/**
 * The verdict once a person has answered; `questions` is how many this drive has asked. Hooks have seen all arguments but those
 * that the person gave. Where hooks and person do not come to agree, the call does not run.
 */
export const rejudge = (env: Env.Env, call: Call, questions: number): Waiting =>
  call.decision?.params === undefined
    ? awaited(byRules(env, call))
    : Effect.map(
      awaited(judge(env, call)),
      (verdict) =>
        verdict._tag === "Ask" && questions >= mostQuestions
          ? { _tag: "Settle", call, outcome: neverAgreed }
          : verdict
    )

const neverAgreed: ToolOutcome.ToolOutcome = {
  _tag: "Denied",
  reason: "hooks changed the arguments that were given for the call time and again, and nobody allowed the others"
}

const byRules = (env: Env.Env, call: Call): Judged => {
  if (call.decision !== undefined) return byWord(env, call, call.decision)
  if (!Env.isOffered(env, call.tool)) return unknown(env, call)
  // what was asked stays asked, whatever the tool's rule says by now
  if (call.phase === "awaiting") return { _tag: "Ask", call }
  const candidate = {
    name: call.tool,
    params: OpenCall.asked(call),
    callId: call.callId,
    messages: () => Transcript.messages(Transcript.beforeTurn(env.journal.transcript))
  }
  const asks = env.executor.needsApproval(env.handlers, candidate, env.policy.requireApprovalByDefault ?? false)
  if (isKnown(asks)) return byAnswer(env, call, asks.value)
  const limit = RunPolicy.callTimeout(env.timeouts, call.tool)
  const asked = AppCode.within(env, `rule of ${call.tool}`, call.callId, limit, asks)
  // a rule that does not answer in time asks, as does one that fails
  const answered = Effect.flatMap(asked, (told) => Option.isSome(told) ? Effect.succeed(told.value) : late(call, limit))
  return wait(env, call, Effect.flatMap(answered, (answer) => awaited(byAnswer(env, call, answer))))
}

/** By what the tool's rule says. An executor may be code that is not ours: only its `false` is a no. */
const byAnswer = (env: Env.Env, call: Call, answer: ToolExecutor.Asks): Judged => {
  if (answer === false) return { _tag: "Run", call }
  if (typeof answer !== "object" || answer === null) return { _tag: "Ask", call }
  const { outcome } = Settlements.checked({ outcome: answer })
  const settle = (outcome: ToolOutcome.ToolOutcome): Verdict => ({ _tag: "Settle", call, outcome, isMade: true })
  const looked = ToolHooks.after(env, call, ToolHooks.toldOf(outcome), "ran")
  const left = env.telemetry.isTraced ? ToolSpan.around(env, call, looked) : looked
  return isKnown(left) ? settle(left.value) : wait(env, call, Effect.map(left, settle))
}

const late = ({ callId, tool }: Call, limit: Duration.Duration) =>
  Effect.as(
    Warning.warn(
      `needsApproval of the tool "${tool}" took more than ${
        Duration.toMillis(limit)
      } ms, the tool's time limit (call ${callId}); ` +
        "so people are asked"
    ),
    true
  )

/** By what a person said of the call. A yes to run a tool that now only a person answers does not count. */
const byWord = (env: Env.Env, call: Call, decision: OpenCall.Decision): Judged => {
  if (!decision.approved) return { _tag: "Settle", call, outcome: Outcomes.denied(decision) }
  if (OpenCall.isAnswered(call)) return answered(env, call)
  if (!Env.isOffered(env, call.tool)) return unknown(env, call)
  return env.executor.needsResult(env.handlers, call.tool)
    ? { _tag: "Ask", call: OpenCall.anew(call) }
    : { _tag: "Run", call }
}

const unknown = (env: Env.Env, call: Call): Judged => ({
  _tag: "Settle",
  call,
  outcome: { _tag: "UnknownTool", available: env.tools.map((tool) => tool.name) }
})

/** The call is settled with what a person gave, as far as hooks let it be stored. */
const answered = (env: Env.Env, call: Call): Judged => {
  const outcome = ToolHooks.answered(env, call)
  const settle = (outcome: ToolOutcome.ToolOutcome): Verdict => ({ _tag: "Settle", call, outcome })
  return isKnown(outcome) ? settle(outcome.value) : wait(env, call, Effect.map(outcome, settle))
}

const isKnown = <A>(self: Effect.Effect<A>): self is Exit.Success<A> => Exit.isExit(self) && self._tag === "Success"

/** The call goes on, by running again. */
const ofPaused = (env: Env.Env, call: Call): Judged =>
  Env.isOffered(env, call.tool)
    ? { _tag: "Run", call }
    : { _tag: "Settle", call, outcome: Unsettled.ofIdle(call, "stopped") }

/** The call runs again, or gets the outcome that is known of it. */
const ofStarted = (env: Env.Env, call: Call): Judged => {
  const isOffered = Env.isOffered(env, call.tool)
  if (isOffered && env.executor.isRepeatable(env.handlers, call.tool)) return { _tag: "Run", call }
  return wait(
    env,
    call,
    Effect.map(Reconciling.ask(env, call), (known): Verdict =>
      known === undefined && isOffered
        ? { _tag: "Run", call }
        : { _tag: "Settle", call, outcome: known ?? { _tag: "NotExecuted", reason: "stopped" } })
  )
}
