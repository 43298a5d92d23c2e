/**
 * Sessions in memory, for tests: the semantics of a database, gone with the layer.
 *
 * Does not own what is done with one log (`MemoryLog`).
 */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as RunEvent from "../run/RunEvent.ts"
import * as Tracing from "../services/fibers/Tracing.ts"
import { Migrations } from "../services/Migrations.ts"
import * as SessionStore from "../services/SessionStore.ts"
import * as MemoryLog from "./memory/MemoryLog.ts"
import * as SessionErrors from "./store/SessionErrors.ts"
import * as SessionSignals from "./store/SessionSignals.ts"

export const make: Effect.Effect<SessionStore.SessionStore["Service"]> = Effect.map(Migrations, (steps) => {
  const logs = new Map<string, MemoryLog.MemoryLog>()
  const signals = SessionSignals.make()

  /** Logs without events are held by a writer, and not there for anyone else. */
  const find = (sessionId: string): MemoryLog.MemoryLog | undefined => {
    const log = logs.get(sessionId)
    return log !== undefined && log.events.length > 0 ? log : undefined
  }

  const claim = (sessionId: string, options: SessionStore.OpenOptions, now: number) => {
    const badId = SessionErrors.checkIds(sessionId, options.runId)
    if (badId !== undefined) return Effect.fail(badId)
    if (!options.create && find(sessionId) === undefined) return Effect.fail(SessionErrors.notFound(sessionId))
    const log = logs.get(sessionId) ?? { info: SessionStore.newInfo(sessionId, now), events: [], writer: undefined }
    if (log.writer !== undefined && options.takeOver !== true) {
      return Effect.fail(SessionErrors.busy(sessionId, log.writer.runId))
    }
    const last = log.events.at(-1)
    if (last !== undefined && last.version > RunEvent.version) {
      return Effect.fail(SessionErrors.newerVersion(sessionId, last))
    }
    logs.set(sessionId, log)
    const writer: MemoryLog.Writer = { runId: options.runId }
    log.writer = writer
    return Effect.succeed({ log, writer })
  }

  const release = (sessionId: string, log: MemoryLog.MemoryLog, writer: MemoryLog.Writer) => {
    if (log.writer !== writer) return
    log.writer = undefined
    if (log.events.length === 0) logs.delete(sessionId)
  }

  const append = (
    log: MemoryLog.MemoryLog,
    writer: MemoryLog.Writer,
    events: Arr.NonEmptyReadonlyArray<RunEvent.Durable>
  ) => {
    const { sessionId } = log.info
    if (log.writer !== writer) return Effect.fail(SessionErrors.stale(sessionId))
    const gap = SessionErrors.checkSeq(log.events.length, events)
    if (gap !== undefined) return Effect.die(gap)
    const tooLarge = SessionErrors.tooLarge(events)
    if (tooLarge !== undefined) return Effect.fail(tooLarge)
    for (let i = 0; i < events.length; i++) log.events.push(events[i]!)
    signals.notify(sessionId)
    return Effect.void
  }

  const sessionOf = (sessionId: string, log: MemoryLog.MemoryLog, writer: MemoryLog.Writer): SessionStore.Session => ({
    sessionId,
    head: () => log.events.length,
    append: (events) => Effect.suspend(() => append(log, writer, events))
  })

  const take = (sessionId: string, options: SessionStore.OpenOptions, scope: Scope.Scope, now: number) =>
    Effect.flatMapEager(claim(sessionId, options, now), ({ log, writer }) => {
      // at once with the close: nobody waits for it
      const released = () => {
        release(sessionId, log, writer)
        return Effect.void
      }
      return Effect.as(Scope.addFinalizerExit(scope, released), sessionOf(sessionId, log, writer))
    })

  const open: SessionStore.SessionStore["Service"]["open"] = (sessionId, options) =>
    Effect.uninterruptible(Effect.withFiber((fiber) => {
      const scope = Context.getUnsafe(fiber.context, Scope.Scope)
      const now = fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
      const taken = () => take(sessionId, options, scope, now)
      return Tracing.isSeen(fiber) ? Effect.useSpan("SessionStore.open", taken) : taken()
    }))

  const read = (sessionId: string, range: { readonly from?: number; readonly to?: number } = {}) =>
    Stream.unwrap(Effect.suspend(() => {
      const log = find(sessionId)
      if (log === undefined) return Effect.fail(SessionErrors.notFound(sessionId))
      return Effect.map(MemoryLog.pageOf(log, steps, range.from ?? 1, range.to), Stream.fromArray)
    }))

  const lastOf = Effect.fn("SessionStore.lastOf")((sessionId: string, type: SessionStore.Landmark, runId?: string) =>
    Effect.sync(() => {
      const isIt = (event: RunEvent.Durable) => event._tag === type && (runId === undefined || event.runId === runId)
      return find(sessionId)?.events.findLast(isIt)?.seq
    })
  )

  const watch = (sessionId: string, from = 1) =>
    Stream.unwrap(Effect.map(signals.listen(sessionId), (latch) => {
      let next = from
      let log: MemoryLog.MemoryLog | undefined
      const pull: Pull = Effect.suspend(() => {
        latch.closeUnsafe()
        const found = find(sessionId)
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

  const list = Effect.fn("SessionStore.list")((options: ListOptions = {}) =>
    Effect.sync(() => {
      const { after, limit } = options
      const infos = Array.from(logs.values(), MemoryLog.infoOf).filter((info) => info.head > 0)
      const behind = infos.filter((info) => after === undefined || newestFirst(after, info) < 0)
      return behind.sort(newestFirst).slice(0, limit)
    })
  )

  const copy = (sessionId: string, { at, to }: SessionStore.ForkOptions, now: number) => {
    const badId = SessionErrors.checkIds(to)
    if (badId !== undefined) return Effect.fail(badId)
    const log = find(sessionId)
    if (log === undefined) return Effect.fail(SessionErrors.notFound(sessionId))
    // in one step: in between another could open `to`
    return Effect.flatMapEager(MemoryLog.placeIn(log, at), (place) => {
      if (find(to) !== undefined) return Effect.fail(SessionErrors.taken(to))
      const opener = logs.get(to)?.writer
      if (opener !== undefined) return Effect.fail(SessionErrors.busy(to, opener.runId))
      return Effect.mapEager(MemoryLog.pageOf(log, steps, 1, place), (events) => {
        const copied = MemoryLog.copyOf(log, events, to, now)
        logs.set(to, copied)
        signals.notify(to)
        return copied.info
      })
    })
  }

  const fork = Effect.fn("SessionStore.fork")((sessionId: string, options: SessionStore.ForkOptions) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => copy(sessionId, options, now))
  )

  const remove = Effect.fn("SessionStore.remove")((sessionId: string) =>
    Effect.suspend(() => {
      const log = find(sessionId)
      if (log === undefined) return Effect.fail(SessionErrors.notFound(sessionId))
      if (log.writer !== undefined) return Effect.fail(SessionErrors.busy(sessionId, log.writer.runId))
      logs.delete(sessionId)
      signals.notify(sessionId)
      return Effect.void
    })
  )

  return {
    open,
    read,
    lastOf,
    watch,
    list,
    info: (sessionId) =>
      Effect.sync(() => {
        const log = find(sessionId)
        return log && MemoryLog.infoOf(log)
      }),
    fork,
    remove
  }
})

export const layer: Layer.Layer<SessionStore.SessionStore> = Layer.effect(SessionStore.SessionStore, make)

type ListOptions = Parameters<SessionStore.SessionStore["Service"]["list"]>[0]
type Pull = Effect.Effect<Arr.NonEmptyReadonlyArray<RunEvent.Durable>, SessionStore.StoreError>

const newestFirst = (a: SessionStore.SessionInfo, b: SessionStore.SessionInfo): number =>
  b.updatedAt - a.updatedAt || (a.sessionId < b.sessionId ? 1 : a.sessionId > b.sessionId ? -1 : 0)
