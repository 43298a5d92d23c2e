/**
 * What has come in of one attempt at a model call, and the times that limits are counted from: the same for the calls of turns and
 * of strategies.
 *
 * Does not own the stream (`Attempt`), the limits (`TimeLimit`), nor what parts add up to.
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as AttemptResult from "../../run/AttemptResult.ts"
import type * as Message from "../../run/Message.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as Source from "../../run/Source.ts"
import type * as Usage from "../../run/Usage.ts"
import type * as Model from "../Model.ts"
import * as SessionStore from "../SessionStore.ts"

/** What the parts add up to so far. */
export interface Collected {
  /** undefined until the answer is complete */
  readonly finish: { readonly reason: RunEvent.FinishReason; readonly usage: Usage.Usage } | undefined
  readonly response: AttemptResult.Response | undefined
  /** what the attempt has used, as far as its provider said */
  readonly used: Usage.Usage
  readonly content: () => ReadonlyArray<Message.AssistantPart>
  /** what the answer rests on, if it says so */
  readonly sources?: Source.Sources | undefined
  /** bytes of JSON that the content has at least */
  readonly size: number
}

/** Times are whole milliseconds of a clock that nobody sets, not of the time of day: limits hold, and no duration is negative. */
export abstract class Incoming {
  abstract readonly collector: Collected
  readonly startedAt: number
  firstPartAt: number | undefined
  /** when the wait for the next part began */
  lastPartAt: number
  readonly #clock: Clock.Clock

  constructor(clock: Clock.Clock) {
    this.#clock = clock
    this.startedAt = this.now()
    this.firstPartAt = undefined
    this.lastPartAt = this.startedAt
  }

  now(): number {
    return Math.floor(Number(this.#clock.monotonicTimeNanosUnsafe()) / 1e6)
  }

  /**
   * Whether far more has come than an event holds: an endless answer ends here, before it has taken the process's memory. One that is
   * not far too large is read to its end, which says what it cost.
   */
  get isTooLarge(): boolean {
    return this.collector.size > 2 * SessionStore.maxContentBytes
  }

  /** Reads up to the finish, although the provider may keep its socket open; nothing more of an answer that is too large. */
  read<E>(pull: Effect.Effect<ReadonlyArray<Model.ModelPart>, E>): Effect.Effect<void, E> {
    return Effect.whileLoop({
      while: () => this.collector.finish === undefined && !this.isTooLarge,
      body: () => this.before(pull),
      step: (parts) => {
        if (parts.some(isProgress)) this.#endWait()
        this.take(parts)
      }
    })
  }

  /** Called when the attempt is over, but not when it is interrupted. */
  end(): void {}

  /** Why a complete answer is refused, if it is. */
  refused(
    _content: ReadonlyArray<Message.AssistantPart>,
    _sources?: Source.Sources
  ): AttemptResult.Failed["error"] | undefined {
    return undefined
  }

  /** Collects parts, those after a finish left out. */
  protected abstract take(parts: ReadonlyArray<Model.ModelPart>): void

  /** The next parts, and what is done before they are asked for. */
  protected before<E>(
    pull: Effect.Effect<ReadonlyArray<Model.ModelPart>, E>
  ): Effect.Effect<ReadonlyArray<Model.ModelPart>, E> {
    return pull
  }

  /** The first part has come; it is not collected yet. */
  protected begin(): void {}

  #endWait(): void {
    this.lastPartAt = this.now()
    if (this.firstPartAt !== undefined) return
    this.firstPartAt = this.lastPartAt
    this.begin()
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
