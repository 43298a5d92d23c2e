/**
 * What has come in of one attempt: parts are collected, the deltas of each array of parts are shown as one array as it comes, and
 * the times are kept that limits are counted from.
 *
 * Does not own the stream (`Attempt`), nor what parts add up to (`Collector`).
 */
import * as Arr from "effect/Array"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as Model from "../../services/Model.ts"
import type * as Journal from "../log/Journal.ts"
import { Collector } from "./Collector.ts"

/**
 * How many deltas are shown before readers run: fewer than they buffer (`FeedReader`), so that a source that never waits fills no
 * buffer. It is not far fewer, as each time costs a turn of the event loop.
 */
const mostUnread = 896

/** Times are whole milliseconds of a clock that nobody sets, not of the time of day: limits hold, and no duration is negative. */
export class Incoming {
  readonly collector: Collector
  readonly startedAt: number
  firstPartAt: number | undefined
  /** when the wait for the next part began */
  lastPartAt: number
  readonly #clock: Clock.Clock
  readonly #journal: Journal.Journal
  #unread: number
  /** how many deltas came last, and so may come next */
  #latest: number

  constructor({ attempt, runId, turn }: Model.ModelRequest["metadata"], journal: Journal.Journal, clock: Clock.Clock) {
    this.collector = new Collector(runId, turn, attempt)
    this.#clock = clock
    this.startedAt = this.now()
    this.firstPartAt = undefined
    this.lastPartAt = this.startedAt
    this.#journal = journal
    journal.comingIn = this.collector
    this.#unread = 0
    this.#latest = 0
  }

  now(): number {
    return Math.floor(Number(this.#clock.monotonicTimeNanosUnsafe()) / 1e6)
  }

  /** Reads up to the finish, although the provider may keep its socket open. */
  read<E>(pull: Effect.Effect<ReadonlyArray<Model.ModelPart>, E>): Effect.Effect<void, E> {
    return Effect.whileLoop({
      while: () => this.collector.finish === undefined,
      body: () => this.#unread + this.#latest <= mostUnread ? pull : Effect.andThen(this.#letReadersIn(), pull),
      step: (parts) => {
        if (parts.some(isProgress)) this.#endWait()
        this.#show(this.collector.push(parts))
      }
    })
  }

  /** The attempt is over: a reader that comes now is told nothing of it. */
  end(): void {
    this.#journal.comingIn = undefined
  }

  #show(deltas: ReadonlyArray<RunEvent.Delta>): void {
    if (!Arr.isReadonlyArrayNonEmpty(deltas)) return
    this.#latest = deltas.length
    this.#unread += deltas.length
    this.#journal.emitDeltas(deltas)
  }

  /** Lets the readers of what is shown run. */
  #letReadersIn(): Effect.Effect<void> {
    this.#unread = 0
    return Effect.yieldNow
  }

  #endWait(): void {
    this.lastPartAt = this.now()
    if (this.firstPartAt !== undefined) return
    this.firstPartAt = this.lastPartAt
    this.#journal.move("partsArrive")
  }
}

/** A part that brings the answer on: a mere sign of life holds off no time limit. */
const isProgress = (part: Model.ModelPart): boolean => {
  switch (part.type) {
    case "response":
      return false
    case "block-start":
    case "block-end":
      return part.metadata !== undefined
    case "text-delta":
    case "reasoning-delta":
      return part.delta !== "" || part.metadata !== undefined
    case "tool-params-delta":
      return part.delta !== "" || part.tool !== undefined
    default:
      return true
  }
}
