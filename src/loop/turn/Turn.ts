/**
 * One turn: the context is made to fit, the model is called, its tools run, and it is decided what goes on.
 *
 * Its parts are generators that `yield*` takes up in place: one that waits for nothing costs no operation of its own.
 *
 * Does not own how the context is made smaller (`Compacting`), a call retried (`ModelCall`), tools run (`ToolRound`), nor the
 * end of a drive (`Drive`).
 */
import * as Effect from "effect/Effect"
import * as DoomLoop from "../../run/DoomLoop.ts"
import type * as Message from "../../run/Message.ts"
import * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as RunState from "../../run/RunState.ts"
import * as RunDecision from "../../run/state/RunDecision.ts"
import * as Transcript from "../../run/Transcript.ts"
import * as Usage from "../../run/Usage.ts"
import * as Prices from "../../services/Prices.ts"
import type * as Env from "../env/Env.ts"
import * as HookRun from "../env/HookRun.ts"
import * as Stopping from "../round/Stopping.ts"
import * as ToolRound from "../round/ToolRound.ts"
import * as CurrentModel from "./CurrentModel.ts"
import * as Ended from "./Ended.ts"
import * as Fitting from "./Fitting.ts"
import * as ModelCall from "./ModelCall.ts"
import * as ModelHooks from "./ModelHooks.ts"
import * as Offer from "./Offer.ts"
import * as Sizing from "./Sizing.ts"

/** Takes turns until the run ends, beginning with the one that an earlier drive left open. */
export const takeTurns = Effect.fnUntraced(function*(env: Env.Env): Effect.fn.Return<Ended.Ended, RunError.RunError> {
  const { hooks, journal, rules: { prepareTurn } } = env
  const before = journal.state
  if (RunState.isTurnOpen(before)) {
    const hasCalls = (before.answer?.calls ?? before.openCalls.length) > 0
    const isEmpty = before.answer?.isBlank ?? false
    const ending = yield* conclude(Offer.cut(env, before.offered), { hasCalls, isEmpty, latency: noLatency })
    if (ending !== undefined) return ending
  }
  while (true) {
    const limit = RunDecision.limitReached(journal.state, journal.now())
    if (limit !== undefined) return Ended.limited(limit)
    const prepared = prepareTurn === undefined ? env : yield* Offer.prepare(env, prepareTurn)
    const tooMuch = Fitting.tooMuch(prepared)
    if (tooMuch !== undefined) {
      const limited = yield* Fitting.makeRoom(prepared, tooMuch, "contextMustShrink")
      if (limited !== undefined) return limited
      continue
    }
    env.inbox.receive(journal)
    awaitModel(env)
    const prompt = hooks.at.beforeModelCall.length > 0 ? yield* ModelHooks.before(prepared) : undefined
    const turn: Env.Env = prompt === undefined ? prepared : { ...prepared, ...prompt.offer }
    const added = prompt === undefined ? undefined : Fitting.tooMuch(turn, prompt.messages)
    if (added !== undefined) {
      const limited = yield* Fitting.makeRoom(turn, added, "contextMustShrink")
      if (limited !== undefined) return limited
      continue
    }
    startTurn(turn, turn.tools.length < env.tools.length, prompt?.messages)
    journal.move("messagesReady")
    yield* journal.commit
    env.inbox.answer()
    const result = yield* ModelCall.run(turn, prompt?.messages)
    if (result._tag === "Limited") return Ended.limited(result.reason)
    if (result._tag === "Overflow" || result._tag === "Compact") {
      const limited = yield* result._tag === "Overflow"
        ? Fitting.afterOverflow(turn, result.error, prompt?.messages)
        : Fitting.makeRoom(turn, result.request, "contextOverflow")
      if (limited !== undefined) return limited
      continue
    }
    const asked = result.tools === turn.tools ? turn : { ...turn, tools: result.tools }
    const ending = yield* conclude(asked, settle(asked, result))
    if (ending !== undefined) return ending
  }
})

/** A model has something to answer. */
const awaitModel = ({ journal }: Env.Env): void => {
  if (!Transcript.awaitsModel(journal.transcript)) {
    journal.record({ _tag: "NoticeAdded", kind: "resume", text: "Go on." })
  }
}

/** `isCut`: it is offered fewer tools than the run may use. */
const startTurn = (env: Env.Env, isCut: boolean, messages: ReadonlyArray<Message.Message> | undefined): void => {
  const { inputDigest, journal, tools } = env
  const { seq, totals } = journal.state
  const { contextWindow, name, provider } = CurrentModel.of(env).info
  const started = {
    _tag: "TurnStarted" as const,
    turn: totals.turns + 1,
    model: { provider, name },
    promptSeq: seq,
    inputDigest
  }
  const offered = isCut ? { ...started, tools: tools.map(({ name }) => name) } : started
  journal.record(contextWindow === undefined ? offered : { ...offered, size: Sizing.sent(env, messages) })
}

/** Records the settled answer. */
const settle = (
  { journal, prices }: Env.Env,
  result: Extract<ModelCall.Result, { _tag: "Settled" }>
): Answer => {
  const { attempt, content, duration, finishReason, firstPart, isEmpty, model, usage } = result
  journal.record({
    _tag: "AssistantMessage",
    turn: journal.state.turn,
    attempt,
    message: { role: "assistant", content },
    finishReason,
    model: { provider: model.provider, name: model.name },
    usage: Prices.costed(prices, model, usage)
  })
  return { hasCalls: journal.state.openCalls.length > 0, isEmpty, latency: { firstPart, model: duration } }
}

/** The settled answer that a turn is concluded from. */
interface Answer {
  readonly hasCalls: boolean
  readonly isEmpty: boolean
  readonly latency: Latency
}

interface Latency {
  readonly firstPart: number
  readonly model: number
}

/** An earlier drive made the call. */
const noLatency: Latency = { firstPart: 0, model: 0 }

/** From the answer through its tool round to the decision; gives the ending, or nothing where another turn follows. */
const conclude = function*(
  env: Env.Env,
  { hasCalls, isEmpty, latency }: Answer
): Effect.fn.Return<Ended.Ended | undefined, RunError.RunError> {
  const { hooks, journal } = env
  const { answer, text, turn } = journal.state
  const { attempt: attempts, finishReason, usage } = answer ?? noAnswer
  if (hooks.at.afterModelCall.length > 0) yield* ModelHooks.after(env)
  const startedAt = journal.now()
  // a turn taken up again stands at its round, also one without calls
  const isRound = hasCalls || journal.status === "tool_running"
  const round = isRound ? yield* ToolRound.run(env, finishReason) : ToolRound.none
  if (round.isWaiting) return { _tag: "RunSuspended", reason: "approval" }
  if (!isRound) journal.move("settledWithoutCalls")

  const stoppedBy = round.isStopped
    ? "stopBefore"
    : Stopping.isAsked(env, round, finishReason) && (yield* Stopping.after(env))
    ? "stopWhen"
    : undefined
  const settled: RunDecision.Settled = {
    finishReason,
    hasCalls,
    isEmpty,
    cutBy: round.cutBy,
    toolError: round.toolError,
    loop: loopOf(env),
    stoppedBy,
    invalidOutput: hasCalls && stoppedBy === undefined ? undefined : env.checkOutput(text)
  }
  const at = journal.now()
  const decision = RunDecision.decide(journal.state, settled, at)
  const finished = {
    _tag: "TurnFinished" as const,
    turn,
    finishReason,
    latency: { firstPart: latency.firstPart, model: latency.model, tools: hasCalls ? at - startedAt : 0 },
    attempts,
    usage,
    decision
  }
  journal.record(hooks.times === undefined ? finished : { ...finished, ...HookRun.takeTimes(env) })
  if (decision._tag !== "Continue") return yield* end(env, decision)
  goOn(env, decision.reason)
  return undefined
}

const noAnswer = { attempt: 0, finishReason: "unknown", usage: Usage.zero } as const

/** Asked after a turn, and again where its decision is carried out: nothing comes between that calls could change. */
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
      return { ...Ended.limited(decision.reason), ...(loop === undefined ? {} : { loop }) }
    }
    case "Fail":
      if (journal.status === "observing") journal.move("invalidOutput")
      return yield* RunError.fromStored(decision.error)
    case "Compact": {
      const limit = RunDecision.limitReached(journal.state, journal.now())
      return limit === undefined ? yield* Fitting.afterLength(env) : Ended.limited(limit)
    }
  }
}

/** Another turn follows, which begins with what there is to be said of this one. */
const goOn = (env: Env.Env, reason: Extract<RunEvent.Decision, { _tag: "Continue" }>["reason"]): void => {
  const { journal } = env
  journal.move("continue")
  if (reason === "correction") {
    journal.record({
      _tag: "NoticeAdded",
      kind: "invalidOutput",
      text: `Your answer does not fit the output schema: ${env.checkOutput(journal.state.text)} ` +
        "Answer again, with nothing but JSON that fits it."
    })
  }
  if (reason === "doomLoop") {
    const { loop } = loopOf(env)!
    journal.record({ _tag: "NoticeAdded", kind: "doomLoop", text: DoomLoop.notice(loop), loop })
  }
}
