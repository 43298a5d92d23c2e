/**
 * The single writer of a session in memory: it claims the log, appends while it holds it, and gives it back.
 *
 * Does not own which sessions there are (`MemorySessions`), nor who hears of an append (`SessionSignals`).
 */
import type * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import * as RunEvent from "../../run/RunEvent.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import * as SessionErrors from "../store/SessionErrors.ts"
import type * as SessionSignals from "../store/SessionSignals.ts"
import * as MemoryLog from "./MemoryLog.ts"
import type { MemorySessions } from "./MemorySessions.ts"

type Signals = Pick<SessionSignals.SessionSignals, "notify">

/** Takes a session until the scope closes; a new session begins at `now`. */
export const open = (
  sessions: MemorySessions,
  signals: Signals,
  sessionId: string,
  options: SessionStore.OpenOptions,
  scope: Scope.Scope,
  now: number
): Effect.Effect<SessionStore.Session, SessionStore.StoreError> =>
  Effect.flatMapEager(claim(sessions, sessionId, options, now), ({ log, writer }) => {
    // synchronous with the close, so that nobody has to wait for it
    const released = () => {
      release(sessions, sessionId, log, writer)
      return Effect.void
    }
    return Effect.flatMapEager(
      Scope.addFinalizerExit(scope, released),
      () => Effect.as(hear(log, writer), sessionOf(signals, sessionId, log, writer))
    )
  })

/** Asks a new writer for the abort that writers before it were asked for, unless it comes after it or their run is over. */
const hear = (log: MemoryLog.MemoryLog, { isAfterAborts, onAbortAsked, runId }: MemoryLog.Writer) =>
  onAbortAsked !== undefined && !isAfterAborts && log.toAbort.has(runId) && mayGoOn(log)
    ? Effect.forkDetach(onAbortAsked, { startImmediately: true })
    : Effect.void

/** A new session has no run, and one that completed does not go on. */
const mayGoOn = (log: MemoryLog.MemoryLog): boolean => {
  const { end, head } = MemoryLog.infoOf(log)
  return head > 0 && end !== "RunCompleted"
}

const claim = (sessions: MemorySessions, sessionId: string, options: SessionStore.OpenOptions, now: number) => {
  const badId = SessionErrors.checkIds(sessionId, options.runId)
  if (badId !== undefined) return Effect.fail(badId)
  if (!options.create && sessions.find(sessionId) === undefined) return Effect.fail(SessionErrors.notFound(sessionId))
  const log = sessions.held(sessionId) ??
    { info: SessionStore.newInfo(sessionId, now), events: [], writer: undefined, toAbort: new Set() }
  if (log.writer !== undefined && options.takeOver !== true) {
    return Effect.fail(SessionErrors.busy(sessionId, log.writer.runId))
  }
  const last = log.events.at(-1)
  if (last !== undefined && last.version > RunEvent.version) {
    return Effect.fail(SessionErrors.newerVersion(sessionId, last))
  }
  sessions.put(sessionId, log)
  const { isAfterAborts = false, onAbortAsked, onSent, runId } = options
  const writer: MemoryLog.Writer = {
    runId,
    onAbortAsked,
    onSent,
    isAfterAborts: isAfterAborts && onAbortAsked !== undefined,
    head: log.events.length
  }
  log.writer = writer
  return Effect.succeed({ log, writer })
}

/** Does nothing once another writer has the log; removes a log without events. */
const release = (
  sessions: MemorySessions,
  sessionId: string,
  log: MemoryLog.MemoryLog,
  writer: MemoryLog.Writer
): void => {
  if (log.writer !== writer) return
  log.writer = undefined
  if (log.events.length === 0) sessions.delete(sessionId)
}

const sessionOf = (
  signals: Signals,
  sessionId: string,
  log: MemoryLog.MemoryLog,
  writer: MemoryLog.Writer
): SessionStore.Session => ({
  sessionId,
  head: () => writer.head,
  append: (events) => Effect.suspend(() => append(signals, log, writer, events))
})

const append = (
  signals: Signals,
  log: MemoryLog.MemoryLog,
  writer: MemoryLog.Writer,
  events: Arr.NonEmptyReadonlyArray<RunEvent.Durable>
): Effect.Effect<void, SessionStore.StoreError> => {
  const { sessionId } = log.info
  if (log.writer !== writer) return Effect.fail(SessionErrors.stale(sessionId))
  const misplaced = SessionErrors.checkPlaces(writer.head, events)
  if (misplaced !== undefined) return Effect.die(misplaced)
  const tooLarge = SessionErrors.tooLarge(events)
  if (tooLarge !== undefined) return Effect.fail(tooLarge)
  for (let i = 0; i < events.length; i++) log.events.push(events[i]!)
  writer.head = log.events.length
  if (writer.isAfterAborts) {
    writer.isAfterAborts = false
    log.toAbort.clear()
  }
  signals.notify(sessionId)
  return Effect.void
}
