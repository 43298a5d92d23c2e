/**
 * Whether the agent's own conditions stop a run: before a tool round, and after a turn.
 *
 * Does not own how a condition is asked (`Rules`), nor what a stop does (`ToolRound`, `Concluding`).
 */
import type * as Effect from "effect/Effect"
import type * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as RunState from "../../run/RunState.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import * as RunRound from "../../run/state/RunRound.ts"
import type * as StopWhen from "../../services/StopWhen.ts"
import * as AppCode from "../env/AppCode.ts"
import type * as Env from "../env/Env.ts"
import * as Rules from "../env/Rules.ts"

type Stops = Effect.fn.Return<boolean, RunError.RunError>

/** Asked of a round that has not begun. */
export const before = function*(env: Env.Env): Stops {
  const { stopBefore } = env.rules
  const { answer, openCalls } = env.journal.state
  if (stopBefore === undefined || answer === undefined || openCalls.length === 0) return false
  if (RunRound.hasBegun(openCalls, answer)) return false
  const calls = openCalls.map(({ callId, params, tool }) => ({ callId, tool, params }))
  return yield* ask(env, "stopBefore", () => stopBefore({ ...roundOf(env, answer), calls }))
}

/** Whether there is a condition to ask after a turn that no stronger reason decides. */
export const isAsked = (
  { rules }: Env.Env,
  { toolError }: { readonly toolError: RunError.Stored | undefined },
  finishReason: RunEvent.FinishReason
): boolean => rules.stopWhen !== undefined && toolError === undefined && finishReason !== "length"

/** Asked of a turn whose calls all have their outcome. */
export const after = function*(env: Env.Env): Stops {
  const { stopWhen } = env.rules
  const { answer, turn } = env.journal.state
  if (stopWhen === undefined || answer === undefined) return false
  const place = ({ callId }: { readonly callId: string }) => OpenCall.placeOf(callId, turn)
  const calls = answer.settled.toSorted((a, b) => place(a) - place(b))
  return yield* ask(env, "stopWhen", () => stopWhen({ ...roundOf(env, answer), calls }))
}

const roundOf = (
  env: Env.Env,
  { finishReason, message }: NonNullable<RunState.RunState["answer"]>
): Omit<StopWhen.Round, "calls"> => {
  const { journal } = env
  const totals = RunState.totalsAt(journal.state, journal.now())
  return { ...AppCode.inTurn(env, journal.state.turn), message, finishReason, totals }
}

/** Only a boolean is an answer, whatever untyped code returns. */
const ask = function*(
  env: Env.Env,
  rule: "stopBefore" | "stopWhen",
  question: () => boolean | Effect.Effect<boolean, unknown>
): Stops {
  const answer = yield* Rules.ask(env, rule, env.journal.state.turn, question)
  if (typeof answer === "boolean") return answer
  return yield* Rules.blocked(rule, "its answer is neither a boolean nor an effect of one")
}
