/**
 * Answers to questions, wherever the answers come from: recorded through the run's writer where the run lives in this process, sent to
 * the process that it lives in where that is another one, and otherwise appended to its log. No agent is driven.
 *
 * Does not own which answers are taken (`Answering`), nor what is asked (`Questions`).
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Approval from "../../run/Approval.ts"
import * as Canonical from "../../run/Canonical.ts"
import * as RunError from "../../run/RunError.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as RunInput from "../../run/RunInput.ts"
import type * as RunState from "../../run/RunState.ts"
import * as CallAbove from "../log/CallAbove.ts"
import * as Fold from "../log/Fold.ts"
import * as Questions from "../log/Questions.ts"
import * as Answering from "../round/Answering.ts"
import type * as SessionLocks from "./SessionLocks.ts"
import * as Visit from "./Visit.ts"

/**
 * Records an answer; durable when it returns. A drive that died gets its end first. Fails with `SessionBusy` where a compaction has the
 * session, or a process that does not hear of the answer: one of another version, or that does nothing at the moment.
 */
export const decide = Effect.fnUntraced(function*(
  visitor: Visit.Visitor,
  locks: SessionLocks.SessionLocks,
  decision: RunInput.DecideInput
): Effect.fn.Return<void, RunError.RunError> {
  let firstTold: number | undefined
  while (true) {
    const run = yield* visitor.services.runs.inSession(decision.sessionId)
    const answer: Effect.Effect<true | false | Elsewhere, RunError.RunError> = run === undefined
      ? locks.with(decision.sessionId, stored(visitor, decision))
      : run.decide(decision)
    const recorded = yield* Effect.catchReason(
      answer,
      "NonRetryableError",
      "ApprovalNotOpen",
      ({ because }, error) => because === "unknown" ? elsewhere(visitor, decision, error) : Effect.fail(error)
    )
    if (recorded === true) return
    if (recorded === false) {
      yield* Effect.exit(run!.result)
      continue
    }
    firstTold ??= yield* Clock.currentTimeMillis
    const became = yield* passOn(visitor, decision, recorded)
    if (became === "recorded") return
    const waited = (yield* Clock.currentTimeMillis) - firstTold
    if (became === "refused" || waited >= patience) return yield* Visit.inUse(recorded.busy, "answer")
  }
})

/** Milliseconds in which whoever has a session has to record an answer, or to give the session back. */
const patience = 10_000

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

/** A session that somebody else has, and the answer as it would be recorded in it. */
interface Elsewhere {
  readonly busy: Visit.Busy
  readonly state: RunState.RunState
  readonly checked: Approval.Answer
}

/**
 * Has whoever drives the session's run record an answer. `refused`: they cannot be told; `again`: nobody has the session any more, or
 * the log says that something else became of the question, or nothing for some seconds.
 */
const passOn = Effect.fnUntraced(function*(
  { services: { store }, settings }: Visit.Visitor,
  decision: RunInput.DecideInput,
  { checked, state }: Elsewhere
): Effect.fn.Return<"recorded" | "refused" | "again", RunError.RunError> {
  const { runId = "", seq: after } = state
  const { approvalId, sessionId } = decision
  const call = Approval.waiting(state, approvalId)
  if (store.send === undefined || call === undefined) return "refused"
  const isTold = yield* Effect.catchReason(
    store.send(sessionId, runId, { _tag: "Answer", id: yield* settings.ids.next, after, decision }),
    "RetryableError",
    "SessionBusy",
    () => Effect.undefined
  )
  if (isTold !== true) return isTold === false ? "again" : "refused"
  if (state.end !== undefined) {
    // a run that has ended will release its session
    yield* Effect.sleep("100 millis")
    return "again"
  }
  const became = yield* store.watch(sessionId, after + 1).pipe(
    Stream.filter((event) =>
      RunEvent.isEnd(event) || (event._tag === "ApprovalResolved" && event.approvalId === approvalId)
    ),
    Stream.runHead,
    Effect.timeoutOption("5 seconds"),
    Effect.map(Option.flatten)
  )
  return Option.isSome(became) && isThis(became.value, Approval.resolved(call, checked)) ? "recorded" : "again"
})

/** Whether an event records just that. */
const isThis = (
  { at: _1, runId: _2, seq: _3, version: _4, ...said }: RunEvent.Durable,
  draft: RunEvent.Draft
): boolean => Canonical.canonical(said) === Canonical.canonical(draft)

/** Appends an answer to the log of a session that no drive has; a refused answer does not take the session. */
const stored = Effect.fnUntraced(function*(
  visitor: Visit.Visitor,
  decision: RunInput.DecideInput
): Effect.fn.Return<true | Elsewhere, RunError.RunError> {
  const { definition: { handlers }, services: { executor, store } } = visitor
  const { sessionId } = decision
  const before = yield* Fold.lastRun(store, sessionId)
  const isCutOff = Approval.waiting(before.state, decision.approvalId) !== undefined &&
    (yield* CallAbove.isCutOff(store, before.state))
  if (isCutOff) return yield* Approval.notOpen(sessionId, decision.approvalId, "cutOff")
  const checked = yield* Answering.check({ executor, handlers }, store, before.state, decision)
  return yield* Visit.open(visitor, sessionId, before).pipe(
    Effect.flatMap((env) =>
      env === undefined
        ? Effect.die(new Error("fiberloop: a session with a question has a run"))
        : Effect.as(Answering.record(env, store, checked), true as const)
    ),
    Effect.scoped,
    Effect.catchReason(
      "RetryableError",
      "SessionBusy",
      (busy) => Effect.succeed({ busy, state: before.state, checked })
    )
  )
})
