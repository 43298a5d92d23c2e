/**
 * The one place that observes a drive: what it publishes goes to its metrics, its log and its span, and on to its readers;
 * arrays of deltas go to those alone.
 *
 * Does not own observers of the application, which read in their own time (`Watching`).
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Tracer from "effect/Tracer"
import type * as RunError from "../../run/RunError.ts"
import type * as RunState from "../../run/RunState.ts"
import * as Observers from "../../services/Observers.ts"
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
  /** From now on all is seen, on its way to the feed; the drive found the run as `before`. */
  readonly begin: (before: RunState.RunState) => Effect.Effect<Publisher>
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

export const make = (
  { model }: Pick<Env.Services, "model">,
  { brief, runId, sessionId }: Pick<Env.Request, "brief" | "runId" | "sessionId">,
  feed: Feed.Feed
): Effect.Effect<Observing> =>
  Effect.withFiber((fiber) => {
    const clock = fiber.getRef(Clock.Clock)
    const { tools } = brief.handlers
    const drive = { agent: brief.agent, sessionId, runId, hasTool: (name: string) => Object.hasOwn(tools, name) }
    const watching = Watching.make(feed, drive, fiber.getRef(Observers.Observers))
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

    return Effect.map(RunSpan.make(drive, model.info, clock), ({ sink, span }): Observing => {
      sinks.push({ name: "spans", sink })
      return {
        span,
        begin: (before) =>
          Effect.suspend(() => {
            sinks.push({ name: "metrics", sink: Meter.make(drive, before, fiber.context) })
            const log = StepLog.make(drive, before, model.info, fiber, clock)
            if (log !== undefined) sinks.push({ name: "logs", sink: log })
            return Effect.mapEager(watching.start, () => ({ publish }))
          }),
        end: (result) => {
          close(result)
          if (broken.length === 0) return Effect.void
          return Effect.logWarning(`the ${broken.splice(0).join(" and ")} of run "${runId}" broke, and are not whole`)
        },
        seen: watching.seen
      }
    })
  })

/** Where nobody reads: of a drive that died only the end is counted. */
export const ofCrash = (agent: string): Effect.Effect<Publisher> =>
  Effect.contextWith((context) => Effect.succeed({ publish: Meter.ofEnds(agent, context) }))
