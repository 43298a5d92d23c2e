/**
 * Copies sessions in memory, in one step, because between two steps another could open the copy's id.
 *
 * Does not own where a log may be cut, nor what the copy then contains (`MemoryLog`).
 */
import * as Effect from "effect/Effect"
import type * as EventMigrations from "../../run/log/EventMigrations.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as SessionErrors from "../store/SessionErrors.ts"
import * as MemoryLog from "./MemoryLog.ts"
import type { MemorySessions } from "./MemorySessions.ts"

export const fork = (
  sessions: MemorySessions,
  steps: EventMigrations.Steps,
  sessionId: string,
  { at, to }: SessionStore.ForkOptions,
  now: number
): Effect.Effect<SessionStore.SessionInfo, SessionStore.StoreError> => {
  const badId = SessionErrors.checkIds(to)
  if (badId !== undefined) return Effect.fail(badId)
  const log = sessions.find(sessionId)
  if (log === undefined) return Effect.fail(SessionErrors.notFound(sessionId))
  return Effect.flatMapEager(MemoryLog.placeIn(log, at), (place) => {
    if (sessions.find(to) !== undefined) return Effect.fail(SessionErrors.taken(to))
    const opener = sessions.held(to)?.writer
    if (opener !== undefined) return Effect.fail(SessionErrors.busy(to, opener.runId))
    return Effect.mapEager(MemoryLog.pageOf(log, steps, 1, place), (events) => {
      const copied = MemoryLog.copyOf(log, events, to, now)
      sessions.put(to, copied)
      return copied.info
    })
  })
}
