/**
 * A log that is being folded, and the moment from which its run waits for people no more: until then, its time stands still.
 *
 * Does not own how that time is counted (`RunState`), nor what goes by it (`DurationLimit`).
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as Pace from "../../services/fibers/Pace.ts"
import * as Fold from "./Fold.ts"

export interface Folded extends Fold.Folded {
  /** Completes once the run waits for no person. */
  readonly goesOn: Effect.Effect<void>
}

export class Folding extends Fold.Folding implements Folded {
  /** set once somebody waits for it */
  #goesOn: Deferred.Deferred<void> | undefined

  override take(event: RunEvent.Durable): void {
    super.take(event)
    this.#tell()
  }

  /** Goes on from another fold. */
  putBack({ state, transcript }: Fold.Folded): void {
    this.state = state
    this.transcript = transcript
    this.#tell()
  }

  get goesOn(): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.state.waitingSince === undefined ? Effect.void : Deferred.await(this.#goesOn ??= Deferred.makeUnsafe())
    )
  }

  #tell(): void {
    const goesOn = this.#goesOn
    if (goesOn === undefined || this.state.waitingSince !== undefined) return
    this.#goesOn = undefined
    // whoever waits may cut the run off: not before this event has its place
    Pace.soon(() => Deferred.doneUnsafe(goesOn, Effect.void))
  }
}
