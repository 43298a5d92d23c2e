/**
 * From the settled answer of a turn, through its tool round, to the decision whether the run goes on, and what it goes on with.
 *
 * Does not own the round (`ToolRound`), what decides (`RunDecision`), nor how the next turn begins (`Turn`).
 */
import type * as Effect from "effect/Effect"
import * as DoomLoop from "../../run/DoomLoop.ts"
import * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as RunDecision from "../../run/state/RunDecision.ts"
import * as Transcript from "../../run/Transcript.ts"
import * as Usage from "../../run/Usage.ts"
import * as Stopwatch from "../../services/fibers/Stopwatch.ts"
import type * as Env from "../env/Env.ts"
import * as HookRun from "../env/HookRun.ts"
import * as StopConditions from "../round/StopConditions.ts"
import * as ToolRound from "../round/ToolRound.ts"
import * as Ended from "./Ended.ts"
import * as Fitting from "./Fitting.ts"
import * as ModelHooks from "./ModelHooks.ts"
import * as Offer from "./Offer.ts"

/** In milliseconds: how long the model call of a turn took to its first part, and as a whole. */
interface Latency {
  readonly firstPart: number
  readonly model: number
}

/** From the answer through its tool round to the decision; returns the ending, or nothing where another turn follows. */
export const conclude = function*(
  env: Env.Env,
  latency: Latency
): Effect.fn.Return<Ended.Ended | undefined, RunError.RunError> {
  const { budget, hooks, journal } = env
  const { transcript } = journal
  const { answer, openCalls, text, turn } = journal.state
  const hasCalls = (answer?.calls ?? openCalls.length) > 0
  const { attempt: attempts, finishReason, usage } = answer ?? noAnswer
  if (hooks.at.afterModelCall.length > 0) yield* ModelHooks.after(env)
  const elapsed = Stopwatch.start(env.clock)
  // a turn that is taken up again is at its round, even without calls
  const isRound = hasCalls || journal.status === "tool_running"
  const round = isRound ? yield* ToolRound.run(env, finishReason) : ToolRound.none
  if (round.isWaiting) return { _tag: "RunSuspended", reason: "approval" }
  if (!isRound) journal.move("settledWithoutCalls")

  const stoppedBy = round.isStopped
    ? "stopBefore"
    : StopConditions.isAsked(env, round, finishReason) && (yield* StopConditions.after(env))
    ? "stopWhen"
    : undefined
  const settled: RunDecision.Settled = {
    finishReason,
    hasCalls,
    // the log says what the answer follows, also to a drive that did not make the model call
    addsNothing: answer?.isBlank === true && Transcript.last(transcript)?.role === "tool",
    cutBy: round.cutBy,
    toolError: round.toolError,
    loop: loopOf(env),
    stoppedBy,
    isSpentAround: budget.limitAround() !== undefined,
    // an answer that a filter cut off is the last one, whatever it was to call
    invalidOutput: hasCalls && stoppedBy === undefined && finishReason !== "content-filter"
      ? undefined
      : env.checkOutput(text)
  }
  const tools = hasCalls ? elapsed() : 0
  const decision = RunDecision.decide(journal.state, settled, journal.now())
  const finished = {
    _tag: "TurnFinished" as const,
    turn,
    finishReason,
    latency: { firstPart: latency.firstPart, model: latency.model, tools },
    attempts,
    usage,
    decision
  }
  journal.record(hooks.times === undefined ? finished : { ...finished, ...HookRun.takeTimes(env) })
  if (decision._tag !== "Continue") return yield* end(env, decision)
  beginAnother(env, decision.reason)
  return undefined
}

/** Concludes the turn that an earlier drive left open; that drive made its model call. */
export const concludeOpen = (env: Env.Env): ReturnType<typeof conclude> =>
  conclude(Offer.cut(env, env.journal.state.offered), noLatency)

const noLatency: Latency = { firstPart: 0, model: 0 }

const noAnswer = { attempt: 0, finishReason: "unknown", usage: Usage.zero } as const

/** Asked after a turn, and again where its decision is carried out: no call comes between that could change it. */
const loopOf = ({ doomLoop, journal }: Env.Env): DoomLoop.Verdict | undefined =>
  doomLoop === undefined ? undefined : DoomLoop.judge(journal.state.trail, doomLoop)

const end = function*(
  env: Env.Env,
  decision: Exclude<RunEvent.Decision, { _tag: "Continue" }>
): Effect.fn.Return<Ended.Ended | undefined, RunError.RunError> {
  const { journal } = env
  switch (decision._tag) {
    case "Complete":
      return { _tag: "RunCompleted", reason: decision.reason }
    case "Limit": {
      const loop = decision.reason === "doomLoop" ? loopOf(env)?.loop : undefined
      return { ...Ended.limited({ reason: decision.reason }), ...(loop === undefined ? {} : { loop }) }
    }
    case "Fail":
      if (journal.status === "observing") journal.move("invalidOutput")
      return yield* RunError.fromStored(decision.error)
    case "Compact": {
      const limit = env.budget.limitReached(journal.now)
      return limit === undefined ? yield* Fitting.afterLength(env) : Ended.limited(limit)
    }
  }
}

/** Another turn follows, and begins with what there is to say about this one. */
const beginAnother = (env: Env.Env, reason: Extract<RunEvent.Decision, { _tag: "Continue" }>["reason"]): void => {
  const { journal } = env
  journal.move("continue")
  if (reason === "correction") {
    journal.record({
      _tag: "NoticeAdded",
      kind: "invalidOutput",
      text: `Your answer does not fit the output schema: ${env.checkOutput(journal.state.text)}\n` +
        "Answer again, with nothing but JSON that fits it."
    })
  }
  if (reason === "doomLoop") {
    const { loop } = loopOf(env)!
    journal.record({ _tag: "NoticeAdded", kind: "doomLoop", text: DoomLoop.notice(loop), loop })
  }
}
