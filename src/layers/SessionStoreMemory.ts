/**
 * Sessions in memory, for tests: they behave as in a database and are gone with the layer.
 *
 * Does not own who writes a log (`MemoryWriter`), how it is read (`MemoryReading`) or copied (`MemoryFork`), nor which sessions
 * there are (`MemorySessions`).
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type * as RunEvent from "../run/RunEvent.ts"
import * as TimeOfDay from "../services/fibers/TimeOfDay.ts"
import * as Tracing from "../services/fibers/Tracing.ts"
import { Migrations } from "../services/Migrations.ts"
import * as SessionStore from "../services/SessionStore.ts"
import * as MemoryFork from "./memory/MemoryFork.ts"
import * as MemoryLog from "./memory/MemoryLog.ts"
import * as MemoryReading from "./memory/MemoryReading.ts"
import { MemorySessions } from "./memory/MemorySessions.ts"
import * as MemoryWriter from "./memory/MemoryWriter.ts"
import * as SessionErrors from "./store/SessionErrors.ts"
import * as SessionSignals from "./store/SessionSignals.ts"

/** An empty store, which is gone with what refers to it. */
export const make: Effect.Effect<SessionStore.Store> = Effect.map(Migrations, (steps) => {
  const sessions = new MemorySessions()
  const signals = SessionSignals.make()

  const open: SessionStore.Store["open"] = (sessionId, options) =>
    Effect.uninterruptible(Effect.withFiber((fiber) => {
      const scope = Context.getUnsafe(fiber.context, Scope.Scope)
      const now = TimeOfDay.of(fiber.getRef(Clock.Clock))
      const opened = () => MemoryWriter.open(sessions, signals, sessionId, options, scope, now)
      return Tracing.isSeen(fiber) ? Effect.useSpan("SessionStore.open", opened) : opened()
    }))

  const lastOf: SessionStore.Store["lastOf"] = (sessionId, type, runId) =>
    Tracing.around("SessionStore.lastOf", () => {
      const isIt = (event: RunEvent.Durable) => event._tag === type && (runId === undefined || event.runId === runId)
      return Effect.succeed(sessions.find(sessionId)?.events.findLast(isIt)?.seq)
    })

  const list: SessionStore.Store["list"] = (options = {}) =>
    Tracing.around("SessionStore.list", () => Effect.sync(() => sessions.list(options)))

  const fork: SessionStore.Store["fork"] = (sessionId, options) =>
    Tracing.around("SessionStore.fork", () =>
      Effect.flatMap(
        TimeOfDay.now,
        (now) =>
          Effect.mapEager(MemoryFork.fork(sessions, steps, sessionId, options, now), (info) => {
            signals.notify(info.sessionId)
            return info
          })
      ))

  const remove: SessionStore.Store["remove"] = (sessionId) =>
    Tracing.around("SessionStore.remove", () => {
      const log = sessions.find(sessionId)
      if (log === undefined) return Effect.fail(SessionErrors.notFound(sessionId))
      if (log.writer !== undefined) return Effect.fail(SessionErrors.busy(sessionId, log.writer.runId))
      sessions.delete(sessionId)
      signals.notify(sessionId)
      return Effect.void
    })

  return {
    open,
    read: (sessionId, range = {}) => MemoryReading.read(sessions, steps, sessionId, range),
    lastOf,
    watch: (sessionId, from) => MemoryReading.watch(sessions, steps, signals, sessionId, from),
    list,
    info: (sessionId) =>
      Tracing.around("SessionStore.info", () => {
        const log = sessions.find(sessionId)
        return Effect.succeed(log && MemoryLog.infoOf(log))
      }),
    fork,
    remove,
    askToAbort: (sessionId, runId) =>
      Tracing.around("SessionStore.askToAbort", () => {
        const log = sessions.held(sessionId)
        const writer = log?.writer
        if (log === undefined || writer?.runId !== runId || writer.onAbortAsked === undefined) {
          return Effect.succeed(false)
        }
        log.toAbort.add(runId)
        // it has been asked itself now
        writer.isAfterAborts = false
        return Effect.as(Effect.forkDetach(writer.onAbortAsked, { startImmediately: true }), true)
      }),
    send: (sessionId, runId, sent) =>
      Tracing.around("SessionStore.send", () => {
        const badId = SessionErrors.checkIds(sessionId, runId)
        if (badId !== undefined) return Effect.fail(badId)
        const writer = sessions.held(sessionId)?.writer
        if (writer === undefined) return Effect.succeed(false)
        if (writer.runId !== runId || writer.onSent === undefined) {
          return Effect.fail(SessionErrors.busy(sessionId, writer.runId))
        }
        return Effect.as(Effect.forkDetach(writer.onSent(sent), { startImmediately: true }), true)
      })
  }
})

/** An empty store for each build of the layer. */
export const layer: Layer.Layer<SessionStore.SessionStore> = Layer.effect(SessionStore.SessionStore, make)
