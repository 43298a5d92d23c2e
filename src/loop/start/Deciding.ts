/**
 * Answers to questions, wherever the answers come from: recorded through the run's writer where the run lives in this process, sent to
 * the process that it lives in where that is another one, and otherwise appended to its log. No agent is driven.
 *
 * Does not own which answers are taken (`Answering`), nor what is asked (`Questions`).
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Approval from "../../run/Approval.ts"
import * as RunError from "../../run/RunError.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as RunInput from "../../run/RunInput.ts"
import type * as RunState from "../../run/RunState.ts"
import * as Stopwatch from "../../services/fibers/Stopwatch.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as CallAbove from "../log/CallAbove.ts"
import * as Fold from "../log/Fold.ts"
import * as Questions from "../log/Questions.ts"
import * as Answering from "../round/Answering.ts"
import * as Elsewhere from "./Elsewhere.ts"
import * as Identity from "./Identity.ts"
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
  const { services: { runs, store }, settings } = visitor
  let sending: Sending | undefined
  const refusals = new Elsewhere.Refusals()
  while (true) {
    const run = yield* runs.inSession(decision.sessionId)
    const answer: Effect.Effect<true | false | HeldElsewhere, RunError.RunError> = run === undefined
      ? locks.with(decision.sessionId, stored(visitor, decision))
      : run.decide(decision)
    const recorded = yield* Effect.catchReason(
      answer,
      "NonRetryableError",
      "ApprovalNotOpen",
      ({ because }, error) =>
        because === "unknown" ? elsewhere(visitor, decision, error) : unlessRecorded(store, sending?.sent, error)
    )
    if (recorded === true) return
    if (recorded === false) {
      yield* Effect.exit(run!.result)
      continue
    }
    sending ??= {
      sent: { _tag: "Answer", id: yield* Identity.next(settings.ids), after: recorded.state.seq, decision },
      elapsed: Stopwatch.start(settings.clock)
    }
    const became = yield* passOn(store, sending.sent, recorded.state)
    if (became === "recorded") return
    const isRefused = became === "refused"
    if (sending.elapsed() >= patience || !(yield* refusals.goOn(isRefused))) {
      const why = isRefused ? cannotBeTold : mayStill
      yield* unlessRecorded(store, sending.sent, Elsewhere.inUse(recorded.busy, "answer", why))
      return
    }
  }
})

/** An answer that is sent, under one id however often, and the milliseconds since it was first sent. */
interface Sending {
  readonly sent: SessionStore.SentAnswer
  readonly elapsed: () => number
}

/** Milliseconds in which whoever has a session has to record an answer, or to give the session back. */
const patience = 10_000

const cannotBeTold = "cannot be told an answer"
const mayStill = "was told ten seconds ago, and may still record the answer"

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

/** A session that somebody else has, and its last run. */
interface HeldElsewhere {
  readonly busy: Elsewhere.Busy
  readonly state: RunState.RunState
}

/** Fails with `error`, unless the log has the answer that was sent. */
const unlessRecorded = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  sent: SessionStore.SentAnswer | undefined,
  error: RunError.RunError
): Effect.fn.Return<true, RunError.RunError> {
  if (sent === undefined) return yield* error
  const found = yield* store.read(sent.decision.sessionId, { from: sent.after + 1 }).pipe(
    Stream.filter((event) => isThis(event, sent)),
    Stream.runHead
  )
  return Option.isSome(found) || (yield* error)
})

const isThis = (event: RunEvent.Durable, { id }: SessionStore.SentAnswer): boolean =>
  event._tag === "ApprovalResolved" && event.id === id

/**
 * Has whoever drives the session's run, which is at `state`, record an answer. `refused`: they cannot be told; `again`: nobody has the
 * session any more, or the log says that something else became of the question, or nothing for some seconds.
 */
const passOn = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  sent: SessionStore.SentAnswer,
  state: RunState.RunState
): Effect.fn.Return<"recorded" | "refused" | "again", RunError.RunError> {
  const { runId = "" } = state
  const { approvalId, sessionId } = sent.decision
  if (store.send === undefined) return "refused"
  const told = yield* Elsewhere.told(store.send(sessionId, runId, sent))
  if (told !== "told") return told === "nobody" ? "again" : "refused"
  const became = yield* Elsewhere.news(
    store,
    sessionId,
    state,
    (event): event is RunEvent.Durable =>
      RunEvent.isEnd(event) || (event._tag === "ApprovalResolved" && event.approvalId === approvalId)
  )
  return Option.isSome(became) && isThis(became.value, sent) ? "recorded" : "again"
})

/** Appends an answer to the log of a session that no drive has; a refused answer does not take the session. */
const stored = Effect.fnUntraced(function*(
  visitor: Visit.Visitor,
  decision: RunInput.DecideInput
): Effect.fn.Return<true | HeldElsewhere, RunError.RunError> {
  const { definition: { handlers }, services: { executor, store } } = visitor
  const { sessionId } = decision
  const before = yield* Fold.lastRun(store, sessionId)
  const isCutOff = Approval.waiting(before.state, decision.approvalId) !== undefined &&
    (yield* CallAbove.isCutOff(store, sessionId, before.state))
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
      (busy) => Effect.succeed({ busy, state: before.state })
    )
  )
})
