/**
 * Runs the open calls of a round: one by one, or as many at once as the policy allows.
 *
 * Does not own what a call needs (`Judging`), how it gets a person's decision (`Permission`), its steps (`CallStep`), which of the
 * calls that run at once runs when (`Slots`), nor what becomes of calls that may not run (`ToolRound`).
 */
import * as Effect from "effect/Effect"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Env from "../env/Env.ts"
import * as CallStep from "./CallStep.ts"
import * as Judging from "./Judging.ts"
import * as Permission from "./Permission.ts"
import type { RoundProgress } from "./RoundProgress.ts"
import { Slots } from "./Slots.ts"

type Steps = Effect.fn.Return<void, SessionStore.StoreError>
type Calls = ReadonlyArray<OpenCall.OpenCall>
type Next = Judging.Judged | CallStep.Runnable

/**
 * Runs calls, at most `maxParallel` at once; a call that waits for a person takes no slot. If nobody in this process answers the
 * question about a call, what happens meanwhile depends on how calls run:
 *
 * - one by one: people are asked about the later calls too, which then wait with it, except those that a person has decided about;
 * - at once: the others go on, and it waits for a decision from elsewhere until they are over.
 *
 * Calls that may no longer run stay open for the round to settle: all of them, if a limit was reached before.
 */
export const runAll = function*(env: Env.Env, progress: RoundProgress, calls: Calls): Steps {
  if (calls.length === 0 || !progress.mayRun()) return
  const slots = Math.max(1, Math.min(env.policy.maxParallel ?? 1, calls.length))
  const first: Array<Next> = []
  // the intents of calls that run at once are stored together; a verdict that takes its time holds up no sibling
  for (const call of calls.slice(0, slots)) {
    const judged = Judging.judge(env, call)
    if (judged._tag === "Run") CallStep.start(env, judged.call)
    first.push(judged._tag === "Run" ? { _tag: "Started", call: judged.call } : judged)
  }
  yield* env.journal.commit
  if (slots === 1) return yield* oneByOne(env, progress, calls, first)
  const all = new Slots(env, progress, slots, calls.length)
  yield* Effect.forEach(calls, (call, i) => all.letIn(first[i] ?? Judging.judge(env, call)), {
    concurrency: "unbounded",
    discard: true
  })
}

/** `first`: what the first call needs next. */
const oneByOne = function*(env: Env.Env, progress: RoundProgress, calls: Calls, first: ReadonlyArray<Next>): Steps {
  let isHeld = false
  for (const [i, call] of calls.entries()) {
    if (i > 0 && !progress.mayRun()) break
    const judged = first[i] ?? Judging.judge(env, call)
    const next = judged._tag === "Wait" ? yield* judged.verdict : judged
    const isMade = next._tag === "Settle" && next.isMade === true
    const isUndecided = (next._tag === "Run" || isMade) && call.phase === "pending" && call.decision === undefined
    if (isUndecided && isHeld) continue
    if (isMade && !progress.mayRun()) break
    if (next._tag === "Settle") {
      progress.ended(next.call, CallStep.settle(env, next.call, next.outcome, next))
    } else if (next._tag !== "Ask") yield* CallStep.perform(env, progress, next)
    else {
      const decided = yield* Permission.obtain({ env, progress, nobody: Effect.void }, next.call)
      if (decided !== undefined) yield* CallStep.perform(env, progress, { _tag: "Run", call: decided })
    }
    isHeld ||= OpenCall.find(env.journal.state.openCalls, call.callId) !== undefined
  }
}
