/**
 * Runs the open calls of a round: one by one, or so many at once as the policy says.
 *
 * Does not own what a call needs (`Judging`), how it gets a person's word (`Approval`), its steps (`CallStep`), what a round
 * knows of itself (`RoundProgress`), nor what becomes of calls that may not run (`ToolRound`).
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Env from "../env/Env.ts"
import * as Approval from "./Approval.ts"
import * as CallStep from "./CallStep.ts"
import * as Judging from "./Judging.ts"
import type { RoundProgress } from "./RoundProgress.ts"

type Call = OpenCall.OpenCall
type Running = Effect.Effect<void, SessionStore.StoreError>
type Steps = Effect.fn.Return<void, SessionStore.StoreError>

/** A call that may run; `Started` where its intent is stored already. */
interface Runnable {
  readonly _tag: "Run" | "Started"
  readonly call: Call
}

type Next = Judging.Verdict | Runnable

/** What the calls of a round have in common while they run. */
class Lanes {
  readonly env: Env.Env
  readonly progress: RoundProgress
  /** how many run at once */
  readonly places: number
  /** how many of the places are taken */
  taken = 0
  /** calls that may run, and wait for one of the places */
  readonly waiting: Array<Runnable> = []
  /** calls that are neither over nor wait for all others */
  #busy: number
  #idle: Deferred.Deferred<void> | undefined

  constructor(env: Env.Env, progress: RoundProgress, calls: number) {
    this.env = env
    this.progress = progress
    this.places = Math.max(1, Math.min(env.policy.maxParallel ?? 1, calls))
    this.#busy = calls
  }

  get isFull(): boolean {
    return this.taken >= this.places
  }

  /** A call is over, or waits for all others; gives how many are left. */
  leave(): number {
    this.#busy--
    if (this.#busy === 0 && this.#idle !== undefined) Deferred.doneUnsafe(this.#idle, Effect.void)
    return this.#busy
  }

  /** What a call does for which nobody answers: it waits for all others, where they may run meanwhile. */
  get nobody(): Effect.Effect<void> {
    return this.places === 1 ? Effect.void : Effect.suspend(() => {
      const idle = this.#idle ??= Deferred.makeUnsafe<void>()
      this.leave()
      return Effect.onInterrupt(Deferred.await(idle), () => Effect.sync(() => this.#busy++))
    })
  }
}

/**
 * Runs calls, at most `maxParallel` at once; one that waits for a person takes no place. Where they run one by one and nobody
 * answers for it, later calls are asked about too, and wait with it unless a person has decided; else they go on, and it
 * waits for a decision from elsewhere until they are over. Calls that may not run any more, all of them where a limit was
 * reached before, stay open for the round to settle.
 */
export const runAll = function*(env: Env.Env, progress: RoundProgress, calls: ReadonlyArray<Call>): Steps {
  if (calls.length === 0 || !progress.mayRun()) return
  const lanes = new Lanes(env, progress, calls.length)
  const { places } = lanes
  const first: Array<Next> = []
  // their intents are stored together, where no hook takes its time before one of them
  for (const call of calls.slice(0, places > 1 && env.hooks.at.beforeToolCall.length > 0 ? 0 : places)) {
    const judged = Judging.judge(env, call)
    const verdict = judged._tag === "Wait" ? yield* judged.verdict : judged
    if (verdict._tag === "Run") CallStep.start(env, verdict.call)
    first.push(verdict._tag === "Run" ? { ...verdict, _tag: "Started" } : verdict)
  }
  yield* env.journal.commit
  if (places === 1) yield* oneByOne(lanes, calls, first)
  else yield* atOnce(lanes, calls, first)
}

/** `first`: what the first calls need next. */
const oneByOne = function*(lanes: Lanes, calls: ReadonlyArray<Call>, first: ReadonlyArray<Next>): Steps {
  const { env, progress } = lanes
  let isHeld = false
  for (const [i, call] of calls.entries()) {
    if (i > 0 && !progress.mayRun()) break
    const judged = first[i] ?? Judging.judge(env, call)
    const next = judged._tag === "Wait" ? yield* judged.verdict : judged
    const isFree = next._tag === "Run" && call.phase === "pending" && call.decision === undefined
    if (isFree && isHeld) continue
    if (next._tag === "Settle") CallStep.settle(env, next.call, next.outcome, next)
    else if (next._tag !== "Ask") yield* perform(lanes, next)
    else {
      const decided = yield* Approval.obtain(lanes, next.call)
      if (decided !== undefined) yield* perform(lanes, { _tag: "Run", call: decided })
    }
    isHeld ||= OpenCall.indexOf(env.journal.state.openCalls, call.callId) >= 0
  }
}

/** The same of calls that run at once. */
const atOnce = (lanes: Lanes, calls: ReadonlyArray<Call>, first: ReadonlyArray<Next>): Running => {
  const work = (call: Call, i: number) => {
    const judged = first[i] ?? Judging.judge(lanes.env, call)
    return judged._tag === "Wait"
      ? Effect.flatMap(judged.verdict, (verdict) => enter(lanes, verdict))
      : enter(lanes, judged)
  }
  return Effect.forEach(calls, work, { concurrency: "unbounded", discard: true })
}

/** An `Exit` where there is nothing to wait for: the call is over, or whoever has a place takes it up. */
const enter = (lanes: Lanes, next: Next): Running => {
  switch (next._tag) {
    case "Settle":
      CallStep.settle(lanes.env, next.call, next.outcome, next)
      return leave(lanes)
    case "Ask":
      return Effect.gen(function*() {
        const decided = yield* Approval.obtain(lanes, next.call)
        if (decided === undefined) return yield* leave(lanes)
        // what a person said is stored now, where that is not with the intent
        if (lanes.isFull) yield* lanes.env.journal.commit
        yield* queue(lanes, { _tag: "Run", call: decided })
      })
    case "Run":
    case "Started":
      return queue(lanes, next)
  }
}

/** The last outcome of a round is stored with the end of the turn, and one behind another with its intent. */
const leave = (lanes: Lanes): Running => lanes.leave() > 0 ? lanes.env.journal.commit : Effect.void

const queue = (lanes: Lanes, next: Runnable): Running => {
  if (lanes.isFull) {
    lanes.waiting.push(next)
    return Effect.void
  }
  // taken with the look at it: until it begins to run, others may look
  lanes.taken++
  return Effect.gen(() => inPlace(lanes, next))
}

/** Runs the call, and then those that wait for a place. */
const inPlace = function*(lanes: Lanes, first: Runnable): Steps {
  yield* perform(lanes, first)
  for (let next = lanes.waiting.shift(); next !== undefined; next = lanes.waiting.shift()) {
    lanes.leave()
    yield* perform(lanes, next)
  }
  lanes.taken--
  yield* leave(lanes)
}

/** Runs the handler; the intent is stored before, together with what is recorded by then. */
const perform = function*({ env, progress }: Lanes, { _tag, call }: Runnable): Steps {
  if (_tag === "Run") {
    if (!progress.mayRun()) return
    CallStep.start(env, call)
    yield* env.journal.commit
  }
  // an abort that was accepted is carried out once that is stored: nothing starts before
  if (env.journal.state.abortRequested !== undefined) return yield* Effect.never
  progress.began()
  progress.ended(call, yield* CallStep.run(env, call))
}
