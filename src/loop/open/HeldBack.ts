/**
 * Events that are to be stored together with what comes after them: those of one writer wait in memory until a second writer of
 * the same session has its first.
 *
 * Does not own what those events are (`Recovery`, `FirstEvent`).
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as Delegating from "../../services/Delegating.ts"
import type * as SessionStore from "../../services/SessionStore.ts"

type Events = Arr.NonEmptyReadonlyArray<RunEvent.Durable>

interface HeldBack {
  /** stores nothing: what it is given waits */
  readonly first: SessionStore.Session
  /** stores what waits with the first events that it is given, in one write */
  readonly second: SessionStore.Session
  /** Stores what waits now. */
  readonly flush: Effect.Effect<void, SessionStore.StoreError>
}

/** `onStored` gets what waited once it is stored. */
export const make = (session: SessionStore.Session, onStored: (events: Events) => void): HeldBack => {
  const held: Array<RunEvent.Durable> = []
  const append = (events: ReadonlyArray<RunEvent.Durable>) =>
    Effect.suspend(() => {
      const waiting = held.filter((event) => event.seq > session.head())
      const all = [...waiting, ...events]
      if (!Arr.isReadonlyArrayNonEmpty(all)) return Effect.void
      const appended = session.append(all)
      if (!Arr.isReadonlyArrayNonEmpty(waiting)) return appended
      // the store may hold events although it reported a failure
      const tell = Effect.sync(() => {
        if (session.head() >= Arr.lastNonEmpty(waiting).seq) onStored(waiting)
      })
      return Effect.onExit(appended, () => tell)
    })
  return {
    first: Delegating.to(session, { append: (events) => Effect.sync(() => void held.push(...events)) }),
    second: Delegating.to(session, { append }),
    flush: append([])
  }
}
