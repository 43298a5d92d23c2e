/**
 * The application's own code: what it is told of a turn or a tool call, and how it is called, besides tools and models: a hook, a
 * rule, an approver, a reconciler, a context strategy. An abort waits for such a call at most the grace period; then it is left
 * behind, and the end of the run names it.
 *
 * Does not own how that is done (`Leavable`), nor how long it may take: each caller says so.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Foreign from "../../run/Foreign.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import * as Leavable from "../../services/fibers/Leavable.ts"
import * as Stopwatch from "../../services/fibers/Stopwatch.ts"
import * as Warning from "../../services/Warning.ts"
import type * as Env from "./Env.ts"

/** What hooks and rules are told of the turn that they are asked about. */
export const inTurn = ({ journal, sessionId }: Pick<Env.Env, "journal" | "sessionId">, turn: number) => ({
  sessionId,
  runId: journal.runId,
  turn,
  data: journal.state.input?.data
})

/** What a handler, a hook and a reconciler are told of a tool call: all of them get the same idempotency key. */
export const ofCall = ({ journal, sessionId }: Pick<Env.Env, "journal" | "sessionId">, callId: string) => {
  const { state } = journal
  // the run that made the call, which may be an older one than this drive's
  const { runId = journal.runId } = state
  const idempotencyKey = OpenCall.idempotencyKey(sessionId, runId, callId)
  return { sessionId, runId, callId, idempotencyKey, data: state.input?.data }
}

/** What `read` makes of an answer; a failure says what came instead of one. Untyped code may return what is no effect. */
export const answered = <A, B>(
  returned: Effect.Effect<A, unknown>,
  read: (answer: A) => Result.Result<B, string>
): Effect.Effect<Result.Result<B, string>, unknown> =>
  Foreign.isEffect(returned) ? Effect.map(returned, read) : Effect.succeed(Result.fail(Warning.noEffect(returned)))

/** `subject` names the call or turn that it is about, if any. Everything else that is ready runs first. */
export const run = <A, E, R>(
  env: LeavingBehind,
  name: string,
  subject: string,
  self: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => Effect.andThen(Effect.yieldNow, Leavable.run(self, leave(env, name, subject)))

/** As `run`; none where it takes longer than `limit`. Code that answers without waiting is never late, however far the clock leaps. */
export const within = <A, E, R>(
  env: LeavingBehind & Pick<Env.Env, "clock">,
  name: string,
  subject: string,
  limit: Duration.Duration,
  self: Effect.Effect<A, E, R>
): Effect.Effect<Option.Option<A>, E, R> =>
  Effect.suspend(() => {
    const elapsed = Stopwatch.start(env.clock)
    const timeLimit = () => ({ millis: Math.max(0, Duration.toMillis(limit) - elapsed()), over: () => () => late })
    return Effect.andThen(
      Effect.yieldNow,
      Leavable.run(Effect.map(self, Option.some), leave(env, name, subject), timeLimit)
    )
  })

type LeavingBehind = Pick<Env.Env, "leftBehind">

const late: Effect.Effect<Option.Option<never>> = Effect.succeedNone

const leave = ({ leftBehind }: LeavingBehind, name: string, subject: string): Effect.Effect<void> =>
  Effect.sync(() => {
    leftBehind.set(`${name} ${subject}`, { name })
  })
