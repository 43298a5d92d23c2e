/**
 * A stream of something that is opened with the first pull, and closed when its reader leaves.
 *
 * Does not own what is read (`Feed`), nor what follows when a reader leaves (`Started`).
 */
import type * as Arr from "effect/Array"
import * as Channel from "effect/Channel"
import * as Effect from "effect/Effect"
import type * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

interface Reading<R, A, E> {
  /** Uninterruptible; `close` is registered right after it. */
  readonly open: Effect.Effect<R, E>
  readonly close: (opened: R) => Effect.Effect<void>
  /** How it is read; what that acquires in the scope is released before `close`. */
  readonly pull: (opened: R, scope: Scope.Scope) => Effect.Effect<Pull.Pull<Arr.NonEmptyReadonlyArray<A>, E>>
}

/** `open`, `close` and the pull take nothing from their reader's context but what they ask for when they run. */
export const stream = <R, A, E>(reading: Reading<R, A, E>): Stream.Stream<A, E> =>
  Stream.fromChannel(Channel.fromTransform((_: Pull.Pull<unknown, unknown, unknown>, scope) => {
    const now: Now<A, E> = { pull: Effect.suspend(() => begin(reading, scope, now)) }
    return Effect.succeed(pullOf(now))
  }))

/** What the next pull is. */
interface Now<A, E> {
  pull: Pull.Pull<Arr.NonEmptyReadonlyArray<A>, E>
}

/** Holds nothing of what it was opened with: a reader that waits may wait for a long time. */
const pullOf = <A, E>(now: Now<A, E>): Now<A, E>["pull"] => Effect.suspend(() => now.pull)

const begin = <R, A, E>({ close, open, pull }: Reading<R, A, E>, scope: Scope.Scope, now: Now<A, E>) => {
  const opened = Effect.flatMap(open, (opened) => Effect.as(Scope.addFinalizer(scope, closing(close, opened)), opened))
  return Effect.flatMap(
    Effect.uninterruptible(opened),
    (opened) => Effect.flatMapEager(pull(opened, scope), (pull) => now.pull = pull)
  )
}

const closing = <R>(close: (opened: R) => Effect.Effect<void>, opened: R) => Effect.suspend(() => close(opened))
