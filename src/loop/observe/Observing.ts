/**
 * The one place that observes a drive: what the drive publishes goes to its metrics, its log and its span, and on to its readers;
 * arrays of deltas go to the readers alone.
 *
 * Does not own observers of the application, which read in their own time (`Watching`).
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type { Json } from "effect/Schema"
import type * as Tracer from "effect/Tracer"
import type * as Pointer from "../../run/Pointer.ts"
import type * as RunError from "../../run/RunError.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as RunState from "../../run/RunState.ts"
import type * as Model from "../../services/Model.ts"
import type * as Observers from "../../services/Observers.ts"
import * as Warning from "../../services/Warning.ts"
import type * as Feed from "../log/Feed.ts"
import type * as FeedReader from "../log/FeedReader.ts"
import * as Meter from "./Meter.ts"
import * as RunSpan from "./RunSpan.ts"
import type * as Sink from "./Sink.ts"
import * as StepLog from "./StepLog.ts"
import type * as Telemetry from "./Telemetry.ts"
import * as Watching from "./Watching.ts"

type Publisher = Pick<Feed.Feed, "publish">

/** Sinks of one drive, and its observers. */
export class Observing implements Publisher {
  /** the drive's own; what it does is below it */
  readonly span: Tracer.Span
  /** what the drive's end event says of the span */
  readonly trace: Pointer.Trace | undefined
  /** Waits until observers have seen all; once interrupted, for no longer than the grace period. */
  readonly seen: Effect.Effect<void>
  readonly #of: Observed
  readonly #watching: Watching.Watching
  #sinks: Array<Sink.Sink>
  #broken: Array<Sink.Sink> | undefined
  /** the drive has begun, and has no end yet */
  #isOpen = false

  constructor(of: Observed, runSpan: RunSpan.RunSpan) {
    const { sink, span } = runSpan
    this.span = span
    this.trace = RunSpan.traceOf(runSpan)
    this.#of = of
    this.#watching = Watching.make(of.feed, of.drive, of.means.observers)
    this.seen = this.#watching.seen
    this.#sinks = sink === undefined ? [] : [sink]
  }

  /**
   * From now on all is seen on its way to the feed; `before` is the run as the drive found it, `data` is what the run has in this
   * drive. Called on a fiber of the drive.
   */
  start(before: RunState.RunState, data: Json | undefined): Publisher {
    const { drive, fiber, means, model } = this.#of
    this.#follow(before)
    const meter = Meter.make(drive, before, means.telemetry.metrics)
    const log = StepLog.make(drive, before, model, fiber, means.clock)
    this.#sinks = log === undefined ? [...this.#sinks, meter] : [...this.#sinks, meter, log]
    this.#watching.start(data)
    return this
  }

  /** Links the span to that of the drive before. Nothing else sees anything yet. */
  #follow({ end, runId }: RunState.RunState): void {
    if (this.#sinks.length === 0 || end?.trace === undefined || runId !== this.#of.drive.runId) return
    try {
      RunSpan.follow(this.span, end.trace)
    } catch {
      this.#drop(0)
    }
  }

  publish(events: FeedReader.Events, only?: "deltas"): void {
    const sinks = this.#sinks
    for (let at = only === "deltas" ? -1 : sinks.length - 1; at >= 0; at--) {
      try {
        sinks[at]!.see?.(events)
      } catch {
        this.#drop(at)
      }
    }
    if (only === undefined) this.#isOpen = isOpenAfter(events, this.#isOpen)
    this.#of.feed.publish(events, only)
  }

  /**
   * The result is known, and nobody has been told yet. Warns of the sinks that broke and were dropped; the run is as if they had
   * not broken.
   */
  end(result: Exit.Exit<unknown, RunError.RunError>): Effect.Effect<void> {
    const sinks = this.#sinks
    const lost = this.#isOpen ? tagOf(result) : undefined
    for (const sink of this.#broken ?? []) closeBroken(sink, result, lost)
    for (let at = sinks.length - 1; at >= 0; at--) {
      try {
        sinks[at]!.close?.(result, lost)
        if (sinks[at]!.seesLate !== true) sinks.splice(at, 1)
      } catch {
        this.#drop(at)
      }
    }
    const broken = this.#broken
    if (broken === undefined) return Effect.void
    const names = broken.map(({ name }) => name).join(" and ")
    return Warning.warn(`the ${names} of run "${this.#of.drive.runId}" failed and are incomplete`)
  }

  /** A fault in an exporter or a logger is not the run's. */
  #drop(at: number): void {
    this.#broken ??= []
    this.#broken.push(...this.#sinks.splice(at, 1))
  }
}

/** Ends what the sink has begun: a span, or the count of a live run. */
const closeBroken = (sink: Sink.Sink, ...how: Parameters<Sink.Close>): void => {
  try {
    sink.close?.(...how)
  } catch {
    // the warning already says that it broke
  }
}

/** A drive begins with the first event that is stored, and its end is the last one. */
const isOpenAfter = (events: FeedReader.Events, isOpen: boolean): boolean =>
  !RunEvent.isEnd(events[events.length - 1]!) && (isOpen || events.some(RunEvent.isDurable))

const tagOf = (result: Exit.Exit<unknown, RunError.RunError>): string | undefined =>
  Option.getOrUndefined(Exit.findErrorOption(result))?.reason._tag

/** The clock that a drive is observed by, where telemetry goes, and the application's observers. */
interface Means {
  readonly clock: Clock.Clock
  readonly observers: ReadonlyArray<Observers.Observer>
  readonly telemetry: Telemetry.Telemetry
}

/** What is observed, and in what context. */
interface Observed {
  readonly drive: Sink.Drive
  readonly model: Model.ModelInfo
  readonly feed: Feed.Feed
  readonly means: Means
  /** the drive's own */
  readonly fiber: Fiber.Fiber<unknown, unknown>
}

/** Called by code that the drive's fiber runs. */
export const make = (
  drive: Sink.Drive,
  model: Model.ModelInfo,
  feed: Feed.Feed,
  means: Means
): Effect.Effect<Observing> => {
  const of = { drive, model, feed, means, fiber: Fiber.getCurrent()! }
  const span = RunSpan.make(drive, model, means.clock, means.telemetry.unseen)
  return Effect.mapEager(span, (span) => new Observing(of, span))
}

/**
 * For a session that no drive has and nobody reads, found in the state `before`: what is appended is counted and logged, and what
 * breaks is ignored. Called by code that a fiber runs.
 */
export const besideDrives = (
  drive: Omit<Sink.Drive, "runId">,
  before: Pick<RunState.RunState, "openCalls">,
  { clock, telemetry: { metrics } }: Pick<Means, "clock" | "telemetry">
): Publisher => {
  const sees = [Meter.besideDrives(drive, before, metrics), StepLog.besideDrives(drive, Fiber.getCurrent()!, clock)]
  return {
    publish: (events) => {
      for (const see of sees) {
        try {
          see?.(events)
        } catch {
          // it breaks for the next drive too, which says so
        }
      }
    }
  }
}
