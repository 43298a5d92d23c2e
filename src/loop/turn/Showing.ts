/**
 * Shows what comes in of an attempt of a turn, as it comes: the deltas of each array of parts as one array.
 *
 * Does not own when it came (`attempts/Incoming`), nor what parts add up to (`Collector`).
 */
import * as Arr from "effect/Array"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as AttemptResult from "../../run/AttemptResult.ts"
import type * as Message from "../../run/Message.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as Source from "../../run/Source.ts"
import { Incoming } from "../../services/attempts/Incoming.ts"
import type * as Model from "../../services/Model.ts"
import type * as Journal from "../log/Journal.ts"
import * as TooLarge from "../log/TooLarge.ts"
import { Collector } from "./Collector.ts"

/**
 * How many deltas are shown before readers run: fewer than they buffer (`FeedReader`), so that a source that never waits fills no
 * buffer. It is not far fewer, as each time costs a turn of the event loop.
 */
const mostUnread = 896

export class Showing extends Incoming {
  readonly collector: Collector
  readonly #journal: Journal.Journal
  #unread: number
  /** how many deltas came last, and so may come next */
  #latest: number

  constructor({ attempt, runId, turn }: Model.ModelRequest["metadata"], journal: Journal.Journal, clock: Clock.Clock) {
    super(clock)
    this.collector = new Collector(runId, turn, attempt)
    this.#journal = journal
    journal.comingIn = this.collector
    this.#unread = 0
    this.#latest = 0
  }

  /** From now on a reader that comes is not told what was shown of it. */
  override end(): void {
    this.#journal.comingIn = undefined
  }

  /** Refuses an answer that no event can hold, by its parts or by its size. */
  override refused(
    content: ReadonlyArray<Message.AssistantPart>,
    sources?: Source.Sources
  ): AttemptResult.Failed["error"] | undefined {
    const { wrong } = this.collector
    if (wrong !== undefined) return AttemptResult.invalid(wrong)
    return TooLarge.of("the model's answer", sources === undefined ? content : [content, sources])
  }

  protected override begin(): void {
    this.#journal.move("partsArrive")
  }

  protected override before<E>(
    pull: Effect.Effect<ReadonlyArray<Model.ModelPart>, E>
  ): Effect.Effect<ReadonlyArray<Model.ModelPart>, E> {
    return this.#unread + this.#latest <= mostUnread ? pull : Effect.andThen(this.#letReadersIn(), pull)
  }

  protected override take(parts: ReadonlyArray<Model.ModelPart>): void {
    this.#show(this.collector.push(parts))
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
}
