/**
 * Calls of a round that run at once, each in one of a fixed number of slots: a call without one waits for one. A call that waits
 * for a person takes no slot.
 *
 * Does not own how many slots there are, nor calls that run one by one (`CallLanes`).
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as OpenCall from "../../run/state/OpenCall.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Env from "../env/Env.ts"
import * as CallStep from "./CallStep.ts"
import type * as Judging from "./Judging.ts"
import * as Permission from "./Permission.ts"
import type { RoundProgress } from "./RoundProgress.ts"

type Running = Effect.Effect<void, SessionStore.StoreError>
type Steps = Effect.fn.Return<void, SessionStore.StoreError>

export class Slots {
  readonly #env: Env.Env
  readonly #progress: RoundProgress
  /** slots that no call has */
  #free: number
  /** calls that may run, and wait for a slot */
  readonly #waiting: Array<CallStep.Runnable> = []
  /** calls that are neither over nor wait for all others */
  #busy: number
  /** calls that wait for all others */
  #waiters = 0
  #idle: Deferred.Deferred<void> | undefined

  /** `calls` is how many there are; each is let in once. */
  constructor(env: Env.Env, progress: RoundProgress, slots: number, calls: number) {
    this.#env = env
    this.#progress = progress
    this.#free = slots
    this.#busy = calls
  }

  /** Takes in a call. Returns an `Exit` if there is nothing to wait for: the call is over, or runs once another one leaves its slot. */
  letIn(next: Judging.Judged | CallStep.Runnable): Running {
    switch (next._tag) {
      case "Wait":
        return Effect.flatMap(
          this.#untilHalted(next),
          (verdict) => verdict === undefined ? this.#leave() : this.letIn(verdict)
        )
      case "Settle":
        // it would count as one that was made
        if (next.isMade === true && !this.#progress.mayRun()) return this.#leave()
        this.#progress.ended(next.call, CallStep.settle(this.#env, next.call, next.outcome, next))
        return this.#leave()
      case "Ask":
        return Effect.gen(() => this.#ask(next.call))
      case "Run":
      case "Started":
        return this.#takeSlot(next)
    }
  }

  /** A verdict, or nothing once no other call may run. What became of a call that a dead drive started is found out all the same. */
  #untilHalted(
    { call, verdict }: Extract<Judging.Judged, { _tag: "Wait" }>
  ): Effect.Effect<Judging.Verdict | undefined, SessionStore.StoreError> {
    return call.phase === "started" ? verdict : Effect.raceFirst(verdict, Effect.as(this.#progress.halted, undefined))
  }

  *#ask(call: OpenCall.OpenCall): Steps {
    const round = { env: this.#env, progress: this.#progress, nobody: this.#othersOver }
    const decided = yield* Permission.obtain(round, call)
    if (decided === undefined) return yield* this.#leave()
    // what a person said is stored now, where it is not stored with the intent
    if (this.#free === 0) yield* this.#env.journal.commit
    yield* this.#takeSlot({ _tag: "Run", call: decided })
  }

  #takeSlot(next: CallStep.Runnable): Running {
    if (this.#free === 0) {
      this.#waiting.push(next)
      return Effect.void
    }
    // taken as soon as it is seen free: others may look before this call begins to run
    this.#free--
    return Effect.gen(() => this.#run(next))
  }

  /** Runs a call in its slot, and then those that wait for one. */
  *#run(first: CallStep.Runnable): Steps {
    yield* CallStep.perform(this.#env, this.#progress, first)
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      this.#retire()
      yield* CallStep.perform(this.#env, this.#progress, next)
    }
    this.#free++
    yield* this.#leave()
  }

  /** A call is over. The last outcome of a round is stored with the end of the turn, and one before another call with that call's intent. */
  #leave(): Running {
    this.#retire()
    return this.#busy > 0 ? this.#env.journal.commit : Effect.void
  }

  #retire(): void {
    this.#busy--
    if (this.#busy > 0 || this.#idle === undefined) return
    const idle = this.#idle
    this.#idle = undefined
    // the waiters are busy again from here on: one that waits once more waits for the others too
    this.#busy = this.#waiters
    this.#waiters = 0
    Deferred.doneUnsafe(idle, Effect.void)
  }

  /** Completes when all other calls are over, or wait for that too. A call that stops waiting before that is busy again. */
  readonly #othersOver: Effect.Effect<void> = Effect.uninterruptibleMask((restore) => {
    const idle = this.#idle ??= Deferred.makeUnsafe<void>()
    this.#waiters++
    this.#retire()
    const leave = Effect.sync(() => {
      if (Deferred.isDoneUnsafe(idle)) return
      this.#waiters--
      this.#busy++
    })
    return Effect.ensuring(restore(Deferred.await(idle)), leave)
  })
}
