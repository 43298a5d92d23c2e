/**
 * One turn after the other: the context is made to fit, the model is called, its answer settled, and the turn concluded.
 *
 * The parts of a turn are generators that `yield*` takes up in place: one that waits for nothing costs no operation of its own.
 *
 * Does not own how the context is made smaller (`Fitting`), a call retried (`ModelCall`), what follows from the answer
 * (`Concluding`), nor the end of a drive (`Drive`).
 */
import * as Effect from "effect/Effect"
import type * as Message from "../../run/Message.ts"
import type * as RunError from "../../run/RunError.ts"
import * as RunState from "../../run/RunState.ts"
import * as RunDecision from "../../run/state/RunDecision.ts"
import * as Transcript from "../../run/Transcript.ts"
import * as Prices from "../../services/Prices.ts"
import type * as Env from "../env/Env.ts"
import * as Concluding from "./Concluding.ts"
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
  if (RunState.isTurnOpen(journal.state)) {
    const ended = yield* Concluding.concludeOpen(env)
    if (ended !== undefined) return ended
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
    const ended = yield* Concluding.conclude(asked, settle(asked, result))
    if (ended !== undefined) return ended
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
): Concluding.Answer => {
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
