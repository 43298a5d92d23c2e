/**
 * The settled model call of a turn: attempts until one counts, with backoff between them, at the current model and then at its
 * fallbacks. Announces a delay before it begins, and stores what a discarded attempt cost.
 *
 * Does not own one attempt (`Asking`), what follows it (`Tries`, `TakingOver`), nor what follows the answer (`Turn`).
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as AttemptResult from "../../run/AttemptResult.ts"
import type * as Message from "../../run/Message.ts"
import type * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as Usage from "../../run/Usage.ts"
import type * as Backoff from "../../services/attempts/Backoff.ts"
import * as Tries from "../../services/attempts/Tries.ts"
import type * as ContextManager from "../../services/ContextManager.ts"
import * as Model from "../../services/Model.ts"
import * as Prices from "../../services/Prices.ts"
import * as RetryPolicy from "../../services/RetryPolicy.ts"
import type * as Budget from "../env/Budget.ts"
import type * as Env from "../env/Env.ts"
import type * as Journal from "../log/Journal.ts"
import * as Asking from "./Asking.ts"
import * as TakingOver from "./TakingOver.ts"

export type Result =
  | AttemptResult.Settled & Answered
  | { readonly _tag: "Overflow"; readonly error: RunError.RunError }
  /** a model with too small a window took over; it was not asked */
  | { readonly _tag: "Compact"; readonly request: ContextManager.Request }
  | { readonly _tag: "Limited"; readonly reached: Budget.Reached }

/** Which model answered, at which attempt, and what tools it was offered. */
interface Answered {
  readonly attempt: number
  readonly model: Model.ModelInfo
  readonly tools: Model.Tools
}

/** Sends the transcript, or `prompt`, the messages that hooks left of it, to `model` first. */
export const run = function*(
  env: Env.Env,
  model: Model.Model["Service"],
  prompt: ReadonlyArray<Message.Message> | undefined
): Effect.fn.Return<Result, RunError.RunError> {
  const asked = Asking.of(env, model, prompt)
  const attempt = env.journal.state.attempts + 1
  const result = yield* Asking.ask(env, asked, attempt)
  return result._tag === "Settled" && !AttemptResult.saysNothing(result)
    ? settled(env, asked, attempt, result)
    : yield* tryAgain(env, asked, attempt, result)
}

const settled = (
  { tools }: Env.Env,
  { model }: Asking.Asked,
  attempt: number,
  answer: AttemptResult.Settled
): Result => ({ ...answer, attempt, model: model.info, tools })

/** An attempt that was made: at which model, in which environment, and with what result. */
interface Tried extends Again {
  readonly attempt: number
  readonly result: AttemptResult.AttemptResult
  /** an answer that says nothing now counts */
  readonly mayBeEmpty: boolean
}

/** Which model is asked at another attempt, and in which environment. */
interface Again {
  readonly env: Env.Env
  readonly asked: Asking.Asked
  readonly tries: Tries.Tries
}

type Next = { readonly _tag: "Again"; readonly again: Again } | Exclude<Result, { _tag: "Settled" }>
type Following = Effect.fn.Return<Next, RunError.RunError>

/** From a first attempt that failed or said nothing to one that counts, or to the reason why there is none. */
const tryAgain = Effect.fnUntraced(function*(
  env: Env.Env,
  asked: Asking.Asked,
  attempt: number,
  result: AttemptResult.AttemptResult
): Effect.fn.Return<Result, RunError.RunError> {
  const policies = yield* RetryPolicy.RetryPolicy
  const tries = Tries.make(policies, asked.model, attempt - 1)
  // after tool results an empty answer counts, as does the second one in a row
  const mayBeEmpty = asked.messages[asked.messages.length - 1]?.role === "tool"
  let tried: Tried = { env, asked, tries, attempt, result, mayBeEmpty }
  while (true) {
    const { asked, attempt, env, result } = tried
    const verdict = yield* judge(tried)
    if (verdict._tag === "Counts") return settled(env, asked, attempt, verdict.answer)
    const next = verdict._tag === "Retry" ? yield* retry(tried, verdict) : yield* fallBack(policies, tried, verdict)
    if (next._tag !== "Again") return next
    const { again } = next
    tried = {
      ...again,
      attempt: attempt + 1,
      result: yield* Asking.ask(again.env, again.asked, attempt + 1),
      mayBeEmpty: tried.mayBeEmpty || result._tag === "Settled"
    }
  }
})

/** What follows; where the policy breaks on it, the cost of the attempt is recorded all the same. */
const judge = (tried: Tried): Effect.Effect<Tries.Verdict> => {
  const { attempt, env: { journal }, mayBeEmpty, result, tries } = tried
  return Effect.onError(
    Tries.judge(tries, attempt, result, mayBeEmpty, journal.now(), journal.state),
    () => Effect.sync(() => discard(tried, Tries.failureOf(result)))
  )
}

/** Waits for another try at the same model. Where this failure reaches a limit there is none, and none is recorded. */
const retry = function*(
  tried: Tried,
  { delay, error }: Tries.Retry
): Following {
  const { asked, attempt, env, result, tries } = tried
  const { journal } = env
  const reached = env.budget.limitReached(journal.now, costOf(tried), 1)
  discard(tried, error, reached === undefined ? delay : undefined)
  if (reached !== undefined) return { _tag: "Limited", reached }
  journal.move(result._tag === "Settled" ? "emptyAnswer" : "retryableError")
  yield* wait(journal, { turn: journal.state.turn, attempt, error: error.reason }, delay)
  return { _tag: "Again", again: { env, asked, tries } }
}

/** After a failure that is final: another model takes over, or the call has failed. */
const fallBack = function*(
  policies: RetryPolicy.RetryPolicy,
  tried: Tried,
  { error, final }: Tries.Failed
): Following {
  const { asked: { model }, attempt, env } = tried
  const { journal } = env
  discard(tried, error)
  const to = Tries.fallbackOf(model, error)
  if (to === undefined) {
    if (error.reason._tag === "ContextOverflow") return { _tag: "Overflow", error: final }
    journal.move("modelFailed")
    return yield* final
  }
  const reached = env.budget.limitReached(journal.now)
  if (reached !== undefined) return { _tag: "Limited", reached }
  const taken = yield* TakingOver.takeOver(env, model, to)
  if (taken._tag === "Compact") return taken
  const asked = Asking.of(taken.env, to, taken.messages)
  return { _tag: "Again", again: { env: taken.env, asked, tries: Tries.make(policies, to, attempt) } }
}

const costOf = ({ asked: { model }, env: { prices }, result: { usage } }: Tried): Usage.Usage =>
  Prices.costed(prices, model.info, usage)

/**
 * Records what an attempt that does not count has cost, even where one of the application's rules that is asked about it throws. `delay`
 * is the wait before the same model is tried again, if it is.
 */
const discard = (tried: Tried, error: Tries.Failed["error"], delay?: Backoff.Delay): void => {
  const { asked: { model }, attempt, env: { journal }, result: { duration } } = tried
  journal.record({
    _tag: "AttemptDiscarded",
    turn: journal.state.turn,
    attempt,
    error: error.reason,
    usage: costOf(tried),
    model: Model.refOf(model.info),
    duration,
    ...(delay === undefined ? {} : { delay: Duration.toMillis(delay.duration) })
  })
}

/** Announces a delay, stores what is recorded, and waits. */
const wait = Effect.fnUntraced(function*(
  journal: Journal.Journal,
  failure: Pick<Extract<RunEvent.RunEvent, { _tag: "RetryScheduled" }>, "turn" | "attempt" | "error">,
  { duration, source }: Backoff.Delay
): Effect.fn.Return<void, RunError.RunError> {
  journal.emit({ _tag: "RetryScheduled", ...failure, delay: Duration.toMillis(duration), source })
  yield* journal.commit
  yield* Effect.sleep(duration)
  journal.move("delayOver")
})
