/**
 * Has a model read a conversation, piece by piece where it does not fit the model's window at once. Each piece comes with what
 * is remembered of those before it.
 *
 * Does not own what is asked (`Way`), nor how a failed call is tried again (`Ask`).
 */
import * as Effect from "effect/Effect"
import * as Message from "../../run/Message.ts"
import type * as RunError from "../../run/RunError.ts"
import * as ContextManager from "../../services/ContextManager.ts"
import type * as Model from "../../services/Model.ts"
import * as Ask from "./Ask.ts"
import type * as Call from "./Call.ts"
import * as MessageText from "./MessageText.ts"
import * as Strategy from "./Strategy.ts"
import * as Way from "./Way.ts"

type Failure = ContextManager.CompactionError | RunError.RunError["reason"]

/** What a reading works with; `budget` is the number of tokens that the memory may take. */
export interface Task<A> {
  readonly model: Model.Model["Service"]
  readonly way: Way.Way<A>
  readonly view: ContextManager.View
  /** the first words of the conversation */
  readonly first: string
  readonly budget: number
}

/** How often pieces are halved when a provider says they are too large: its window may differ from the one we know of. */
const halvings = 2

/**
 * What is remembered of `messages`, in order, on top of `before`. Fails with the reason of the model's failure, or when its
 * answers say nothing.
 */
export const read = Effect.fnUntraced(function*<A>(
  task: Task<A>,
  messages: ReadonlyArray<Message.Message>,
  before: A | undefined
): Effect.fn.Return<A, Failure> {
  const { ofText } = task.view.size
  let remembered = before
  let left = MessageText.pieces(MessageText.texts(messages), roomOf(task, before), ofText)
  let halved = 0
  while (left.length > 0) {
    const [piece, ...rest] = left
    const result: Effect.Effect<A, Failure> = about(task, remembered, piece!.join("\n\n"))
    const answered = yield* Effect.result(result)
    if (answered._tag === "Success") {
      remembered = answered.success
      left = rest
    } else if (answered.failure._tag === "ContextOverflow" && halved < halvings) {
      halved++
      left = MessageText.pieces(left.flat(), Math.ceil(ofText(piece!.join("\n\n")) / 2), ofText)
    } else {
      return yield* Effect.fail(answered.failure)
    }
  }
  return remembered === undefined ? yield* Strategy.nothingToLeaveOut() : remembered
})

/** Estimates may be lower than what a provider counts. */
const margin = 0.75

/** Tokens that a piece may take, so that question and answer fit the model's window too. */
const roomOf = <A>({ budget, first, model, view, way }: Task<A>, before: A | undefined): number => {
  const { contextWindow } = model.info
  if (contextWindow === undefined) return Infinity
  const { ofText } = view.size
  const asked = ofText(way.system) + ofText(Way.question(way, { before: undefined, first, budget }, ""))
  // what is remembered grows with each piece, up to its budget
  const remembered = before === undefined ? budget : Math.max(budget, ofText(way.render(before)))
  return Math.max(contextWindow / 10, contextWindow * margin - asked - remembered - budget)
}

/** The share of the window that stays free when a question is asked a second time. */
const edge = 0.05

/** An answer as it is repeated to the model: as much of it as leaves room for the next one. */
const repeated = <A>({ budget, model, view, way }: Task<A>, question: string, answer: string): string => {
  const { contextWindow } = model.info
  if (contextWindow === undefined) return answer
  const { ofText } = view.size
  const left = contextWindow * (1 - edge) - ofText(way.system) - ofText(question) - ofText(cut.toModel) - budget
  return MessageText.fit(answer, Math.max(1, left), ofText)
}

const cut: Way.Problem = {
  toModel: "Your answer was cut at the output limit. Write it again, in at most half as many words.",
  toPeople: "its answer was cut at the output limit"
}

const blank: Way.Problem = { toModel: "the answer says nothing", toPeople: "its answer says nothing" }

/** What is remembered once `piece` is read too. Asks once more after an answer with a problem; the better answer counts. */
const about = Effect.fnUntraced(function*<A>(
  task: Task<A>,
  before: A | undefined,
  piece: string
): Effect.fn.Return<A, Failure> {
  const { budget, first, model, view, way } = task
  const ask = (messages: ReadonlyArray<Message.Message>): Effect.Effect<Ask.Answer, Failure> => {
    const question: Call.Question = {
      messages: [{ role: "system", content: way.system }, ...messages],
      ...(way.output === undefined ? {} : { output: way.output }),
      metadata: view.metadata
    }
    return Effect.mapError(Ask.ask(model, question, view.ledger), ({ reason }) => reason)
  }
  const words = Way.question(way, { before, first, budget }, piece)
  const question = Message.user(words)
  const answer = yield* ask([question])
  const take = ({ isCut, text }: Ask.Answer): Way.Taken<A> => {
    const taken = way.take({ before, first, budget, answer: text, count: view.size.ofText })
    return isCut ? { ...taken, problem: cut } : taken
  }
  const taken = take(answer)
  if (taken.problem === undefined && taken.value !== undefined) return taken.value
  const problem = taken.problem ?? blank
  const said: Message.AssistantMessage = {
    role: "assistant",
    content: [Message.text(repeated(task, words, answer.text))]
  }
  const again = yield* Effect.result(ask([question, said, Message.user(problem.toModel)]))
  const last = again._tag === "Success" ? take(again.success) : taken
  const value = last.value ?? taken.value
  if (value !== undefined) return value
  return yield* new ContextManager.CompactionError({ message: (last.problem ?? problem).toPeople })
})
