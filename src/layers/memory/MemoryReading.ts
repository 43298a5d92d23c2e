/**
 * Logs in memory as streams: up to an end, or without end.
 *
 * Does not own what is in a log (`MemoryLog`), nor who wakes a watcher (`SessionSignals`).
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as EventMigrations from "../../run/log/EventMigrations.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Ranges from "../store/Ranges.ts"
import * as SessionErrors from "../store/SessionErrors.ts"
import type * as SessionSignals from "../store/SessionSignals.ts"
import * as MemoryLog from "./MemoryLog.ts"
import type { MemorySessions } from "./MemorySessions.ts"

type Events = Stream.Stream<RunEvent.Durable, SessionStore.StoreError>
type Pull = Effect.Effect<Arr.NonEmptyReadonlyArray<RunEvent.Durable>, SessionStore.StoreError>

/** A log between two places, as it is at the time of reading. */
export const read = (
  sessions: MemorySessions,
  steps: EventMigrations.Steps,
  sessionId: string,
  { from, to }: { readonly from?: number | undefined; readonly to?: number | undefined }
): Events =>
  Stream.unwrap(Effect.suspend(() => {
    const log = sessions.find(sessionId)
    if (log === undefined) return Effect.fail(SessionErrors.notFound(sessionId))
    return Effect.map(
      MemoryLog.pageOf(log, steps, Ranges.first(from), Ranges.last(to, log.events.length)),
      Stream.fromArray
    )
  }))

/** A log from a place on, followed by whatever is appended to it. */
export const watch = (
  sessions: MemorySessions,
  steps: EventMigrations.Steps,
  signals: SessionSignals.SessionSignals,
  sessionId: string,
  from?: number
): Events =>
  Stream.unwrap(Effect.map(signals.listen(sessionId), (latch) => {
    let next = Ranges.first(from)
    let log: MemoryLog.MemoryLog | undefined
    const pull: Pull = Effect.suspend(() => {
      latch.closeUnsafe()
      const found = sessions.find(sessionId)
      if (log !== undefined && found !== log) return Effect.fail(SessionErrors.notFound(sessionId))
      log = found
      const page = found === undefined ? Effect.succeed([]) : MemoryLog.pageOf(found, steps, next)
      return Effect.flatMap(page, (events) => {
        if (!Arr.isArrayNonEmpty(events)) return Effect.flatMap(latch.await, () => pull)
        next = events[events.length - 1]!.seq + 1
        return Effect.succeed(events)
      })
    })
    return Stream.fromPull(Effect.succeed(pull))
  }))
