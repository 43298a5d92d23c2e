/**
 * What other processes send to a run, as its drive hears of it: one input after the other, so that they are stored in the order in
 * which they came, and each accepted at most once.
 *
 * Does not own how an input is accepted (`Inbox`), nor how it comes here (`Sending`, and the store).
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"
import type * as Runs from "../../services/Runs.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as SentInput from "../log/SentInput.ts"

type Hearer = Pick<Runs.LiveRun, "accept" | "begun" | "sessionId">

export class Hearing {
  readonly #store: SessionStore.SessionStore["Service"]
  readonly #run: Hearer
  readonly #oneByOne = Semaphore.makeUnsafe(1)
  /** the ids of inputs that the run was given: one that its store refused may still be stored, with the end that this leads to */
  readonly #given = new Set<string>()

  constructor(store: SessionStore.SessionStore["Service"], run: Hearer) {
    this.#store = store
    this.#run = run
  }

  /** Gives an input to the run once that has begun; one whose log cannot be read now is given when it is sent again. */
  hear(sent: SessionStore.SentInput): Effect.Effect<void> {
    return this.#oneByOne.withPermit(Effect.suspend(() => {
      if (this.#given.has(sent.id)) return Effect.void
      return this.#run.begun.pipe(
        // a drive that had the session before this one may have accepted it
        Effect.andThen(SentInput.read(this.#store, this.#run.sessionId, sent)),
        Effect.flatMap((fate) => Option.isSome(fate) ? Effect.void : this.#give(sent)),
        Effect.ignore
      )
    }))
  }

  #give(sent: SessionStore.SentInput) {
    this.#given.add(sent.id)
    return this.#run.accept(sent)
  }
}
