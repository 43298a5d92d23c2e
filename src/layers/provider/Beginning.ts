/**
 * Waits until an answer begins, so that an error which comes in the place of its first parts fails the call, as one with a status
 * does: servers and gateways may say that all is well before they know what they answer.
 *
 * Does not own the call, nor what becomes of its failure (`Refusal`).
 */
import type * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

type Parts<A, E> = Pull.Pull<Arr.NonEmptyReadonlyArray<A>, E>

/** What a pull brings first, as a pull of it; fails where the pull does. */
const firstOf = <A, E>(pull: Parts<A, E>): Effect.Effect<Parts<A, never>, E> =>
  Pull.matchEffect(pull, {
    onSuccess: (parts) => Effect.succeed(Effect.succeed(parts)),
    onDone: () => Effect.succeed(Cause.done()),
    onFailure: Effect.failCause
  })

/** The whole of a stream that was pulled once. */
const from = <A, E>(first: Parts<A, never>, rest: Parts<A, E>): Stream.Stream<A, E> => {
  let next: Parts<A, E> = first
  return Stream.fromPull(Effect.succeed(Effect.suspend(() => {
    const now = next
    next = rest
    return now
  })))
}

/**
 * The stream that `open` gives, once its first parts have come. A failure before them is that of the call, and what the call acquired
 * is released with it.
 */
export const awaited = Effect.fnUntraced(function*<A, E>(
  open: Effect.Effect<Stream.Stream<A, E>, E, Scope.Scope>
): Effect.fn.Return<Stream.Stream<A, E>, E, Scope.Scope> {
  const scope = yield* Scope.fork(yield* Effect.scope)
  const begin = Effect.gen(function*() {
    const rest = yield* Channel.toPullScoped(Stream.toChannel(yield* open), scope)
    return from(yield* firstOf(rest), rest)
  })
  return yield* begin.pipe(
    Scope.provide(scope),
    Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
  )
})
