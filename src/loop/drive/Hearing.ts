/**
 * What other processes say to a run, as its drive hears of it: inputs one after the other, so that they are stored in the order in which
 * they came, and each accepted at most once.
 *
 * Does not own how an input is accepted (`Inbox`) or an answer recorded (`Answering`), nor how they come here (`Sending`, `Deciding`, and
 * the store).
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"
import type * as RunError from "../../run/RunError.ts"
import type * as Runs from "../../services/Runs.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as SentInput from "../log/SentInput.ts"

type Hearer = Pick<Runs.LiveRun, "accept" | "begun" | "decide" | "sessionId">

export class Hearing {
  readonly #store: SessionStore.Store
  readonly #run: Hearer
  readonly #oneByOne = Semaphore.makeUnsafe(1)

  constructor(store: SessionStore.Store, run: Hearer) {
    this.#store = store
    this.#run = run
  }

  /** Tells the run once that has begun. An input whose log cannot be read now is accepted when it is sent again. */
  hear(sent: SessionStore.Sent): Effect.Effect<void> {
    return Effect.ignore(
      sent._tag === "Answer"
        // checked by a tool's own code, which may take long; of two answers the first one counts
        ? this.#run.decide(sent.decision, sent.id)
        : this.#oneByOne.withPermit(Effect.andThen(this.#run.begun, Effect.suspend(() => this.#input(sent))))
    )
  }

  #input(sent: SessionStore.SentInput): Effect.Effect<unknown, RunError.RunError> {
    // a drive that had the session before this one may have accepted it
    return Effect.flatMap(
      SentInput.read(this.#store, this.#run.sessionId, sent),
      (fate) => Option.isSome(fate) ? Effect.void : this.#run.accept(sent)
    )
  }
}
