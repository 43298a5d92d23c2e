/**
 * What comes with a yes, as the log keeps it: arguments that the tool takes, or a result that it might have returned, of a size
 * that an event holds.
 *
 * Does not own the rest of an answer (`Answering`), nor what its call does with it (`Judging`).
 */
import * as Effect from "effect/Effect"
import type { Json } from "effect/Schema"
import type * as Approval from "../../run/Approval.ts"
import * as Frozen from "../../run/Frozen.ts"
import * as InputCheck from "../../run/InputCheck.ts"
import * as RunError from "../../run/RunError.ts"
import type * as Env from "../env/Env.ts"
import * as TooLarge from "../log/TooLarge.ts"

export type Kit = Pick<Env.Env, "executor" | "handlers">
export type Given = Pick<Approval.Answer, "params" | "result" | "content" | "originalSize">

export const nothing: Effect.Effect<Given> = Effect.succeed({})

/** Fails with `InvalidInput` where it does not fit the tool, and with `EventTooLarge` where no event holds it. */
export const of = (
  kit: Kit,
  tool: string,
  { params, result }: Pick<Given, "params" | "result">
): Effect.Effect<Given, RunError.NonRetryableError> => {
  if (result === undefined) return params === undefined ? nothing : edited(kit, tool, params)
  return params === undefined
    ? answered(kit, tool, result)
    : Effect.fail(
      RunError.invalidInput(
        "result",
        "result cannot be combined with params: with a result, nothing runs; leave one of them out"
      )
    )
}

const edited = Effect.fnUntraced(function*(
  { executor, handlers }: Kit,
  tool: string,
  said: Json
): Effect.fn.Return<Given, RunError.NonRetryableError> {
  const params = yield* json("params", said)
  const problem = yield* executor.problemOf(handlers, tool, params)
  return problem === undefined
    ? { params }
    : yield* RunError.invalidInput("params", `params do not fit the tool "${tool}": ${problem}`)
})

/** The result as its call is settled with it: a schema may add to what was given. */
const answered = Effect.fnUntraced(function*(
  { executor, handlers }: Kit,
  tool: string,
  said: Json
): Effect.fn.Return<Given, RunError.NonRetryableError> {
  const given = yield* Effect.mapError(
    executor.answeredWith(handlers, tool, yield* json("result", said)),
    (problem) => RunError.invalidInput("result", `result does not fit the tool "${tool}": ${problem}`)
  )
  const tooLarge = TooLarge.of("result", given)
  return tooLarge === undefined ? Frozen.copy(given) : yield* tooLarge
})

const json = Effect.fnUntraced(function*(
  field: string,
  said: Json
): Effect.fn.Return<Json, RunError.NonRetryableError> {
  const plain = yield* Effect.fromResult(InputCheck.json(field, said))
  const tooLarge = TooLarge.of(field, plain)
  return tooLarge === undefined ? plain : yield* tooLarge
})
