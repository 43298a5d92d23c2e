/**
 * The one place that observes a drive: what it publishes goes to its metrics, its log and its span, and on to its readers.
 *
 * Does not own observers of the application, which read in their own time (`Watching`).
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Tracer from "effect/Tracer"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as RunState from "../../run/RunState.ts"
import * as RetryPolicy from "../../services/RetryPolicy.ts"
import type * as Env from "../drive/Env.ts"
import type * as Feed from "../log/Feed.ts"
import * as Meter from "./Meter.ts"
import * as RunSpan from "./RunSpan.ts"
import type * as Sink from "./Sink.ts"
import * as StepLog from "./StepLog.ts"

type Publisher = Pick<Feed.Feed, "publish">

export interface Observing extends Publisher {
  /** The drive is over. Says which observing broke, of which nothing more was seen then; the run is as if it had not. */
  readonly close: Effect.Effect<void>
}

/** In front of the feed of a drive that found the run as `before`. */
export const make = (
  { model }: Pick<Env.Services, "model">,
  { brief, runId, sessionId }: Pick<Env.Request, "brief" | "runId" | "sessionId">,
  before: RunState.RunState,
  span: Tracer.Span,
  feed: Publisher
): Effect.Effect<Observing> =>
  Effect.withFiber((fiber) => {
    const clock = fiber.getRef(Clock.Clock)
    const policy = RetryPolicy.of(fiber.getRef(RetryPolicy.RetryPolicy), model.info)
    const { tools } = brief.handlers
    const drive = { agent: brief.agent, sessionId, runId, hasTool: (name: string) => Object.hasOwn(tools, name) }
    const log = StepLog.make(drive, before, policy, fiber, clock)
    const sinks = new Map<string, Sink.Sink>([
      ["metrics", Meter.make(drive, before, fiber.context)],
      ["spans", RunSpan.sink(span, drive, clock)]
    ])
    if (log !== undefined) sinks.set("logs", log)
    const broken: Array<string> = []

    /** What breaks in an exporter or a logger is not the run's. */
    const each = (use: (sink: Sink.Sink) => void) => {
      for (const [name, sink] of sinks) {
        try {
          use(sink)
        } catch {
          sinks.delete(name)
          broken.push(name)
        }
      }
    }

    return Effect.succeed({
      publish: (events) => {
        for (let i = 0; i < events.length; i++) {
          const event = events[i]!
          if (!RunEvent.isDelta(event)) each((sink) => sink.see(event))
        }
        feed.publish(events)
      },
      close: Effect.suspend(() => {
        each((sink) => sink.close?.())
        return broken.length === 0
          ? Effect.void
          : Effect.logWarning(`the ${broken.join(" and ")} of run "${runId}" broke, and are not whole`)
      })
    })
  })

/** Where nobody reads: of a drive that died only the end is counted. */
export const ofCrash = (agent: string): Effect.Effect<Publisher> =>
  Effect.contextWith((context) => {
    const see = Meter.ofEnds(agent, context)
    return Effect.succeed({
      publish: (events) => {
        for (const event of events) if (!RunEvent.isDelta(event)) see(event)
      }
    })
  })
