/**
 * How many tokens the next request takes: what is to be sent, as the tokenizer counts it, corrected by what the provider
 * counted before.
 *
 * Does not own what is too much (`ContextManager`), nor what providers said (`Measure`).
 */
import type * as Message from "../../run/Message.ts"
import * as RunState from "../../run/RunState.ts"
import * as Measure from "../../run/state/Measure.ts"
import * as Usage from "../../run/Usage.ts"
import type * as ContextManager from "../../services/ContextManager.ts"
import * as Model from "../../services/Model.ts"
import type * as Env from "../env/Env.ts"
import * as Inbox from "../env/Inbox.ts"
import * as AnswerUsage from "./AnswerUsage.ts"
import * as CurrentModel from "./CurrentModel.ts"

/**
 * The context as a strategy is asked about it. `messages` are those that hooks made of it; they have the inputs that are due in them,
 * unless something forces a compaction (`force`): then those inputs come later.
 */
export const view = (
  env: Env.Env,
  force?: ContextManager.Force,
  messages?: ReadonlyArray<Message.Message>
): ContextManager.View => {
  const { journal, sessionId } = env
  const { info } = CurrentModel.of(env)
  return {
    transcript: journal.transcript,
    input: journal.state.end?._tag === "RunCompleted" ? undefined : journal.state.input?.messages,
    model: info,
    size: sizeOf(env, info, messages, messages === undefined || force !== undefined),
    force,
    inARow: journal.state.compactionsInARow,
    ledger: ledgerOf(env, force),
    metadata: { sessionId, runId: journal.runId, turn: RunState.nextTurn(journal.state), attempt: 0 }
  }
}

/** A run's limits bind what the run does by itself: a compaction by hand comes when it is over, and may ask a model. */
const ledgerOf = ({ budget, journal, prices }: Env.Env, force?: ContextManager.Force): ContextManager.Ledger => {
  let noted = Usage.zero
  return {
    mayAsk: () => force === "manual" || budget.limitReached(journal.now, noted) === undefined,
    note: (usage, model) => {
      const counted = Usage.counted(usage)
      noted = Usage.add(noted, model === undefined ? counted : AnswerUsage.costed(prices, model, counted))
    },
    noted: () => noted
  }
}

/** Tokens of what is sent, as they are counted here: for models whose window is known. */
export const sent = (env: Env.Env, messages?: ReadonlyArray<Message.Message>): number =>
  conversation(env) + besides(env, messages)

const sizeOf = (
  env: Env.Env,
  info: Model.ModelInfo,
  messages: ReadonlyArray<Message.Message> | undefined,
  hasWaiting: boolean
): ContextManager.Size => {
  const { contextWindow } = info
  if (contextWindow !== undefined) {
    const limit = contextWindow - Model.answerRoom(info)
    return new Size(env, messages, limit, Measure.correction(env.journal.state.measured, info, limit), hasWaiting)
  }
  return messages === undefined ? env.counter.sizeIn(env, unlimited) : new Size(env, messages, undefined, 1, hasWaiting)
}

/** Where no window is known, a size depends on the environment alone, so that all turns share one. */
const unlimited = (env: Env.Env): ContextManager.Size => new Size(env, undefined, undefined, 1, true)

/**
 * What a strategy is told, its numbers multiplied by `by`; nothing is counted before a strategy asks for it. A class: what a getter
 * of an object literal leads to outlives the run (`loop/README.md`, "What dies young").
 */
class Size implements ContextManager.Size {
  readonly limit: number | undefined
  readonly of: ContextManager.Size["of"]
  readonly ofText: ContextManager.Size["ofText"]
  readonly #env: Env.Env
  readonly #messages: ReadonlyArray<Message.Message> | undefined
  readonly #by: number
  /** the inputs that are due come on top of the messages */
  readonly #hasWaiting: boolean

  constructor(
    env: Env.Env,
    messages: ReadonlyArray<Message.Message> | undefined,
    limit: number | undefined,
    by: number,
    hasWaiting: boolean
  ) {
    const { counter } = env
    const of = (message: Message.Message) => counter.tokens.message(message) * by
    this.limit = limit
    this.of = of
    this.ofText = counter.ofText
    this.#env = env
    this.#messages = messages
    this.#by = by
    this.#hasWaiting = hasWaiting
  }

  get tokens(): number {
    return (conversation(this.#env) + this.#besides + this.#waiting) * this.#by
  }

  get fixed(): number {
    // hooks may leave out more than they add
    return (Math.max(0, this.#besides) + this.#waiting) * this.#by
  }

  get #besides(): number {
    return besides(this.#env, this.#messages)
  }

  get #waiting(): number {
    return this.#hasWaiting
      ? countOf(this.#env, Inbox.due(this.#env.journal).flatMap(({ messages }) => messages))
      : 0
  }
}

const conversation = ({ counter, journal }: Env.Env): number => counter.transcript(journal.transcript)

/** What is sent besides the conversation: tools and instructions; or, where hooks made the messages, tools and what those add to it. */
const besides = (env: Env.Env, messages: ReadonlyArray<Message.Message> | undefined): number => {
  const { counter, system, tools } = env
  return counter.tools(tools) + (messages === undefined
    ? system === undefined ? 0 : counter.tokens.message(system)
    : countOf(env, messages) - conversation(env))
}

const countOf = ({ counter }: Env.Env, messages: ReadonlyArray<Message.Message>): number =>
  counter.tokens.messages(messages)
