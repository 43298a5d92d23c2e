/**
 * The settled model call of a turn: attempts until one counts, with backoff between them. Announces a delay before it
 * begins, and stores what a discarded attempt cost.
 *
 * Does not own one attempt (`Attempt`), nor what follows the answer (`Turn`).
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"
import * as Message from "../run/Message.ts"
import * as RunDecision from "../run/RunDecision.ts"
import * as RunError from "../run/RunError.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import * as Transcript from "../run/Transcript.ts"
import type * as Model from "../services/Model.ts"
import type * as RetryPolicy from "../services/RetryPolicy.ts"
import * as Attempt from "./Attempt.ts"
import * as Cost from "./Cost.ts"
import type * as Env from "./Env.ts"

export type Result =
  | Attempt.Settled & { readonly attempt: number; readonly isEmpty: boolean }
  | { readonly _tag: "Overflow"; readonly error: RunError.RunError }
  | { readonly _tag: "Limited"; readonly reason: RunEvent.LimitedReason }

/** Sends what the transcript says, or the messages that hooks left of it. */
export const run = Effect.fnUntraced(function*(
  env: Env.Env,
  prompt?: ReadonlyArray<Message.Message>
): Effect.fn.Return<Result, RunError.RunError> {
  const { journal } = env
  const { attempts, runId, turn } = journal.state()
  const messages = prompt ?? Transcript.messages(journal.transcript(), env.model.info, env.system)
  const backoff = makeBackoff(env.retry)
  const afterTools = messages[messages.length - 1]?.role === "tool"
  let hadEmpty = false

  for (let attempt = attempts + 1;; attempt++) {
    const result = yield* Attempt.run(
      env.model,
      {
        messages,
        tools: env.tools,
        toolChoice: choiceOf(env),
        ...(env.answer === undefined ? {} : { output: env.answer }),
        metadata: { sessionId: env.sessionId, runId: runId ?? "", turn, attempt }
      },
      journal,
      env.timeouts,
      Effect.sync(() => env.leftBehind.set(`model ${turn}.${attempt}`, { name: `model ${env.model.info.name}` }))
    )
    const isEmpty = result._tag === "Settled" && saysNothing(result)
    if (result._tag === "Settled" && (!isEmpty || afterTools || hadEmpty)) return { ...result, attempt, isEmpty }

    const error = result._tag === "Failed" ? result.error : emptyResponse
    const delay = error._tag === "RetryableError" ? yield* backoff(error.reason, journal.now()) : undefined
    if (delay === undefined && result._tag === "Settled") return { ...result, attempt, isEmpty }

    journal.record({
      _tag: "AttemptDiscarded",
      turn,
      attempt,
      error: error.reason,
      usage: Cost.of(env, result.usage)
    })
    if (error._tag === "NonRetryableError") {
      if (error.reason._tag === "ContextOverflow") return { _tag: "Overflow", error }
      journal.move("modelFailed")
      return yield* error
    }
    if (delay === undefined) {
      journal.move("modelFailed")
      return yield* retriesExhausted(error.reason, attempt - attempts)
    }
    const limited = RunDecision.limitReached(journal.state(), journal.now())
    if (limited !== undefined) return { _tag: "Limited", reason: limited }

    hadEmpty ||= isEmpty
    journal.move(isEmpty ? "emptyAnswer" : "retryableError")
    journal.emit({
      _tag: "RetryScheduled",
      turn,
      attempt,
      error: error.reason,
      delay: Duration.toMillis(delay.duration),
      source: delay.source
    })
    yield* journal.commit
    yield* Effect.sleep(delay.duration)
    journal.move("delayOver")
  }
})

/** A tool that hooks left out cannot be asked for. */
const choiceOf = ({ toolChoice, tools }: Env.Env): Model.ToolChoice => {
  if (tools.length === 0) return "none"
  return typeof toolChoice === "object" && !tools.some(({ name }) => name === toolChoice.tool) ? "auto" : toolChoice
}

const emptyResponse = new RunError.RetryableError<RunError.ProviderReason>({
  _tag: "EmptyResponse",
  message: "the model's answer was empty"
})

/** Nothing a reader or a tool could use, and no reason given for it. */
const saysNothing = (result: Attempt.Settled): boolean =>
  result.finishReason !== "length" && result.finishReason !== "content-filter" &&
  Message.isBlank(result.content)

interface Delay {
  readonly duration: Duration.Duration
  readonly source: "backoff" | "retryAfter"
}

/** The wait before the next try, or `undefined` when there is none: tries used up, or the provider asks for too long. */
const makeBackoff = (policy: RetryPolicy.RetryPolicy) => {
  let step:
    | ((now: number, reason: RunError.ProviderReason) => Pull.Pull<[unknown, Duration.Duration], never, unknown>)
    | undefined
  return Effect.fnUntraced(function*(
    reason: RunError.ProviderReason,
    now: number
  ): Effect.fn.Return<Delay | undefined> {
    step ??= yield* Schedule.toStep(policy.schedule)
    const next = yield* step(now, reason).pipe(Pull.catchDone(() => Effect.succeed(undefined)))
    if (next === undefined) return undefined
    const backoff = next[1]
    if (reason.retryAfter === undefined) return { duration: backoff, source: "backoff" }
    const asked = Duration.millis(reason.retryAfter)
    if (Duration.isGreaterThan(asked, policy.maxRetryAfter)) return undefined
    return Duration.isGreaterThan(asked, backoff)
      ? { duration: asked, source: "retryAfter" }
      : { duration: backoff, source: "backoff" }
  })
}

const retriesExhausted = (last: RunError.ProviderReason, attempts: number) =>
  new RunError.RetryableError<RunError.RunReason>({
    _tag: "RetriesExhausted",
    last,
    attempts,
    message: `the model call failed ${attempts === 1 ? "once" : `${attempts} times`}; last: ${last.message}`
  })
