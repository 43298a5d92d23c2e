/**
 * How a call gets a person's decision: it is asked about after the questions before it, waits until somebody has decided, and is
 * judged again with what was decided.
 *
 * Does not own which calls ask (`Judging`), a question and its answer (`Question`), nor where the call runs then (`CallLanes`).
 */
import * as Effect from "effect/Effect"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Env from "../env/Env.ts"
import * as CallStep from "./CallStep.ts"
import * as Judging from "./Judging.ts"
import * as Question from "./Question.ts"
import type { RoundProgress } from "./RoundProgress.ts"

type Call = OpenCall.OpenCall
type Steps<A> = Effect.fn.Return<A, SessionStore.StoreError>

interface Round {
  readonly env: Env.Env
  readonly progress: RoundProgress
  /** how long a call waits that nobody here answers for */
  readonly nobody: Effect.Effect<void>
}

/**
 * The call as a person has allowed it to run, which is recorded and not yet stored; nothing where the decision gives it its
 * outcome, or it still waits. `n` counts the questions from 1.
 */
export const obtain = function*(round: Round, asked: Call, n = 1): Steps<Call | undefined> {
  const { env, progress } = round
  const decided = yield* decision(round, asked)
  if (decided === undefined) return undefined
  const verdict = yield* Judging.rejudge(env, decided, n)
  switch (verdict._tag) {
    case "Run":
      return verdict.call
    case "Ask":
      return yield* obtain(round, verdict.call, n + 1)
    case "Settle":
      progress.ended(verdict.call, CallStep.settle(env, verdict.call, verdict.outcome, verdict))
      return undefined
  }
}

/** The call once somebody has decided about it; nothing where nobody does, or no other call of the round may run any more. */
const decision = function*({ env, nobody, progress }: Round, call: Call): Steps<Call | undefined> {
  if (!progress.mayRun()) return undefined
  // one after the other, in call order, except for calls whose hooks or rule took their time
  const question = yield* progress.line.withPermit(Question.pose(env, call))
  const isNew = progress.asked(question.approvalId)
  yield* env.journal.commit
  progress.rest()
  const word = isNew ? Question.asking(env, question, nobody) : nobody
  yield* Effect.raceFirst(Question.decided(env, question, word), progress.halted)
  const now = OpenCall.find(env.journal.state.openCalls, call.callId)
  if (now?.decision === undefined) return undefined
  progress.decided(question.approvalId)
  return now
}
