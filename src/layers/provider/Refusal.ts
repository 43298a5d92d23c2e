/**
 * Handles servers that refuse calls which are sent in one way, and take them in another: such a call is sent once more, in the other
 * way, and so are all later calls where that helped.
 *
 * Does not own the ways, nor the words by which a refusal is recognised (`FormatRefusal`, `OrderRefusal`, `ReasoningRefusal`, `StandIns`).
 */
import type * as AiError from "effect/ai/AiError"
import * as Effect from "effect/Effect"

interface Options<Args> {
  /** Whether calls are sent in the other way from the start. */
  readonly isOther: boolean
  /** Whether the other way may help a call that was refused so. */
  readonly mayHelp: (refused: AiError.AiError, args: Args) => boolean
  /** What a call fails with that failed in the other way, too. Default: the later error. */
  readonly told?: ((refused: AiError.AiError, later: AiError.AiError) => AiError.AiError) | undefined
}

/** Sends calls in one way until the server refuses it but takes a call in the other; after that, always in the other. */
export const untilRefused = <Args extends ReadonlyArray<unknown>, A, R>(
  { isOther, mayHelp, told = (_, later) => later }: Options<Args>,
  send: (isOther: boolean, ...args: Args) => Effect.Effect<A, AiError.AiError, R>
) => {
  let hasHelped = isOther
  const helped = Effect.sync(() => {
    hasHelped = true
  })
  const otherwise = (refused: AiError.AiError, args: Args) =>
    send(true, ...args).pipe(Effect.tap(helped), Effect.mapError((later) => told(refused, later)))
  return (...args: Args): Effect.Effect<A, AiError.AiError, R> =>
    Effect.suspend(() =>
      hasHelped
        ? send(true, ...args)
        : Effect.catchIf(
          send(false, ...args),
          (error) => mayHelp(error, args),
          (refused) => otherwise(refused, args)
        )
    )
}
