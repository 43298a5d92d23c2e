/**
 * A call into the application's own code, besides its tools and its model: a hook, a rule, an approver, a reconciler, a context
 * strategy. An abort waits for it at most the grace period; then it is left behind, and the end of the run names it.
 *
 * Does not own how that is done (`Leavable`), nor time limits: each caller sets its own.
 */
import * as Effect from "effect/Effect"
import * as Leavable from "../../services/fibers/Leavable.ts"
import type * as Env from "./Env.ts"

/** What application code is told of the turn that it is asked about. */
export const inTurn = ({ journal, sessionId }: Pick<Env.Env, "journal" | "sessionId">, turn: number) => ({
  sessionId,
  runId: journal.runId,
  turn,
  data: journal.state.input?.data
})

/** `subject` names the call or turn that it is about, if any. Everything else that is ready runs first. */
export const run = <A, E, R>(
  { leftBehind }: Pick<Env.Env, "leftBehind">,
  name: string,
  subject: string,
  self: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.andThen(
    Effect.yieldNow,
    Leavable.run(
      self,
      Effect.sync(() => {
        leftBehind.set(`${name} ${subject}`, { name })
      })
    )
  )
