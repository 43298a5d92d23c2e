/**
 * The settled model call of a turn: attempts until one counts, with backoff between them, at the model whose turn it is
 * and then at those behind it. Announces a delay before it begins, and stores what a discarded attempt cost.
 *
 * Does not own one attempt (`Attempt`), nor what follows the answer (`Turn`).
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Message from "../../run/Message.ts"
import * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as RunDecision from "../../run/state/RunDecision.ts"
import * as Transcript from "../../run/Transcript.ts"
import type * as ContextManager from "../../services/ContextManager.ts"
import type * as Model from "../../services/Model.ts"
import * as Prices from "../../services/Prices.ts"
import * as RetryPolicy from "../../services/RetryPolicy.ts"
import type * as Env from "../drive/Env.ts"
import type * as Journal from "../log/Journal.ts"
import * as Chat from "../observe/Chat.ts"
import * as Attempt from "./Attempt.ts"
import * as Backoff from "./Backoff.ts"
import * as CurrentModel from "./CurrentModel.ts"
import * as ModelHooks from "./ModelHooks.ts"
import * as Sizing from "./Sizing.ts"

export type Result =
  | Attempt.Settled & Settled
  | { readonly _tag: "Overflow"; readonly error: RunError.RunError }
  /** a model took over whose window is too small; it was not asked */
  | { readonly _tag: "Compact"; readonly request: ContextManager.Request }
  | { readonly _tag: "Limited"; readonly reason: RunEvent.LimitedReason }

/** Who answered, at which attempt, and what tools it was offered. */
interface Settled {
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
  messages?: ReadonlyArray<Message.Message>
): Asked => ({
  model,
  messages: messages ?? Transcript.messages(env.journal.transcript, model.info, env.system)
})

/** The tries at one model, by its policy. */
interface Tries extends Asked {
  readonly policy: RetryPolicy.RetryPolicy
  readonly backoff: Backoff.Backoff
  /** the number of the attempt before its first */
  readonly after: number
}

const makeTries = ({ retry }: Env.Env, { messages, model }: Asked, after: number): Tries => {
  const policy = RetryPolicy.of(retry, model.info)
  return { model, messages, policy, backoff: Backoff.make(policy, retry), after }
}

/** Sends what the transcript says, or the messages that hooks left of it. */
export const run = function*(
  env: Env.Env,
  prompt?: ReadonlyArray<Message.Message>
): Effect.fn.Return<Result, RunError.RunError> {
  const { attempts } = env.journal.state
  const asked = makeAsked(env, CurrentModel.of(env), prompt)
  const attempt = attempts + 1
  const result = yield* ask(env, asked, attempt)
  return result._tag === "Settled" && !saysNothing(result)
    ? { ...result, attempt, isEmpty: false, model: asked.model.info, tools: env.tools }
    : yield* tryAgain(env, asked, attempt, result)
}

/** From a first attempt that failed or says nothing to one that counts, or to why there is none. */
const tryAgain = Effect.fnUntraced(function*(
  turnEnv: Env.Env,
  asked: Asked,
  firstAttempt: number,
  firstResult: Attempt.Settled | Attempt.Failed
): Effect.fn.Return<Result, RunError.RunError> {
  const { journal } = turnEnv
  const { turn } = journal.state
  let env = turnEnv
  let tries = makeTries(env, asked, firstAttempt - 1)
  let result = firstResult
  const afterTools = tries.messages[tries.messages.length - 1]?.role === "tool"
  let hadEmpty = false

  for (let attempt = firstAttempt;; attempt++) {
    const { model } = tries
    const isEmpty = result._tag === "Settled" && saysNothing(result)
    if (result._tag === "Settled" && (!isEmpty || afterTools || hadEmpty)) {
      return { ...result, attempt, isEmpty, model: model.info, tools: env.tools }
    }

    const error = result._tag === "Settled" ? emptyResponse : classified(tries, result.error)
    const next = error._tag === "RetryableError"
      ? yield* tries.backoff(error.reason, journal, result.duration)
      : Backoff.none
    const delay = next._tag === "Delay" ? next : undefined
    if (delay === undefined && result._tag === "Settled") {
      return { ...result, attempt, isEmpty, model: model.info, tools: env.tools }
    }

    journal.record({
      _tag: "AttemptDiscarded",
      turn,
      attempt,
      error: error.reason,
      usage: Prices.costed(env.prices, model.info, result.usage),
      model: refOf(model),
      duration: result.duration,
      ...(delay === undefined ? {} : { delay: Duration.toMillis(delay.duration) })
    })
    if (error.reason._tag === "ContextOverflow") {
      return { _tag: "Overflow", error: finalOf(error, attempt - tries.after) }
    }
    const fallback = delay === undefined ? fallbackOf(model, error) : undefined
    if (next._tag === "None" && fallback === undefined) {
      journal.move("modelFailed")
      return yield* finalOf(error, attempt - tries.after, next.why)
    }
    const limited = RunDecision.limitReached(journal.state, journal.now())
    if (limited !== undefined) return { _tag: "Limited", reason: limited }

    hadEmpty ||= isEmpty
    if (fallback !== undefined) {
      journal.record({ _tag: "ModelSwitched", turn, from: refOf(model), to: refOf(fallback) })
      journal.move("modelSwitched")
      yield* journal.commit
      const again = env.hooks.at.beforeModelCall.length > 0 ? yield* ModelHooks.before(env) : undefined
      if (again !== undefined && again.offer.tools.length < env.tools.length) {
        env = { ...env, ...again.offer }
        restartTurn(env, turn, refOf(fallback))
        yield* journal.commit
      }
      // its window may be smaller
      const plan = env.context.plan(Sizing.view(env, undefined, again?.messages))
      if (plan._tag === "Compact") return plan
      tries = makeTries(env, makeAsked(env, fallback, again?.messages), attempt)
    } else if (delay !== undefined && error._tag === "RetryableError") {
      journal.move(isEmpty ? "emptyAnswer" : "retryableError")
      yield* wait(journal, { turn, attempt, error: error.reason }, delay)
    }
    result = yield* ask(env, tries, attempt + 1)
  }
})

/** What hooks leave out for the model that takes over is left out of the turn, also for a drive that takes it up. */
const restartTurn = ({ inputDigest, journal, tools }: Env.Env, turn: number, model: Message.ModelRef): void =>
  journal.record({
    _tag: "TurnStarted",
    turn,
    model,
    promptSeq: journal.state.seq,
    inputDigest,
    tools: tools.map(({ name }) => name)
  })

/** A tool that hooks left out cannot be asked for. */
const choiceOf = ({ toolChoice, tools }: Env.Env): Model.ToolChoice => {
  if (tools.length === 0) return "none"
  return typeof toolChoice === "object" && !tools.some(({ name }) => name === toolChoice.tool) ? "auto" : toolChoice
}

/** Makes an attempt. */
const ask = function*(
  env: Env.Env,
  { messages, model }: Asked,
  attempt: number
): Effect.fn.Return<Attempt.Settled | Attempt.Failed> {
  const { answer, journal, patience, sessionId, tools } = env
  const { runId, turn } = journal.state
  const metadata = { sessionId, runId: runId ?? "", turn, attempt }
  const bare: Model.ModelRequest = { messages, tools, toolChoice: choiceOf(env), metadata }
  const request = answer === undefined ? bare : { ...bare, output: answer }
  const onLeak = Effect.sync(() => env.leftBehind.set(`model ${turn}.${attempt}`, { name: `model ${model.info.name}` }))
  const result = yield* Chat.around(env, model, request, Attempt.run(model, request, journal, patience, onLeak))
  const broken = Chat.measure(env, model, result)
  if (broken !== undefined) yield* broken
  return result
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

const refOf = ({ info: { name, provider } }: Model.Model["Service"]): Message.ModelRef => ({ provider, name })

type Failure = Attempt.Failed["error"]

const isOfModel = (error: Failure): error is RunError.ModelError => error.reason._tag !== "EventTooLarge"

const classified = ({ model, policy }: Tries, error: Failure): Failure =>
  isOfModel(error) ? policy.classify(error, model.info) : error

/** Who is asked instead, where a failure that is final is a reason to. */
const fallbackOf = ({ fallback }: Model.Model["Service"], error: Failure): Model.Model["Service"] | undefined =>
  fallback !== undefined && isOfModel(error) && fallback.when(error) ? fallback.to : undefined

/** What a run fails with: a reason of a provider was tried again, and is not retryable any more. */
const finalOf = (error: Failure, attempts: number, why = ""): RunError.RunError =>
  error._tag === "RetryableError" ? retriesExhausted(error.reason, attempts, why) : error

const emptyResponse = new RunError.RetryableError<RunError.ProviderReason>({
  _tag: "EmptyResponse",
  message: "the model's answer was empty"
})

/** Nothing a reader or a tool could use, and no reason given for it. */
const saysNothing = (result: Attempt.Settled): boolean =>
  result.finishReason !== "length" && result.finishReason !== "content-filter" &&
  Message.isBlank(result.content)

const retriesExhausted = (last: RunError.ProviderReason, attempts: number, why: string) =>
  new RunError.RetryableError<RunError.RunReason>({
    _tag: "RetriesExhausted",
    last,
    attempts,
    message: `the model call failed ${attempts === 1 ? "once" : `${attempts} times`}${why}; last: ${last.message}`
  })
