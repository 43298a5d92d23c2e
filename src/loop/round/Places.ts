/**
 * Calls of a round that run at once, each in one of so many places: whoever has none waits for one. A call that waits for a
 * person takes no place.
 *
 * Does not own how many places there are, nor calls that run one by one (`CallLanes`).
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

export class Places {
  readonly #env: Env.Env
  readonly #progress: RoundProgress
  /** places that nobody has */
  #free: number
  /** calls that may run, and wait for a place */
  readonly #waiting: Array<CallStep.Runnable> = []
  /** calls that are neither over nor wait for all others */
  #busy: number
  /** calls that wait for all others */
  #waiters = 0
  #idle: Deferred.Deferred<void> | undefined

  /** For so many calls, each of which is let in once. */
  constructor(env: Env.Env, progress: RoundProgress, places: number, calls: number) {
    this.#env = env
    this.#progress = progress
    this.#free = places
    this.#busy = calls
  }

  /** What is done with a call; an `Exit` where there is nothing to wait for: it is over, or whoever has a place takes it up. */
  letIn(next: Judging.Judged | CallStep.Runnable): Running {
    switch (next._tag) {
      case "Wait":
        return Effect.flatMap(
          this.#untilHalted(next),
          (verdict) => verdict === undefined ? this.#leave() : this.letIn(verdict)
        )
      case "Settle":
        CallStep.settle(this.#env, next.call, next.outcome, next)
        this.#progress.ended(next.call, next.outcome)
        return this.#leave()
      case "Ask":
        return Effect.gen(() => this.#ask(next.call))
      case "Run":
      case "Started":
        return this.#place(next)
    }
  }

  /** A verdict, or nothing once no other call may run; what became of one that a dead drive started is found out all the same. */
  #untilHalted(
    { call, verdict }: Extract<Judging.Judged, { _tag: "Wait" }>
  ): Effect.Effect<Judging.Verdict | undefined, SessionStore.StoreError> {
    return call.phase === "started" ? verdict : Effect.raceFirst(verdict, Effect.as(this.#progress.halted, undefined))
  }

  *#ask(call: OpenCall.OpenCall): Steps {
    const round = { env: this.#env, progress: this.#progress, nobody: this.#othersOver }
    const decided = yield* Permission.obtain(round, call)
    if (decided === undefined) return yield* this.#leave()
    // what a person said is stored now, where that is not with the intent
    if (this.#free === 0) yield* this.#env.journal.commit
    yield* this.#place({ _tag: "Run", call: decided })
  }

  #place(next: CallStep.Runnable): Running {
    if (this.#free === 0) {
      this.#waiting.push(next)
      return Effect.void
    }
    // taken with the look at it: until it begins to run, others may look
    this.#free--
    return Effect.gen(() => this.#run(next))
  }

  /** Runs a call in its place, and then those that wait for one. */
  *#run(first: CallStep.Runnable): Steps {
    yield* CallStep.perform(this.#env, this.#progress, first)
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      this.#retire()
      yield* CallStep.perform(this.#env, this.#progress, next)
    }
    this.#free++
    yield* this.#leave()
  }

  /** A call is over. The last outcome of a round is stored with the end of the turn, and one that another call follows with its intent. */
  #leave(): Running {
    this.#retire()
    return this.#busy > 0 ? this.#env.journal.commit : Effect.void
  }

  #retire(): void {
    this.#busy--
    if (this.#busy > 0 || this.#idle === undefined) return
    const idle = this.#idle
    this.#idle = undefined
    // busy again from here on: whoever of them waits once more waits for the others too
    this.#busy = this.#waiters
    this.#waiters = 0
    Deferred.doneUnsafe(idle, Effect.void)
  }

  /** Comes when all other calls are over, or wait for that too. Who leaves before that is busy again by itself. */
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
