/**
 * What an agent decides about its turns, and how a rule is asked: a plain answer is taken at once; an effect has the time limit of a
 * tool, and an abort does not wait for it. Whatever goes wrong ends the run: it never goes on as if the rule had not been asked.
 *
 * Does not own when a rule is asked, nor what follows from its answer (`StopConditions`, `Offer`).
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Foreign from "../../run/Foreign.ts"
import * as RunError from "../../run/RunError.ts"
import type * as PrepareTurn from "../../services/PrepareTurn.ts"
import type * as StopWhen from "../../services/StopWhen.ts"
import * as AppCode from "./AppCode.ts"
import type * as Env from "./Env.ts"

export interface Rules {
  readonly stopWhen?: StopWhen.Condition<StopWhen.Turn> | undefined
  readonly stopBefore?: StopWhen.Condition<StopWhen.Round> | undefined
  readonly prepareTurn?: PrepareTurn.PrepareTurn | undefined
}

/** What a rule says of `turn`; what is recorded is stored before a rule that answers with an effect is awaited. */
export const ask = function*<A>(
  env: Env.Env,
  rule: keyof Rules,
  turn: number,
  question: () => A | Effect.Effect<A, unknown>
): Effect.fn.Return<A, RunError.RunError> {
  const asked = attempt(question)
  if (asked._tag === "Threw") return yield* failed(rule, asked.error)
  const { answer } = asked
  if (!Foreign.isEffect(answer)) return answer
  yield* env.journal.commit
  return yield* inTime(env, rule, turn, answer)
}

const attempt = <A>(question: () => A) => {
  try {
    return { _tag: "Answered", answer: question() } as const
  } catch (error) {
    return { _tag: "Threw", error } as const
  }
}

const inTime = <A>(env: Env.Env, rule: keyof Rules, turn: number, answer: Effect.Effect<A, unknown>) => {
  const limit = env.timeouts.tool
  return AppCode.within(env, rule, `${turn}`, limit, answer).pipe(
    // a rule that interrupts itself is no abort; after an abort nothing is caught
    Effect.catchCause((cause) =>
      Effect.fail(
        Cause.hasInterruptsOnly(cause) ? blocked(rule, "it interrupted itself") : failed(rule, Cause.squash(cause))
      )
    ),
    Effect.flatMap(Option.match({
      onNone: () =>
        Effect.fail(
          blocked(rule, `it did not answer within ${Duration.toMillis(limit)} ms, the limit of timeouts.tool`)
        ),
      onSome: Effect.succeed
    }))
  )
}

const failed = (rule: keyof Rules, error: unknown): RunError.RunError =>
  Object.assign(blocked(rule, RunError.unsaid(error)), { cause: error })

/** The run cannot go on as the rule wants it to. */
export const blocked = (rule: keyof Rules, why: string): RunError.NonRetryableError =>
  new RunError.NonRetryableError({ _tag: "HookBlocked", hook: rule, message: `${rule} ended the run: ${why}` })
