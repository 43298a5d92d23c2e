/**
 * The steps of one tool call: may it run, the intent, the handler, the outcome.
 *
 * Does not own the question to a person (`Question`), nor which call takes which step when; that is `ToolRound`.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Bounds from "../run/Bounds.ts"
import * as OpenCall from "../run/OpenCall.ts"
import type * as ToolOutcome from "../run/ToolOutcome.ts"
import * as Transcript from "../run/Transcript.ts"
import * as SessionStore from "../services/SessionStore.ts"
import type * as Env from "./Env.ts"
import * as Severed from "./Severed.ts"

type Call = OpenCall.OpenCall

/** What a call needs next: to run, a person's word, or an outcome without running. */
export type Verdict =
  | { readonly _tag: "Run" }
  | { readonly _tag: "Ask" }
  | { readonly _tag: "Settle"; readonly outcome: ToolOutcome.ToolOutcome }

/** An `Exit` where nothing has to be waited for. */
export const judge = (env: Env.Env, call: Call): Effect.Effect<Verdict> => {
  if (call.decision?.approved === false) return Effect.succeed({ _tag: "Settle", outcome: denied(call.decision) })
  if (!env.tools.some((tool) => tool.name === call.tool)) {
    const available = env.tools.map((tool) => tool.name)
    return Effect.succeed({ _tag: "Settle", outcome: { _tag: "UnknownTool", available } })
  }
  if (call.decision !== undefined) return Effect.succeed({ _tag: "Run" })
  // what was asked stays asked, whatever the tool's rule says by now
  if (call.phase === "awaiting") return Effect.succeed({ _tag: "Ask" })
  const candidate = {
    name: call.tool,
    params: OpenCall.asked(call),
    callId: call.callId,
    messages: () => Transcript.messages(Transcript.beforeTurn(env.journal.transcript()))
  }
  const asks = env.executor.needsApproval(env.handlers, candidate, env.policy.requireApprovalByDefault ?? false)
  return isSettled(asks)
    ? Exit.succeed(verdictOf(asks.value))
    : Effect.map(Severed.run(env, `approval of ${call.tool}`, call.callId, asks), verdictOf)
}

const isSettled = (asks: Effect.Effect<boolean>): asks is Exit.Success<boolean> =>
  Exit.isExit(asks) && Exit.isSuccess(asks)

const verdictOf = (asks: boolean): Verdict => asks ? { _tag: "Ask" } : { _tag: "Run" }

const denied = ({ reason }: OpenCall.Decision): ToolOutcome.ToolOutcome => ({
  _tag: "Denied",
  reason: reason ?? "the user did not allow this call"
})

/** The outcome of a call that never started: what a person said against it, else `otherwise`. */
export const unstarted = ({ decision }: Call, otherwise: ToolOutcome.ToolOutcome): ToolOutcome.ToolOutcome =>
  decision?.approved === false ? denied(decision) : otherwise

/** Records the intent. It is stored before the handler runs. */
export const start = (env: Env.Env, call: Call): void => {
  const { callId, tool, turn } = call
  env.journal.record({ _tag: "ToolStarted", turn, callId, tool, params: OpenCall.final(call) })
}

/** Gives a call an outcome without running it, or without waiting for it any longer; `ofRun` where that is an older one. */
export const settle = (
  { journal }: Pick<Env.Env, "journal">,
  call: Call,
  outcome: ToolOutcome.ToolOutcome,
  ofRun?: string
): void => {
  const { callId, phase, startedAt, tool, turn } = call
  const hasRunHere = ofRun === undefined && startedAt !== undefined && isOurs(journal, call)
  const duration = hasRunHere ? Math.max(0, journal.now() - startedAt) : 0
  const ran = phase === "started" ? editedOf(call) : {}
  journal.record({ _tag: "ToolSettled", turn, callId, tool, outcome, duration, ...ran }, ofRun)
}

/** What the outcome of a call that ran says of its arguments, where a person edited them. */
const editedOf = ({ decision }: Call) => decision?.params === undefined ? {} : { edited: decision.params }

/** This drive started it, and not one that died: told by the log, because clocks of machines differ. */
export const isOurs = (journal: Env.Env["journal"], { drive }: Call): boolean => drive === journal.state().drive

/** The same on every try at a call, and unique among all sessions: the ids may hold anything. */
export const idempotencyKey = (sessionId: string, runId: string, callId: string): string =>
  [sessionId, runId, callId].map(encodeURIComponent).join("/")

/** Runs the handler of a call whose intent is stored, and records the outcome once there is one. */
export const execute = (env: Env.Env, call: Call): Effect.Effect<ToolOutcome.ToolOutcome> =>
  Effect.uninterruptibleMask(Effect.fnUntraced(function*(restore) {
    const { journal, sessionId } = env
    const { callId, tool, turn } = call
    const { runId } = journal
    const startedAt = journal.now()
    let isSettled = false
    const settlement = yield* restore(env.executor.execute(
      env.handlers,
      {
        name: tool,
        params: OpenCall.final(call),
        timeout: Duration.fromInputUnsafe(env.timeouts.tool),
        identity: {
          sessionId,
          runId,
          callId,
          idempotencyKey: idempotencyKey(sessionId, runId, callId),
          attempt: journal.state().openCalls.find((open) => open.callId === callId)?.tries ?? 1,
          data: journal.state().input?.data
        }
      },
      {
        // a handler that was left behind is not heard any more
        progress: (value) =>
          Effect.sync(() => {
            if (!isSettled) journal.emit({ _tag: "ToolProgress", turn, callId, tool, value })
          }),
        leftBehind: (outcome) => Effect.sync(() => env.leftBehind.set(callId, { name: tool, outcome }))
      }
    ))
    isSettled = true
    const edited = editedOf(call)
    const outcome = storable(settlement.outcome, edited)
    const duration = journal.now() - startedAt
    journal.record({ _tag: "ToolSettled", turn, callId, tool, duration, ...settlement, ...edited, outcome })
    return outcome
  }))

/** The outcome, or where it is more than a store holds together with `beside`, what became of it. */
const storable = (outcome: ToolOutcome.ToolOutcome, beside: object): ToolOutcome.ToolOutcome => {
  const bytes = Bounds.above({ ...beside, outcome }, SessionStore.maxContentBytes)
  if (bytes === undefined) return outcome
  const message = `it has ${bytes} bytes of JSON, the limit is ${SessionStore.maxContentBytes}`
  return outcome._tag === "Succeeded"
    ? { _tag: "NotEncodable", message }
    : { _tag: "Failed", result: `The tool failed, and what it said is left out: ${message}.` }
}
