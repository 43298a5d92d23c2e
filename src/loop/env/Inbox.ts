/**
 * What is said to a run under way. An input is first stored, through the run's own writer, and then said to the model when the next
 * turn begins, or never, where the end comes first; where only the process or the store was gone, when the run goes on.
 *
 * Senders are told what became of their input according to the log: once that is stored, or with the store's error where it fails.
 * Does not own when the model is asked next (`Turn`).
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Delivery from "../../run/Delivery.ts"
import type * as DurableEvent from "../../run/DurableEvent.ts"
import * as Frozen from "../../run/Frozen.ts"
import * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as RunState from "../../run/RunState.ts"
import * as Queue from "../../run/state/Queue.ts"
import * as Transcript from "../../run/Transcript.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Journal from "../log/Journal.ts"
import * as TooLarge from "../log/TooLarge.ts"

export type Input = Pick<DurableEvent.Of<"InputQueued">, "kind" | "messages" | "id">

type Told = Effect.Effect<Delivery.Delivery, RunError.RunError>

/** A sender who waits for what becomes of an input. */
interface Waiter {
  readonly told: Deferred.Deferred<Delivery.Delivery, RunError.RunError>
  /** set when that is recorded, and holds once it is stored */
  verdict: Delivery.Delivery | undefined
  /** the sender was told that the store failed, and may send it again: it is not delivered any more */
  isRefused: boolean
}

export class Inbox {
  #journal: Journal.Journal | undefined
  /** what is queued up to this `seq` was said to an earlier drive */
  #openSeq = Infinity
  /** by the very array of messages: an input's place in the log may change until it is stored */
  #waiting: Map<Queue.Queued["messages"], Waiter> | undefined
  /** by its id, what an input came to: one that the store refused may still be stored, with the end that this leads to */
  #named: Map<string, Effect.Effect<Told, RunError.RunError>> | undefined

  /** From here on inputs are accepted. */
  open(journal: Journal.Journal): void {
    this.#journal = journal
    this.#openSeq = journal.state.seq
  }

  /**
   * Stores an input and returns the effect that awaits what becomes of it; where the run is over, that is known at once.
   * Interrupting it does not withdraw the input. When the store fails, so does the run, which `onFailure` sees to. An input with an
   * `id` is accepted once.
   */
  accept(
    { id, kind, messages: given }: Input,
    onFailure: (error: SessionStore.StoreError) => Effect.Effect<void>
  ): Effect.Effect<Told, RunError.RunError> {
    return Effect.uninterruptibleMask((restore): Effect.Effect<Told, RunError.RunError> => {
      const known = id === undefined ? undefined : this.#named?.get(id)
      if (known !== undefined) return restore(known)
      const journal = this.#journal
      if (journal === undefined) return Effect.succeed(Effect.succeed(Delivery.notDelivered("ended")))
      const tooLarge = TooLarge.of("the message", given)
      if (tooLarge !== undefined) return Effect.fail(tooLarge)
      // a frozen array is recorded as it is
      const messages = Frozen.copy(given)
      journal.record({ _tag: "InputQueued", kind, messages, ...(id === undefined ? {} : { id }) })
      const told = Deferred.makeUnsafe<Delivery.Delivery, RunError.RunError>()
      const waiter: Waiter = { told, verdict: undefined, isRefused: false }
      this.#waiting ??= new Map()
      this.#waiting.set(messages, waiter)
      const failed = (error: SessionStore.StoreError) => {
        // what became of it is recorded, and the write after this one may store both
        const isJudged = waiter.verdict !== undefined && RunError.isStoreAway(error)
        waiter.isRefused = !isJudged
        return Effect.andThen(onFailure(error), isJudged ? Effect.asVoid(Deferred.await(told)) : Effect.fail(error))
      }
      const stored = Deferred.makeUnsafe<void, RunError.RunError>()
      const accepted = Effect.as(Deferred.await(stored), Deferred.await(told))
      if (id !== undefined) (this.#named ??= new Map()).set(id, accepted)
      const storing = Deferred.into(Effect.catch(journal.commit, failed), stored)
      return Effect.andThen(Effect.forkDetach(storing, { startImmediately: true }), restore(accepted))
    })
  }

  /** Records that the turn which begins in the same write is given these inputs. */
  receive(journal: Journal.Journal, inputs: Queue.Queue): void {
    for (const { kind, messages, seq } of inputs) {
      journal.record({ _tag: "InputReceived", kind, messages, queued: seq })
      this.#judge(messages, Delivery.delivered(RunState.nextTurn(journal.state)))
    }
  }

  /**
   * Nothing more is accepted. What is still queued waits on after the end that is recorded next, where that leaves a run that
   * goes on by itself, and is returned; otherwise it is not said to the model. A suspension also keeps what an earlier drive left,
   * whose senders were told so, or were not told.
   */
  close(journal: Journal.Journal, end: RunEvent.End["_tag"], left: Delivery.Left | undefined): Queue.Queue {
    this.#journal = undefined
    const kept: Array<Queue.Queued> = []
    for (const queued of journal.state.queued) {
      if (end === "RunSuspended" && queued.seq <= this.#openSeq) {
        kept.push(queued)
        continue
      }
      const isKept = left !== undefined && this.#waiting?.get(queued.messages)?.isRefused !== true
      if (isKept) kept.push(queued)
      this.#judge(queued.messages, isKept ? Delivery.kept(left) : Delivery.notDeliveredBefore(end))
    }
    return kept
  }

  /** Tells senders what became of their inputs; that is stored by now. */
  tell(): void {
    const waiting = this.#waiting
    if (waiting === undefined) return
    for (const [messages, { told, verdict }] of waiting) {
      if (verdict === undefined) continue
      waiting.delete(messages)
      Deferred.doneUnsafe(told, Effect.succeed(verdict))
    }
  }

  /** The store failed: what became of the rest is not known here. */
  fail(error: RunError.RunError): void {
    this.#journal = undefined
    this.#waiting?.forEach(({ told }) => Deferred.doneUnsafe(told, Effect.fail(error)))
    this.#waiting = undefined
  }

  #judge(messages: Queue.Queued["messages"], verdict: Delivery.Delivery): void {
    const waiter = this.#waiting?.get(messages)
    if (waiter !== undefined) waiter.verdict = verdict
  }
}

/** The inputs that the next turn begins with. */
export const due = (journal: Journal.Journal): Queue.Queue =>
  Queue.due(journal.state.queued, () => !Transcript.awaitsModel(journal.transcript))
