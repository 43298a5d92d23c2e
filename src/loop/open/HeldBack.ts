/**
 * What is to be stored together with what comes behind it: the events of one writer wait in memory until another one of
 * the same session has its first.
 *
 * Does not own what those events are (`Recovery`, `FirstEvent`).
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as SessionStore from "../../services/SessionStore.ts"

interface HeldBack {
  /** stores nothing: what it is given waits */
  readonly first: SessionStore.Session
  /** stores what waits with the first events that it is given, in one write */
  readonly second: SessionStore.Session
  /** Stores what waits now. */
  readonly flush: Effect.Effect<void, SessionStore.StoreError>
}

export const make = (session: SessionStore.Session): HeldBack => {
  const held: Array<RunEvent.Durable> = []
  const append = (events: ReadonlyArray<RunEvent.Durable>) =>
    Effect.suspend(() => {
      const waiting = held.filter((event) => event.seq > session.head())
      const all = [...waiting, ...events]
      return Arr.isReadonlyArrayNonEmpty(all) ? session.append(all) : Effect.void
    })
  return {
    first: { ...session, append: (events) => Effect.sync(() => void held.push(...events)) },
    second: { ...session, append },
    flush: append([])
  }
}
