/**
 * Answers to questions, wherever the answers come from: recorded through the run's writer where the run lives in this process,
 * otherwise appended to its log. No agent is driven.
 *
 * Does not own which answers are taken (`Answering`), nor what is asked (`Questions`).
 */
import * as Effect from "effect/Effect"
import * as Approval from "../../run/Approval.ts"
import * as RunError from "../../run/RunError.ts"
import type * as RunInput from "../../run/RunInput.ts"
import * as CallAbove from "../log/CallAbove.ts"
import * as Fold from "../log/Fold.ts"
import * as Questions from "../log/Questions.ts"
import * as Answering from "../round/Answering.ts"
import type * as SessionLocks from "./SessionLocks.ts"
import * as Visit from "./Visit.ts"

/**
 * Records an answer; durable when it returns. Fails with `SessionBusy` where another process or a compaction has the session. A
 * drive that died gets its end first.
 */
export const decide = Effect.fnUntraced(function*(
  visitor: Visit.Visitor,
  locks: SessionLocks.SessionLocks,
  decision: RunInput.DecideInput
): Effect.fn.Return<void, RunError.RunError> {
  while (true) {
    const run = yield* visitor.services.runs.inSession(decision.sessionId)
    const answer = run === undefined
      ? Effect.as(locks.with(decision.sessionId, stored(visitor, decision)), true)
      : run.decide(decision)
    const isRecorded = yield* Effect.catchReason(
      answer,
      "NonRetryableError",
      "ApprovalNotOpen",
      ({ because }, error) => because === "unknown" ? elsewhere(visitor, decision, error) : Effect.fail(error)
    )
    if (isRecorded || run === undefined) return
    yield* Effect.exit(run.result)
  }
})

/** Fails; where the question is asked in another session that this one waits for, the error names that session. */
const elsewhere = Effect.fnUntraced(function*(
  { services: { store } }: Visit.Visitor,
  { approvalId, sessionId }: RunInput.DecideInput,
  error: RunError.RunError
): Effect.fn.Return<never, RunError.RunError> {
  const found = (yield* Questions.waiting(store, sessionId)).find(({ id }) => id === approvalId)
  // the session itself may ask it by now
  if (found === undefined || found.sessionId === sessionId) return yield* error
  return yield* RunError.invalidInput(
    "sessionId",
    `question "${approvalId}" belongs to session "${found.sessionId}", which session "${sessionId}" waits for: answer it there`
  )
})

/** Appends an answer to the log of a session that no drive has; a refused answer does not take the session. */
const stored = Effect.fnUntraced(function*(
  visitor: Visit.Visitor,
  decision: RunInput.DecideInput
): Effect.fn.Return<void, RunError.RunError> {
  const { definition: { handlers }, services: { executor, store } } = visitor
  const { sessionId } = decision
  const before = yield* Fold.lastRun(store, sessionId)
  const isCutOff = Approval.waiting(before.state, decision.approvalId) !== undefined &&
    (yield* CallAbove.isCutOff(store, before.state))
  if (isCutOff) return yield* Approval.notOpen(sessionId, decision.approvalId, "cutOff")
  const checked = yield* Answering.check({ executor, handlers }, store, before.state, decision)
  yield* Effect.scoped(Effect.gen(function*() {
    const env = yield* Effect.catchReason(
      Visit.open(visitor, sessionId, before),
      "RetryableError",
      "SessionBusy",
      (busy) => Effect.fail(Visit.inUse(busy, "answer"))
    )
    if (env === undefined) return yield* Effect.die(new Error("fiberloop: a session with a question has a run"))
    yield* Answering.record(env, store, checked)
  }))
})
