/**
 * What a process has running: fibers, timers, sockets, servers, pipes and child processes, and listeners for signals of the
 * system and for `AbortSignal`s.
 *
 * Does not own what is compared with what; the test takes a census before and one after.
 */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type * as Scope from "effect/Scope"
import { getEventListeners } from "node:events"

export interface Counts {
  readonly fibers: number
  /** wall clock timers that were set during the census; those of the test's clock are fibers that sleep */
  readonly timers: number
  /** by kind, such as `TCPSocketWrap` */
  readonly resources: Readonly<Record<string, number>>
  readonly processListeners: Readonly<Record<string, number>>
  readonly abortListeners: number
}

export interface Census {
  readonly counts: () => Counts
  /** Returns once no more than this many fibers are alive; `false` after five seconds of wall clock time with more. */
  readonly fewer: (fibers: number) => Effect.Effect<boolean>
}

/** Counts what `self` starts. */
export const during = <A, E, R>(self: (census: Census) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.scoped(Effect.gen(function*() {
    // whoever runs the test has finished its own setup by then
    yield* Effect.yieldNow
    const { alive, fewer, metrics } = fibers()
    const timers = yield* timersSet
    const signals = yield* signalsListenedTo
    const counts = (): Counts => ({
      fibers: alive(),
      timers: timers.size,
      resources: tally(process.getActiveResourcesInfo().filter((kind) => kinds.has(kind))),
      processListeners: tally(
        process.eventNames().flatMap((name) => process.rawListeners(name).map(() => `${String(name)}`))
      ),
      abortListeners: [...signals].reduce((sum, signal) => sum + getEventListeners(signal, "abort").length, 0)
    })
    return yield* Effect.provideService(self({ counts, fewer }), Metric.FiberRuntimeMetrics, metrics)
  })) as Effect.Effect<A, E, R>

/** Timers are counted separately: those here also belong to whoever runs the test. */
const kinds = new Set([
  "TCPSocketWrap",
  "TCPServerWrap",
  "TLSWrap",
  "HTTPClientRequest",
  "HTTPINCOMINGMESSAGE",
  "PipeWrap",
  "PipeServerWrap",
  "ProcessWrap",
  "FSReqPromise",
  "FSReqCallback",
  "GetAddrInfoReqWrap"
])

const tally = (names: ReadonlyArray<string>): Record<string, number> => {
  const found: Record<string, number> = {}
  for (const name of names) found[name] = (found[name] ?? 0) + 1
  return found
}

const fibers = () => {
  let alive = 0
  const waiting = new Set<() => void>()
  const metrics: Metric.FiberRuntimeMetricsService = {
    recordFiberStart: () => void alive++,
    recordFiberEnd: () => {
      alive--
      for (const look of waiting) look()
    }
  }
  const { clearTimeout, setTimeout } = globalThis
  const fewer = (most: number) =>
    Effect.callback<boolean>((resume) => {
      const end = (isSo: boolean) => {
        waiting.delete(look)
        clearTimeout(timer)
        resume(Effect.succeed(isSo))
      }
      const look = () => alive <= most && end(true)
      const timer = setTimeout(() => end(false), 5_000)
      waiting.add(look)
      look()
    })
  return { alive: () => alive, fewer, metrics }
}

/** The timers under way that were set since; the test runner keeps its own way of setting them. */
const timersSet: Effect.Effect<ReadonlySet<unknown>, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => {
      const set = new Set<unknown>()
      const { clearInterval, clearTimeout, setInterval, setTimeout } = globalThis
      globalThis.setTimeout = ((f: (...args: Array<unknown>) => void, ...rest: [number, ...Array<unknown>]) => {
        const timer = setTimeout((...args: Array<unknown>) => {
          set.delete(timer)
          f(...args)
        }, ...rest)
        set.add(timer)
        return timer
      }) as typeof setTimeout
      globalThis.setInterval = ((...args: Parameters<typeof setInterval>) => {
        const timer = setInterval(...args)
        set.add(timer)
        return timer
      }) as typeof setInterval
      globalThis.clearTimeout = globalThis.clearInterval = (timer) => {
        set.delete(timer)
        clearTimeout(timer)
      }
      return { set, restore: () => Object.assign(globalThis, { clearInterval, clearTimeout, setInterval, setTimeout }) }
    }),
    ({ restore }) => Effect.sync(restore)
  ),
  ({ set }) => set
)

const signalsListenedTo: Effect.Effect<ReadonlySet<AbortSignal>, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => {
      const set = new Set<AbortSignal>()
      const { addEventListener } = EventTarget.prototype
      EventTarget.prototype.addEventListener = function(...args) {
        if (this instanceof AbortSignal) set.add(this)
        return addEventListener.apply(this, args)
      }
      return { set, restore: () => Object.assign(EventTarget.prototype, { addEventListener }) }
    }),
    ({ restore }) => Effect.sync(restore)
  ),
  ({ set }) => set
)
