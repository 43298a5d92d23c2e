/**
 * What a store writes, in words: the operations that last. Sweeps put something around them.
 *
 * Does not own what that is (`CrashPoints`, `StoreFaults`).
 */
import type * as Effect from "effect/Effect"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as SessionStore from "../../services/SessionStore.ts"

/** Puts something around an operation; `what` says which one it is. */
export type Around = <A, R>(
  what: string,
  self: Effect.Effect<A, SessionStore.StoreError, R>
) => Effect.Effect<A, SessionStore.StoreError, R>

export const opening = "opening the session"

export const storing = (events: ReadonlyArray<RunEvent.Durable>): string =>
  `storing ${events.map(({ _tag }) => _tag).join(", ")}`

type Outside = Pick<SessionStore.Store, "fork" | "remove" | "askToAbort" | "send">

/** Those outside a session, each with `around`. What the store lacks stays lacking. */
export const outside = (store: SessionStore.Store, around: Around): Outside => ({
  fork: (sessionId, options) => around("forking", store.fork(sessionId, options)),
  remove: (sessionId) => around("removing", store.remove(sessionId)),
  ...(store.askToAbort === undefined ? {} : { askToAbort: asking(store, around) }),
  ...(store.send === undefined ? {} : { send: sending(store, around) })
})

const asking = (store: SessionStore.Store, around: Around): NonNullable<Outside["askToAbort"]> => (sessionId, runId) =>
  around("asking for an abort", store.askToAbort!(sessionId, runId))

const sending = (store: SessionStore.Store, around: Around): NonNullable<Outside["send"]> => (sessionId, runId, sent) =>
  around("sending", store.send!(sessionId, runId, sent))
