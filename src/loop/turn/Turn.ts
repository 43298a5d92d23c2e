/**
 * One turn after the other: the context is made to fit, the model is called, its answer settled, and the turn concluded.
 *
 * The parts of a turn are generators that `yield*` runs in place: one that waits for nothing costs no operation of its own.
 *
 * Does not own how the context is made smaller (`Fitting`), how a turn begins in the log (`TurnStart`), how a call is retried
 * (`ModelCall`), what follows from the answer (`Concluding`), nor the end of a drive (`Drive`).
 */
import * as Effect from "effect/Effect"
import type * as Message from "../../run/Message.ts"
import type * as RunError from "../../run/RunError.ts"
import * as RunState from "../../run/RunState.ts"
import * as Model from "../../services/Model.ts"
import type * as Env from "../env/Env.ts"
import * as Inbox from "../env/Inbox.ts"
import * as AnswerUsage from "./AnswerUsage.ts"
import * as Concluding from "./Concluding.ts"
import * as CurrentModel from "./CurrentModel.ts"
import * as Ended from "./Ended.ts"
import * as Fitting from "./Fitting.ts"
import * as ModelCall from "./ModelCall.ts"
import * as ModelHooks from "./ModelHooks.ts"
import * as Offer from "./Offer.ts"
import * as TurnStart from "./TurnStart.ts"

/** Takes turns until the run ends, beginning with the one that an earlier drive left open. */
export const takeTurns = Effect.fnUntraced(function*(env: Env.Env): Effect.fn.Return<Ended.Ended, RunError.RunError> {
  const { budget, hooks, journal, rules: { prepareTurn } } = env
  let ended = RunState.isTurnOpen(journal.state) ? yield* Concluding.concludeOpen(env) : undefined
  while (ended === undefined) {
    const limit = budget.limitReached(journal.now)
    if (limit !== undefined) return Ended.limited(limit)
    const prepared = prepareTurn === undefined ? env : yield* Offer.prepare(env, prepareTurn)
    // what comes while hooks look at these waits for the turn after
    const due = Inbox.due(journal)
    const prompt = hooks.at.beforeModelCall.length > 0
      ? yield* ModelHooks.before(prepared, TurnStart.planned(journal, due))
      : undefined
    const messages = prompt?.messages
    const turn: Env.Env = prompt === undefined ? prepared : { ...prepared, ...prompt.offer }
    // what hooks leave is what is sent
    const tooMuch = yield* Fitting.tooMuch(turn, messages)
    if (tooMuch !== undefined) {
      ended = yield* Fitting.makeRoom(turn, tooMuch, "contextMustShrink")
      continue
    }
    const model = CurrentModel.of(turn)
    env.inbox.receive(journal, due)
    TurnStart.awaitModel(journal)
    TurnStart.first(turn, model, turn.tools.length < env.tools.length, messages)
    journal.move("messagesReady")
    yield* journal.commit
    env.inbox.tell()
    const result = yield* ModelCall.run(turn, model, messages)
    if (result._tag === "Settled") {
      const asked = result.tools === turn.tools ? turn : { ...turn, tools: result.tools }
      const uncounted = settle(asked, result)
      if (uncounted !== undefined) yield* uncounted
      ended = yield* Concluding.conclude(asked, { firstPart: result.firstPart, model: result.duration })
    } else ended = yield* unanswered(turn, result, messages)
  }
  return ended
})

/** Records the settled answer; returns the warning that its usage calls for, if any. */
const settle = (
  env: Env.Env,
  { attempt, content, finishReason, model, sources, usage: used }: Extract<ModelCall.Result, { _tag: "Settled" }>
): Effect.Effect<void> | undefined => {
  const { journal, prices } = env
  const usage = AnswerUsage.costed(prices, model, used)
  journal.record({
    _tag: "AssistantMessage",
    turn: journal.state.turn,
    attempt,
    message: { role: "assistant", content },
    finishReason,
    model: Model.refOf(model),
    usage,
    ...(sources === undefined ? {} : { sources })
  })
  return AnswerUsage.warning(env, usage)
}

/** What follows a call that has no answer: how the run ends, or nothing where another turn is tried. */
const unanswered = function*(
  env: Env.Env,
  result: Exclude<ModelCall.Result, { _tag: "Settled" }>,
  messages: ReadonlyArray<Message.Message> | undefined
): Effect.fn.Return<Ended.Limited | undefined, RunError.RunError> {
  switch (result._tag) {
    case "Limited":
      return Ended.limited(result.reached)
    case "Overflow":
      return yield* Fitting.afterOverflow(env, result.error, messages)
    case "Compact":
      return yield* Fitting.makeRoom(env, result.request, "contextOverflow")
  }
}
