/**
 * Wakes the watchers of a session in this process. Carries no events: a watcher reads the log from its own cursor, so it sees
 * each event once, in order, whatever is signalled.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"

export interface SessionSignals {
  /** Opens the latch of every watcher of the session. */
  readonly notify: (sessionId: string) => void
  /** Opens all latches. */
  readonly notifyAll: () => void
  /** A latch that opens when the session changes. Close it, then read, then wait for it: no change is missed. */
  readonly listen: (sessionId: string) => Effect.Effect<Latch.Latch, never, Scope.Scope>
  /** How long a watcher waits at most before it looks by itself, since other processes may not signal. */
  readonly pollEvery: () => Duration.Input
}

export const make = (): SessionSignals => {
  const latches = new Map<string, Set<Latch.Latch>>()
  const add = (sessionId: string) =>
    Effect.sync(() => {
      const latch = Latch.makeUnsafe(false)
      const set = latches.get(sessionId) ?? new Set()
      latches.set(sessionId, set.add(latch))
      return latch
    })
  const remove = (sessionId: string, latch: Latch.Latch) =>
    Effect.sync(() => {
      const set = latches.get(sessionId)
      if (set?.delete(latch) && set.size === 0) latches.delete(sessionId)
    })
  return {
    notify: (sessionId) => latches.get(sessionId)?.forEach((latch) => latch.openUnsafe()),
    notifyAll: () => latches.forEach((set) => set.forEach((latch) => latch.openUnsafe())),
    listen: (sessionId) => Effect.acquireRelease(add(sessionId), (latch) => remove(sessionId, latch)),
    pollEvery: () => "250 millis"
  }
}
