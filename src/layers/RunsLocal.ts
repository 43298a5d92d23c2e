/**
 * The live runs of this process, in memory: at most one per session.
 *
 * Does not own who may write to a session that other processes share; that is its store.
 */
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as RunError from "../run/RunError.ts"
import * as Detached from "../services/fibers/Detached.ts"
import * as Runs from "../services/Runs.ts"

interface Entry {
  readonly run: Runs.LiveRun
  /** set while somebody waits for it */
  forgotten: Deferred.Deferred<void> | undefined
}

/**
 * Runs that live in the scope: closing it shuts them down, and starts no more (`ShuttingDown`). What the scope gets after the first run
 * is released before them.
 */
export const make: Effect.Effect<Runs.Runs["Service"], never, Scope.Scope> = Effect.gen(function*() {
  const scope = yield* Effect.scope
  const isClosed = () => scope.state._tag === "Closed"
  const live = new Map<string, Entry>()
  const drives = new Set<Fiber.Fiber<void>>()
  let isHeld = false

  /**
   * Holds the scope open for drives, from the first one on, so that what it got before is released after them. They end at once, so that
   * none goes on while others do, and in the order in which they began: as a rule, a run before those that work for its calls.
   */
  const hold = Effect.suspend(() =>
    isHeld
      ? Effect.void
      // only then: others may start runs before it is added
      : Effect.map(Scope.addFinalizer(scope, Fiber.interruptAll(drives)), () => {
        isHeld = true
      })
  )

  const start: Runs.Runs["Service"]["start"] = (run, drive) => Effect.andThen(hold, begin(run, drive))

  const begin: Runs.Runs["Service"]["start"] = (run, drive) =>
    Effect.contextWith((context: Context.Context<never>) => {
      const known = live.get(run.sessionId)
      if (known?.run.isOver() === true) return Effect.andThen(forgotten(known), start(run, drive))
      if (known?.run.runId === run.runId) return Effect.succeed(known.run)
      if (known !== undefined) return Effect.fail(RunError.sessionBusy(run.sessionId, known.run.runId))
      if (isClosed()) return Effect.fail(RunError.shuttingDown)
      const entry: Entry = { run, forgotten: undefined }
      live.set(run.sessionId, entry)
      const forget = forgetting(live, entry)
      // a fiber that is interrupted before its first step would never say how the run ended
      const driving = Detached.start(drive(Effect.sync(forget)), context, { uninterruptible: true })
      drives.add(driving)
      driving.addObserver(whenOver(drives, driving, forget))
      // its first step may have closed the layer
      if (isClosed()) driving.interruptUnsafe()
      return Effect.succeed(run)
    })

  const inSession: Runs.Runs["Service"]["inSession"] = (sessionId) =>
    Effect.suspend(() => {
      const known = live.get(sessionId)
      return known?.run.isOver() === true
        ? Effect.andThen(forgotten(known), inSession(sessionId))
        : Effect.succeed(known?.run)
    })

  return {
    start,
    inSession,
    live: (runId, sessionId) =>
      Effect.sync(() => {
        const runs = sessionId === undefined ? live.values() : [live.get(sessionId)].values()
        return runs.find((entry) => entry?.run.runId === runId && !entry.run.isOver())?.run
      })
  }
})

const forgetting = (live: Map<string, Entry>, entry: Entry) => (): void => {
  const { sessionId } = entry.run
  if (live.get(sessionId) === entry) live.delete(sessionId)
  if (entry.forgotten !== undefined) Deferred.doneUnsafe(entry.forgotten, Effect.void)
}

/** A drive that dies is forgotten too. Keeps no reference to what a run was started with. */
const whenOver =
  (drives: Set<Fiber.Fiber<void>>, driving: Fiber.Fiber<void>, forget: () => void) =>
  (exit: Exit.Exit<unknown>): void => {
    drives.delete(driving)
    if (Exit.isFailure(exit)) forget()
  }

/** Waits until the entry, which is still in the map, is forgotten. */
const forgotten = (entry: Entry): Effect.Effect<void> => {
  entry.forgotten ??= Deferred.makeUnsafe()
  return Effect.interruptible(Deferred.await(entry.forgotten))
}

/** Runs that live as long as the layer; see `make`. */
export const layer: Layer.Layer<Runs.Runs> = Layer.effect(Runs.Runs, make)
