/**
 * The steps of one tool call: may it run, the intent, the handler, the outcome.
 *
 * Does not own the question to a person (`Question`), nor which call takes which step when; that is `CallLanes`.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"
import * as Bounds from "../../run/log/Bounds.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as ToolOutcome from "../../run/ToolOutcome.ts"
import * as Transcript from "../../run/Transcript.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import type * as ToolExecutor from "../../services/ToolExecutor.ts"
import type * as Env from "../env/Env.ts"
import * as Severed from "../env/Severed.ts"
import * as ToolSpan from "../observe/ToolSpan.ts"
import * as ToolHooks from "./ToolHooks.ts"

type Call = OpenCall.OpenCall

/**
 * What a call needs next: to run, a person's word, or an outcome without running. `call` is the one that does, where hooks
 * changed its arguments; `hook` is the one that settled it.
 */
export type Verdict =
  | { readonly _tag: "Run"; readonly call?: Call }
  | { readonly _tag: "Ask"; readonly call?: Call }
  | { readonly _tag: "Settle"; readonly outcome: ToolOutcome.ToolOutcome; readonly hook?: string }

/** A verdict, or the wait for one. */
export type Judged = Verdict | { readonly _tag: "Wait"; readonly verdict: Effect.Effect<Verdict> }

/** What hooks make of a call that has not started, and then the rules of whatever they leave. */
export const judge = (env: Env.Env, call: Call): Judged =>
  ToolHooks.isAsked(env, call)
    ? {
      _tag: "Wait",
      verdict: Effect.flatMap(ToolHooks.before(env, call), (prepared): Effect.Effect<Verdict> =>
        prepared._tag === "Settle"
          ? Effect.succeed({ ...prepared, outcome: storable(prepared.outcome) })
          : Effect.map(awaited(byRules(env, prepared.call)), (verdict) => ({ ...verdict, call: prepared.call })))
    }
    : byRules(env, call)

const awaited = (judged: Judged): Effect.Effect<Verdict> =>
  judged._tag === "Wait" ? judged.verdict : Effect.succeed(judged)

/** How often a person is asked about a call in one drive, where hooks change whatever arguments they give. */
const mostQuestions = 3

/**
 * The same once a person has answered the n-th question of this drive: hooks have seen all arguments but those that the
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
  if (call.decision?.approved === false) return { _tag: "Settle", outcome: denied(call.decision) }
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

/** A person's no. */
export const denied = ({ reason }: OpenCall.Decision): ToolOutcome.ToolOutcome => ({
  _tag: "Denied",
  reason: reason ?? "the user did not allow this call"
})

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
  ofRun?: string,
  hook?: string
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
    const outcome = isUnknown ? { _tag: "OutcomeUnknown" as const } : storable(left, edited)
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

/** The outcome, or where it is more than a store holds together with `beside`, what became of it. */
export const storable = (outcome: ToolOutcome.ToolOutcome, beside: object = {}): ToolOutcome.ToolOutcome => {
  const bytes = Bounds.above({ ...beside, outcome }, SessionStore.maxContentBytes)
  if (bytes === undefined) return outcome
  const message = `it has ${bytes} bytes of JSON, the limit is ${SessionStore.maxContentBytes}`
  return outcome._tag === "Succeeded"
    ? { _tag: "NotEncodable", message }
    : { _tag: "Failed", result: `The tool failed, and what it said is left out: ${message}.` }
}
