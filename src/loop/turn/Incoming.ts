/**
 * What has come in of one attempt: parts are collected and their deltas shown as they come, those that come without a wait as
 * one array, and the times are kept that limits are counted from.
 *
 * Does not own the stream (`Attempt`), nor what parts make (`Collector`).
 */
import * as Arr from "effect/Array"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as Model from "../../services/Model.ts"
import type * as Journal from "../log/Journal.ts"
import { Collector } from "./Collector.ts"

/** How many deltas are shown before readers run: half of what they buffer, so that a source that never waits fills none. */
const mostUnread = 512

/** Times are in whole milliseconds that nobody sets, not those of the day: limits hold, and nothing takes less than no time. */
export class Incoming {
  readonly collector: Collector
  readonly startedAt: number
  firstPartAt: number | undefined
  /** when the wait for the next part began; none while parts come without one */
  lastPartAt: number | undefined
  readonly #clock: Clock.Clock
  readonly #journal: Journal.Journal
  #deltas: Array<RunEvent.Delta>
  #unread: number
  /** parts come one after the other, without a wait */
  #isBurst: boolean

  constructor({ attempt, runId, turn }: Model.ModelRequest["metadata"], journal: Journal.Journal, clock: Clock.Clock) {
    this.collector = new Collector(runId, turn, attempt)
    this.#clock = clock
    this.startedAt = this.now()
    this.firstPartAt = undefined
    this.lastPartAt = this.startedAt
    this.#journal = journal
    journal.comingIn = this.collector
    this.#deltas = []
    this.#unread = 0
    this.#isBurst = false
  }

  now(): number {
    return Math.floor(Number(this.#clock.monotonicTimeNanosUnsafe()) / 1e6)
  }

  /** Reads up to the finish, although the provider may keep its socket open. */
  read<E>(pull: Effect.Effect<ReadonlyArray<Model.ModelPart>, E>): Effect.Effect<void, E> {
    return Effect.whileLoop({
      while: () => this.collector.finish === undefined,
      body: () => this.#unread + this.#deltas.length < mostUnread ? pull : Effect.andThen(this.#letReadersIn(), pull),
      step: (parts) => {
        if (!this.#isBurst) this.#beginBurst()
        if (this.lastPartAt !== undefined && parts.some(isProgress)) this.#endWait()
        this.collector.push(parts, this.#deltas)
      }
    })
  }

  /** The attempt is over: who comes to read now is told nothing of it. */
  end(): void {
    this.#journal.comingIn = undefined
  }

  /** Shows the deltas that were not shown yet. */
  show(): void {
    const deltas = this.#deltas
    if (!Arr.isReadonlyArrayNonEmpty(deltas)) return
    this.#unread += deltas.length
    this.#deltas = []
    this.#journal.emitDeltas(deltas)
  }

  /** Shows all there is, and gives the wait for those that read it. */
  #letReadersIn(): Effect.Effect<void> {
    this.show()
    this.#unread = 0
    return Effect.yieldNow
  }

  /** Its end comes behind all that comes without a wait: there its deltas are one array, and one look at the clock is enough. */
  #beginBurst(): void {
    this.#isBurst = true
    queueMicrotask(() => {
      this.#isBurst = false
      this.show()
      if (this.collector.finish === undefined) this.lastPartAt ??= this.now()
    })
  }

  #endWait(): void {
    this.lastPartAt = undefined
    if (this.firstPartAt !== undefined) return
    this.firstPartAt = this.now()
    this.#journal.move("partsArrive")
  }
}

/** A part that brings the answer on: what says that somebody is there, and no more, holds off no time limit. */
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
