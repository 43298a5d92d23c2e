/**
 * A compaction that a caller asks for: it is appended to the log of a session that no drive has, so that the next run begins with
 * less.
 *
 * Does not own the compaction itself (`Compacting`).
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as RunError from "../../run/RunError.ts"
import type * as RunResult from "../../run/RunResult.ts"
import * as ContextManager from "../../services/ContextManager.ts"
import * as StrategyFault from "../../services/StrategyFault.ts"
import * as Fold from "../log/Fold.ts"
import * as Compacting from "../turn/Compacting.ts"
import * as Sizing from "../turn/Sizing.ts"
import * as Visit from "./Visit.ts"

/**
 * Makes the context of a session smaller; durable when it returns. Fails with `CompactionFailed` where it cannot, with log and
 * context as they were; with `SessionBusy` where the session has a live run, and `SessionNotFound` where it is not known.
 */
export const compact = Effect.fnUntraced(function*(
  visitor: Visit.Visitor,
  sessionId: string
): Effect.fn.Return<RunResult.Compacted, RunError.RunError> {
  const { runs, store } = visitor.services
  const live = yield* runs.inSession(sessionId)
  if (live !== undefined) return yield* RunError.sessionBusy(sessionId, live.runId)
  const folded = yield* Fold.fold(store, sessionId, Fold.nothing)
  return yield* typed(Effect.scoped(compactIn(visitor, sessionId, folded)))
})

const compactIn = Effect.fnUntraced(function*(
  visitor: Visit.Visitor,
  sessionId: string,
  folded: Fold.Folded
): Effect.fn.Return<RunResult.Compacted, RunError.RunError, Scope.Scope> {
  const env = yield* Visit.open(visitor, sessionId, folded)
  if (env === undefined) return yield* Compacting.failed("nothing can be left out: the session has no run yet")
  const plan = yield* StrategyFault.plan(Compacting.who, env.context, Sizing.view(env, "manual"))
  if (plan === undefined) return yield* Compacting.failed(StrategyFault.unexpectedly(Compacting.who))
  if (plan._tag === "Send") return yield* Compacting.failed(ContextManager.nothingToLeaveOut)
  const { request } = plan
  const compacted = yield* Compacting.carryOut(env, request).pipe(
    Effect.catchTag(
      "CompactionError",
      (error) => Effect.andThen(env.journal.commit, Effect.fail(Compacting.failed(error.message)))
    ),
    // a caller interrupted by now has still paid for it
    Effect.onExit((exit) => exit._tag === "Success" ? env.journal.commit : Effect.ignore(env.journal.commit))
  )
  const { after, before, strategy, tokens, usage } = compacted
  return { strategy, messages: { before, after }, tokens: tokens ?? { before: 0, after: 0 }, usage }
})

/** Turns a defect into a typed failure, as in a run. */
const typed = <A>(self: Effect.Effect<A, RunError.RunError>): Effect.Effect<A, RunError.RunError> =>
  Effect.catchDefect(self, (defect) => Effect.fail(RunError.fromDefect(defect)))
