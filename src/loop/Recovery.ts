/**
 * What a drive leaves behind when its process dies, and how it is mended by appending: the end that it could not write,
 * and what becomes of calls that it started.
 *
 * Does not own how the run goes on: behind its end it is like one that was aborted, with its calls still open.
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as OpenCall from "../run/OpenCall.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import * as RunState from "../run/RunState.ts"
import type * as ToolOutcome from "../run/ToolOutcome.ts"
import type * as Reconciler from "../services/Reconciler.ts"
import type * as SessionStore from "../services/SessionStore.ts"
import * as CallStep from "./CallStep.ts"
import type * as Env from "./Env.ts"
import * as Severed from "./Severed.ts"

/** A run that died so often in a row, with nothing finished between, is not gone on with by itself. */
const mostCrashes = 5

/**
 * Writes the end of a drive that died. Calls stay open for the next drive, or for the new message, to settle; but those of a
 * run that was asked to abort, or that dies again and again, are settled here. Does nothing where the last drive has its end,
 * so that recovering twice appends nothing more.
 */
export const repair = Effect.fnUntraced(function*(
  env: Env.Env,
  isResumed: boolean
): Effect.fn.Return<void, SessionStore.StoreError> {
  const { journal } = env
  const state = journal.state()
  if (!RunState.isOpen(state)) return
  const ending = endingOf(state, isResumed)
  if (ending.settles !== undefined) yield* settleAll(env, ending.settles)
  journal.record({ ...ending.end, totals: RunState.totalsAt(journal.state(), state.at) }, state.runId)
  yield* journal.commit
})

interface Ending {
  readonly end:
    | { readonly _tag: "RunAborted"; readonly reason: RunEvent.AbortedReason }
    | { readonly _tag: "RunLimited"; readonly reason: RunEvent.LimitedReason }
  /** what calls that never started are settled as, where they are */
  readonly settles?: NotExecuted
}

type NotExecuted = Extract<ToolOutcome.ToolOutcome, { _tag: "NotExecuted" }>["reason"]

const endingOf = (state: RunState.RunState, isResumed: boolean): Ending => {
  if (state.abortRequested !== undefined) {
    return { end: { _tag: "RunAborted", reason: state.abortRequested }, settles: "aborted" }
  }
  return isResumed && state.crashes + 1 >= mostCrashes
    ? { end: { _tag: "RunLimited", reason: "crashLoop" }, settles: "limit" }
    : { end: { _tag: "RunAborted", reason: "crashed" } }
}

const waiting: ToolOutcome.ToolOutcome = { _tag: "Denied", reason: "superseded by a new message" }

/** Gives every open call its outcome; nothing runs. */
export const settleAll = Effect.fnUntraced(function*(env: Env.Env, reason: NotExecuted): Effect.fn.Return<void> {
  const { openCalls, runId } = env.journal.state()
  for (const call of openCalls) {
    const outcome = call.phase === "started"
      ? yield* outcomeOfStarted(env, call, reason)
      : reason === "superseded" && call.phase === "awaiting"
      ? waiting
      : CallStep.unstarted(call, { _tag: "NotExecuted", reason })
    CallStep.settle(env, call, outcome, runId)
  }
})

const outcomeOfStarted = (
  env: Env.Env,
  call: OpenCall.OpenCall,
  reason: NotExecuted
): Effect.Effect<ToolOutcome.ToolOutcome> =>
  env.executor.isRepeatable(env.handlers, call.tool)
    ? Effect.succeed({ _tag: "Interrupted" })
    : Effect.map(reconcile(env, call), (answer) =>
      answer._tag === "NotDone" ? { _tag: "NotExecuted", reason } : outcomeOf(answer))

/** What a call that a drive before this one started needs: to run again, or the outcome that is known of it. */
export const judge = (env: Env.Env, call: OpenCall.OpenCall): Effect.Effect<CallStep.Verdict> => {
  const isOffered = env.tools.some((tool) => tool.name === call.tool)
  if (isOffered && env.executor.isRepeatable(env.handlers, call.tool)) return Effect.succeed({ _tag: "Run" })
  return Effect.map(reconcile(env, call), (answer) =>
    answer._tag !== "NotDone"
      ? { _tag: "Settle", outcome: outcomeOf(answer) }
      : isOffered
      ? { _tag: "Run" }
      : { _tag: "Settle", outcome: { _tag: "NotExecuted", reason: "stopped" } })
}

const outcomeOf = (answer: Exclude<Reconciler.Answer, { _tag: "NotDone" }>): ToolOutcome.ToolOutcome =>
  answer._tag === "Done" ? { _tag: "Succeeded", result: answer.result ?? null } : { _tag: "OutcomeUnknown" }

const unknown: Reconciler.Answer = { _tag: "Unknown" }

/** What the application knows of a call; whatever goes wrong in asking, nothing is known. */
const reconcile = (
  env: Env.Env,
  { callId, params, startedAt, tool }: OpenCall.OpenCall
): Effect.Effect<Reconciler.Answer> => {
  const { journal, reconciler, sessionId, timeouts } = env
  const runId = journal.state().runId ?? journal.runId
  const idempotencyKey = CallStep.idempotencyKey(sessionId, runId, callId)
  const asked = Effect.suspend(() =>
    reconciler.reconcile({ sessionId, runId, callId, tool, params, idempotencyKey, startedAt: startedAt ?? 0 })
  )
  return Severed.run(env, `reconciler of ${tool}`, callId, asked).pipe(
    Effect.timeoutOption(Duration.fromInputUnsafe(timeouts.tool)),
    Effect.map(Option.getOrElse(() => unknown)),
    Effect.catchCause((cause) => Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.succeed(unknown))
  )
}
