/**
 * Runs the open calls of a round: one by one, or so many at once as the policy says.
 *
 * Does not own what a call needs (`Judging`), its steps (`CallStep`), what a round knows of itself (`RoundProgress`), nor what
 * becomes of calls that may not run (`ToolRound`).
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Env from "../env/Env.ts"
import * as CallStep from "./CallStep.ts"
import * as Judging from "./Judging.ts"
import * as Question from "./Question.ts"
import type { RoundProgress } from "./RoundProgress.ts"

type Call = OpenCall.OpenCall
type Running = Effect.Effect<void, SessionStore.StoreError>
type Steps<A = void> = Effect.fn.Return<A, SessionStore.StoreError>

/** What the calls of a round have in common while they run. */
class Lanes {
  readonly env: Env.Env
  readonly progress: RoundProgress
  /** how many run at once */
  readonly places: number
  /** how many of the places are taken */
  taken = 0
  /** calls that may run, and wait for one of the places */
  readonly waiting: Array<Call> = []
  #left: number
  #idle: Deferred.Deferred<void> | undefined
  #line: Semaphore.Semaphore | undefined

  constructor(env: Env.Env, progress: RoundProgress, calls: number) {
    this.env = env
    this.progress = progress
    this.places = Math.max(1, Math.min(env.policy.maxParallel ?? 1, calls))
    this.#left = calls
  }

  /** for one question after the other */
  get line(): Semaphore.Semaphore {
    return this.#line ??= Semaphore.makeUnsafe(1)
  }

  /** A call is over; gives how many are left. */
  leave(): number {
    this.#left--
    if (this.#left === 0 && this.#idle !== undefined) Deferred.doneUnsafe(this.#idle, Effect.void)
    return this.#left
  }

  /** What a call does for which nobody answers: it waits for all others, where they may run meanwhile. */
  get nobody(): Effect.Effect<void> {
    return this.places === 1 ? Effect.void : Effect.suspend(() => {
      const idle = this.#idle ??= Deferred.makeUnsafe<void>()
      this.leave()
      return Effect.onInterrupt(Deferred.await(idle), () => Effect.sync(() => this.#left++))
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
  // the intents of the first calls are stored together, where no hook takes its time before one of them
  const first = calls.slice(0, places > 1 && env.hooks.at.beforeToolCall.length > 0 ? 0 : places)
  const verdicts: Array<Judging.Verdict> = []
  for (const call of first) {
    const judged = judge(env, call)
    const verdict = judged._tag === "Wait" ? yield* judged.verdict : judged
    if (verdict._tag === "Run") CallStep.start(env, verdict.call ?? call)
    verdicts.push(verdict)
  }
  yield* env.journal.commit
  if (places === 1) yield* oneByOne(lanes, calls, verdicts)
  else yield* atOnce(lanes, calls, verdicts)
}

/** `verdicts`: of the first calls, whose intents are stored where they run. */
const oneByOne = function*(
  lanes: Lanes,
  calls: ReadonlyArray<Call>,
  verdicts: ReadonlyArray<Judging.Verdict>
): Steps {
  const { env, progress } = lanes
  let isHeld = false
  for (const [i, call] of calls.entries()) {
    if (i > 0 && !progress.mayRun()) break
    const judged = verdicts[i] ?? judge(env, call)
    const verdict = judged._tag === "Wait" ? yield* judged.verdict : judged
    const isFree = verdict._tag === "Run" && call.phase === "pending" && call.decision === undefined
    if (isFree && isHeld) continue
    if (verdict._tag === "Settle") CallStep.settle(env, call, verdict.outcome, verdict)
    else if (verdict._tag === "Run") yield* perform(lanes, verdict.call ?? call, i < verdicts.length)
    else {
      const decided = yield* ask(lanes, verdict.call ?? call)
      if (decided !== undefined) yield* perform(lanes, decided, false)
    }
    isHeld ||= OpenCall.indexOf(env.journal.state.openCalls, call.callId) >= 0
  }
}

const atOnce = (lanes: Lanes, calls: ReadonlyArray<Call>, verdicts: ReadonlyArray<Judging.Verdict>): Running => {
  const work = (call: Call, i: number) => {
    const judged = verdicts[i] ?? judge(lanes.env, call)
    return judged._tag === "Wait"
      ? Effect.flatMap(judged.verdict, (verdict) => enter(lanes, call, verdict, false))
      : enter(lanes, call, judged, i < verdicts.length)
  }
  return Effect.forEach(calls, work, { concurrency: "unbounded", discard: true })
}

/** An `Exit` where there is nothing to wait for: the call is over, or whoever has a place takes it up. */
const enter = (lanes: Lanes, given: Call, verdict: Judging.Verdict, isStarted: boolean): Running => {
  const call = verdict._tag === "Settle" ? given : verdict.call ?? given
  switch (verdict._tag) {
    case "Settle":
      CallStep.settle(lanes.env, call, verdict.outcome, verdict)
      return over(lanes)
    case "Ask":
      return Effect.gen(function*() {
        const decided = yield* ask(lanes, call)
        if (decided !== undefined) yield* queue(lanes, decided, false)
        else yield* over(lanes)
      })
    case "Run":
      return queue(lanes, call, isStarted)
  }
}

/** The last outcome of a round is stored with the end of the turn, and one behind another with its intent. */
const over = (lanes: Lanes): Running => lanes.leave() > 0 ? lanes.env.journal.commit : Effect.void

const queue = (lanes: Lanes, call: Call, isStarted: boolean): Running => {
  if (lanes.taken >= lanes.places) {
    lanes.waiting.push(call)
    return Effect.void
  }
  // taken with the look at it: until it begins to run, others may look
  lanes.taken++
  return Effect.gen(() => inPlace(lanes, call, isStarted))
}

/** Runs the call, and then those that wait for a place. */
const inPlace = function*(lanes: Lanes, first: Call, isStarted: boolean): Steps {
  yield* perform(lanes, first, isStarted)
  for (let next = lanes.waiting.shift(); next !== undefined; next = lanes.waiting.shift()) {
    lanes.leave()
    yield* perform(lanes, next, false)
  }
  lanes.taken--
  yield* over(lanes)
}

/** The call with the arguments that it goes on with, once a person has decided about them; `n` counts the questions from 1. */
const ask = function*(lanes: Lanes, asked: Call, n = 1): Steps<Call | undefined> {
  const { env, places, progress } = lanes
  const decided = yield* decision(lanes, asked)
  if (decided === undefined) return undefined
  const verdict = yield* Judging.rejudge(env, decided, n)
  const call = verdict._tag === "Settle" ? decided : verdict.call ?? decided
  if (verdict._tag === "Ask") return yield* ask(lanes, call, n + 1)
  if (verdict._tag === "Settle") {
    CallStep.settle(env, call, verdict.outcome, verdict)
    progress.look()
    return undefined
  }
  // with the intent, where that follows at once
  if (progress.running >= places) yield* env.journal.commit
  return call
}

/** Those of a round's calls that have no outcome, as they stand now. */
export const stillOpen = ({ journal }: Env.Env, calls: ReadonlyArray<Call>): ReadonlyArray<Call> =>
  journal.state.openCalls.filter(({ callId }) => calls.some((call) => call.callId === callId))

/** What is known is not kept back by a rule that takes its time. */
const judge = (env: Env.Env, call: Call): Judging.Judged<SessionStore.StoreError> => {
  const judged = Judging.judge(env, call)
  return judged._tag === "Wait"
    ? { _tag: "Wait", verdict: Effect.andThen(env.journal.commit, judged.verdict) }
    : judged
}

/** Stores the intent together with what is recorded by then, unless it is stored already, and runs the handler. */
const perform = function*({ env, progress }: Lanes, call: Call, isStarted: boolean): Steps {
  if (!isStarted) {
    if (!progress.mayRun()) return
    CallStep.start(env, call)
    yield* env.journal.commit
  }
  // an abort that was accepted is carried out once that is stored: nothing starts before
  if (env.journal.state.abortRequested !== undefined) return yield* Effect.never
  progress.began()
  progress.ended(call, yield* CallStep.run(env, call))
}

/** The call once somebody has decided about it; not while nobody does, nor once the round is over. */
const decision = Effect.fnUntraced(function*({ env, line, nobody, progress }: Lanes, call: Call) {
  if (!progress.mayRun()) return undefined
  // one after the other, so that the log has the questions in call order
  const question = yield* line.withPermit(Question.request(env, call))
  const isNew = progress.asked(question.approvalId)
  yield* env.journal.commit
  progress.look()
  const word = isNew ? Question.asking(env, question, nobody) : nobody
  yield* Effect.raceFirst(Question.answered(env, question, word), progress.over)
  const now = stillOpen(env, [call])[0]
  if (now?.decision === undefined) return undefined
  progress.answered(question.approvalId)
  return now
})
