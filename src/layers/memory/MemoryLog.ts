/**
 * The log of one session in memory: the event objects themselves, not copied and not encoded.
 *
 * Does not own which sessions there are (`MemorySessions`), nor who may write to one (`MemoryWriter`).
 */
import * as Effect from "effect/Effect"
import * as EventMigrations from "../../run/log/EventMigrations.ts"
import * as Fork from "../../run/log/Fork.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as RunState from "../../run/RunState.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import * as SessionErrors from "../store/SessionErrors.ts"

/** What is stored of one session, and who holds it. */
export interface MemoryLog {
  /** as of its own `head`, when it was last asked for; see `infoOf` */
  info: SessionStore.SessionInfo
  readonly events: Array<RunEvent.Durable>
  writer: Writer | undefined
  /** the runs that a writer was asked to abort, until one comes that is after that */
  readonly toAbort: Set<string>
}

/** Its identity is the fence: only the log's current writer may append. */
export interface Writer {
  readonly runId: string
  /** what was asked of writers before it is dropped with its first append */
  isAfterAborts: boolean
  readonly onAbortAsked: SessionStore.OpenOptions["onAbortAsked"]
  readonly onSent: SessionStore.OpenOptions["onSent"]
  /** `seq` of the last event that it stored or found; another writer's later events are not its own */
  head: number
}

/** What `list` shows of a log. */
export const infoOf = (log: MemoryLog): SessionStore.SessionInfo => {
  while (log.info.head < log.events.length) {
    log.info = SessionStore.evolveInfo(log.info, log.events[log.info.head]!)
  }
  return log.info
}

/** The events from one number to another, or to the end, upgraded to this version. */
export const pageOf = (
  log: MemoryLog,
  steps: EventMigrations.Steps,
  from: number,
  to?: number
): Effect.Effect<Array<RunEvent.Durable>, SessionStore.StoreError> => {
  const events: Array<RunEvent.Durable> = []
  for (const stored of log.events.slice(from - 1, to)) {
    const event = EventMigrations.migrate(stored, steps)
    if (event === undefined) return Effect.fail(SessionErrors.unreadable(log.info.sessionId, stored))
    events.push(event)
  }
  return Effect.succeed(events)
}

/** Where a log is cut to be copied; fails where `at` is not such a place. */
export const placeIn = (log: MemoryLog, at: number | undefined): Effect.Effect<number, SessionStore.StoreError> => {
  const places = Fork.places(log.events)
  const place = places.findLast((seq) => at === undefined || !(seq > at))
  if (place !== undefined && (at === undefined || at === place)) return Effect.succeed(place)
  const next = places.find((seq) => at !== undefined && seq > at)
  const near = [place, next].filter((seq) => seq !== undefined)
  return Effect.fail(SessionErrors.noPlace(log.info.sessionId, at, near))
}

/** A new log that begins as `log` does; `read` is that beginning, upgraded to this version. */
export const copyOf = (log: MemoryLog, read: ReadonlyArray<RunEvent.Durable>, to: string, now: number): MemoryLog => {
  const closing = Fork.closing(read.reduce(RunState.evolve, RunState.empty), read[read.length - 1]!, now)
  const { parent: _, ...info } = [...read, ...closing].reduce(SessionStore.evolveInfo, SessionStore.newInfo(to, now))
  return {
    info: { ...info, updatedAt: now },
    events: [...log.events.slice(0, read.length), ...closing],
    writer: undefined,
    toAbort: new Set()
  }
}
