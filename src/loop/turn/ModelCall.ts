/**
 * The settled model call of a turn: attempts until one counts, with backoff between them, at the model whose turn it is
 * and then at those behind it. Announces a delay before it begins, and stores what a discarded attempt cost.
 *
 * Does not own one attempt (`Attempt`), what follows it (`Tries`, `TakingOver`), nor what follows the answer (`Turn`).
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as AttemptResult from "../../run/AttemptResult.ts"
import type * as Message from "../../run/Message.ts"
import type * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as RunDecision from "../../run/state/RunDecision.ts"
import * as Transcript from "../../run/Transcript.ts"
import type * as ContextManager from "../../services/ContextManager.ts"
import type * as Model from "../../services/Model.ts"
import * as Prices from "../../services/Prices.ts"
import * as RetryPolicy from "../../services/RetryPolicy.ts"
import type * as Env from "../env/Env.ts"
import type * as Journal from "../log/Journal.ts"
import * as Chat from "../observe/Chat.ts"
import * as Attempt from "./Attempt.ts"
import type * as Backoff from "./Backoff.ts"
import * as CurrentModel from "./CurrentModel.ts"
import * as Offer from "./Offer.ts"
import * as TakingOver from "./TakingOver.ts"
import * as Tries from "./Tries.ts"

export type Result =
  | AttemptResult.Settled & Answered
  | { readonly _tag: "Overflow"; readonly error: RunError.RunError }
  /** a model took over whose window is too small; it was not asked */
  | { readonly _tag: "Compact"; readonly request: ContextManager.Request }
  | { readonly _tag: "Limited"; readonly reason: RunEvent.LimitedReason }

/** Who answered, at which attempt, and what tools it was offered. */
interface Answered {
  readonly attempt: number
  readonly isEmpty: boolean
  readonly model: Model.ModelInfo
  readonly tools: Model.Tools
}

/** Who is asked, with the messages that are legal for it. */
interface Asked {
  readonly model: Model.Model["Service"]
  readonly messages: ReadonlyArray<Message.Message>
}

/** Where hooks made `messages`, those are sent. */
const makeAsked = (
  env: Env.Env,
  model: Model.Model["Service"],
  messages: ReadonlyArray<Message.Message> | undefined
): Asked => ({
  model,
  messages: messages ?? Transcript.messages(env.journal.transcript, model.info, env.system)
})

/** Sends what the transcript says, or the messages that hooks left of it, to `model` first. */
export const run = function*(
  env: Env.Env,
  model: Model.Model["Service"],
  prompt: ReadonlyArray<Message.Message> | undefined
): Effect.fn.Return<Result, RunError.RunError> {
  const asked = makeAsked(env, model, prompt)
  const attempt = env.journal.state.attempts + 1
  const result = yield* ask(env, asked, attempt)
  return result._tag === "Settled" && !AttemptResult.saysNothing(result)
    ? settled(env, asked, attempt, result, false)
    : yield* tryAgain(env, asked, attempt, result)
}

/** Makes an attempt. */
const ask = function*(
  env: Env.Env,
  { messages, model }: Asked,
  attempt: number
): Effect.fn.Return<AttemptResult.AttemptResult> {
  const { journal, output, patience, sessionId, telemetry, tools } = env
  const { turn } = journal.state
  const metadata = { sessionId, runId: journal.runId, turn, attempt }
  const bare: Model.ModelRequest = { messages, tools, toolChoice: Offer.choiceOf(env), metadata }
  const request = output === undefined ? bare : { ...bare, output }
  const onLeftBehind = Effect.sync(() => {
    env.leftBehind.set(`model ${turn}.${attempt}`, { name: `model ${model.info.name}` })
  })
  const tried = Attempt.run(model, request, journal, patience, onLeftBehind)
  const result = yield* Chat.around(telemetry, model.info, request, tried)
  const broken = Chat.measure(telemetry, model.info, result)
  if (broken !== undefined) yield* broken
  return result
}

const settled = (
  { tools }: Env.Env,
  { model }: Asked,
  attempt: number,
  answer: AttemptResult.Settled,
  isEmpty: boolean
): Result => ({ ...answer, attempt, isEmpty, model: model.info, tools })

/** From a first attempt that failed or says nothing to one that counts, or to why there is none. */
const tryAgain = Effect.fnUntraced(function*(
  turnEnv: Env.Env,
  firstAsked: Asked,
  firstAttempt: number,
  firstResult: AttemptResult.AttemptResult
): Effect.fn.Return<Result, RunError.RunError> {
  const { journal } = turnEnv
  const { turn } = journal.state
  const policies = yield* RetryPolicy.RetryPolicy
  let env = turnEnv
  let asked = firstAsked
  let tries = Tries.make(policies, asked.model, firstAttempt - 1)
  let result = firstResult
  // behind tools that is an answer, and so it is said twice
  let mayBeEmpty = asked.messages[asked.messages.length - 1]?.role === "tool"

  for (let attempt = firstAttempt;; attempt++) {
    const verdict = yield* Tries.judge(tries, attempt, result, mayBeEmpty, journal)
    if (verdict._tag === "Counts") {
      return settled(env, asked, attempt, verdict.answer, AttemptResult.saysNothing(verdict.answer))
    }
    discard(env, asked, attempt, result, verdict)
    // the application's rule may throw: what the attempt cost is recorded by then
    const to = verdict._tag === "Failed" ? Tries.fallbackOf(asked.model, verdict.error) : undefined
    if (verdict._tag === "Failed" && to === undefined) {
      if (verdict.error.reason._tag === "ContextOverflow") return { _tag: "Overflow", error: verdict.final }
      journal.move("modelFailed")
      return yield* verdict.final
    }
    const limited = RunDecision.limitReached(journal.state, journal.now())
    if (limited !== undefined) return { _tag: "Limited", reason: limited }

    mayBeEmpty ||= result._tag === "Settled"
    if (verdict._tag === "Retry") {
      journal.move(result._tag === "Settled" ? "emptyAnswer" : "retryableError")
      yield* wait(journal, { turn, attempt, error: verdict.error.reason }, verdict.delay)
    } else if (to !== undefined) {
      const taken = yield* TakingOver.takeOver(env, asked.model, to)
      if (taken._tag === "Compact") return taken
      env = taken.env
      asked = makeAsked(env, to, taken.messages)
      tries = Tries.make(policies, asked.model, attempt)
    }
    result = yield* ask(env, asked, attempt + 1)
  }
})

/** Records what an attempt cost that does not count. */
const discard = (
  { journal, prices }: Env.Env,
  { model }: Asked,
  attempt: number,
  { duration, usage }: AttemptResult.AttemptResult,
  verdict: Exclude<Tries.Verdict, { _tag: "Counts" }>
): void =>
  journal.record({
    _tag: "AttemptDiscarded",
    turn: journal.state.turn,
    attempt,
    error: verdict.error.reason,
    usage: Prices.costed(prices, model.info, usage),
    model: CurrentModel.refOf(model),
    duration,
    ...(verdict._tag === "Retry" ? { delay: Duration.toMillis(verdict.delay.duration) } : {})
  })

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
