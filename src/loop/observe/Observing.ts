/**
 * The one place that observes a drive: what it publishes goes to its metrics, its log and its span, and on to its readers;
 * arrays of deltas go to those alone.
 *
 * Does not own observers of the application, which read in their own time (`Watching`).
 */
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Tracer from "effect/Tracer"
import type * as RunError from "../../run/RunError.ts"
import type * as RunState from "../../run/RunState.ts"
import type * as Env from "../drive/Env.ts"
import type * as Phase from "../drive/Phase.ts"
import type * as Feed from "../log/Feed.ts"
import * as Meter from "./Meter.ts"
import * as RunSpan from "./RunSpan.ts"
import type * as Sink from "./Sink.ts"
import * as StepLog from "./StepLog.ts"
import * as Watching from "./Watching.ts"

type Publisher = Pick<Feed.Feed, "publish">

export interface Observing {
  /** the drive's own; what it does is below it */
  readonly span: Tracer.Span
  /** From now on all is seen, on its way to the feed; the drive found the run as `before`. A fiber of the drive calls it. */
  readonly begin: (before: RunState.RunState) => Publisher
  /**
   * The result is known, and nobody was told yet. Says which observing broke, and was not gone on with; the run is as if it had
   * not.
   */
  readonly end: (result: Exit.Exit<unknown, RunError.RunError>) => Effect.Effect<void>
  /** Waits until observers have seen all; interrupted, for no longer than the grace period. */
  readonly seen: (restore: Phase.Restore) => Effect.Effect<void>
}

interface Named {
  readonly name: string
  readonly sink: Sink.Sink
}

/** Called by code that the drive's fiber runs. */
export const make = (
  { model }: Pick<Env.Services, "model">,
  { brief, runId, sessionId, settings }: Pick<Env.Request, "brief" | "runId" | "sessionId" | "settings">,
  feed: Feed.Feed
): Effect.Effect<Observing> => {
  const fiber = Fiber.getCurrent()!
  const { tools } = brief.handlers
  const drive = { agent: brief.agent, sessionId, runId, hasTool: (name: string) => Object.hasOwn(tools, name) }
  const watching = Watching.make(feed, drive, settings.observers)
  const sinks: Array<Named> = []
  const broken: Array<string> = []

  /** What breaks in an exporter or a logger is not the run's. */
  const drop = (at: number) => {
    for (const { name } of sinks.splice(at, 1)) broken.push(name)
  }
  const close = (result: Exit.Exit<unknown, RunError.RunError>) => {
    for (let at = sinks.length - 1; at >= 0; at--) {
      try {
        sinks[at]!.sink.close?.(result)
      } catch {
        drop(at)
      }
    }
    sinks.length = 0
  }

  const publish: Publisher["publish"] = (events, only) => {
    for (let at = only === "deltas" ? -1 : sinks.length - 1; at >= 0; at--) {
      try {
        sinks[at]!.sink.see?.(events)
      } catch {
        drop(at)
      }
    }
    feed.publish(events, only)
  }

  return Effect.mapEager(RunSpan.make(drive, model.info, settings), ({ sink, span }): Observing => {
    sinks.push({ name: "spans", sink })
    return {
      span,
      begin: (before) => {
        sinks.push({ name: "metrics", sink: Meter.make(drive, before, settings.telemetry.metrics) })
        const log = StepLog.make(drive, before, model.info, fiber, settings.clock)
        if (log !== undefined) sinks.push({ name: "logs", sink: log })
        watching.start()
        return { publish }
      },
      end: (result) => {
        close(result)
        if (broken.length === 0) return Effect.void
        return Effect.logWarning(`the ${broken.splice(0).join(" and ")} of run "${runId}" broke, and are not whole`)
      },
      seen: watching.seen
    }
  })
}

/** Where nobody reads: of a drive that died only the end is counted. */
export const ofCrash = (
  { brief, settings }: Pick<Env.Request, "brief" | "settings">
): Publisher => ({ publish: Meter.ofEnds(brief.agent, settings.telemetry.metrics) })
