/**
 * What the application says of a dead drive's calls, where an abort that this had accepted is all that follows. Another abort does not
 * cut that off; from then on it does not wait for a store that hangs, longer than the grace period.
 *
 * Does not own how an abort waits (`Live`), nor what is stored (`open/AfterCrash`).
 */
import * as Effect from "effect/Effect"
import * as Detached from "../../services/fibers/Detached.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Live from "./Live.ts"

type Asking = Effect.Effect<void, SessionStore.StoreError>

export const around = (live: Live.Live) => (asking: Asking): Asking =>
  Effect.suspend(() => {
    live.closing = "asking"
    return Effect.map(asking, () => {
      live.closing = "storing"
      if (live.abortDue !== undefined) Detached.startHere(live.abortAsked())
    })
  })
