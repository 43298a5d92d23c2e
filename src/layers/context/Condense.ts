/**
 * A strategy by a model: the older part of a conversation is condensed into what is remembered of it, piece by piece where it
 * does not fit the model's window at once. Where the model cannot, old output of tools is left out instead.
 *
 * Does not own what is remembered (`ContextSummary`, `ContextKeyFacts`), nor where the conversation is cut (`Cut`).
 */
import * as Effect from "effect/Effect"
import type { Json } from "effect/Schema"
import * as Message from "../../run/Message.ts"
import type * as RunError from "../../run/RunError.ts"
import * as Transcript from "../../run/Transcript.ts"
import * as Usage from "../../run/Usage.ts"
import * as ContextManager from "../../services/ContextManager.ts"
import type * as Model from "../../services/Model.ts"
import * as ContextPruning from "../ContextPruning.ts"
import * as Ask from "./Ask.ts"
import * as Cut from "./Cut.ts"
import * as Digest from "./Digest.ts"
import * as Remembered from "./Remembered.ts"
import * as Strategy from "./Strategy.ts"

/** How a model is asked to remember, and what becomes of its answers. */
export interface Way<A> {
  readonly name: string
  /** what is remembered, of the JSON that it was kept as; undefined where that is none of it */
  readonly parse: (data: Json) => A | undefined
  /** what another strategy remembered */
  readonly adopt: (text: string) => A
  readonly data: (remembered: A) => Json
  /** as the model of the conversation reads it */
  readonly render: (remembered: A) => string
  readonly system: string
  readonly output?: Model.Output
  /** what is asked about the next piece of the conversation */
  readonly question: (given: Omit<Given<A>, "answer" | "count">, piece: string) => string
  /**
   * What an answer adds. With a `problem` the model is asked once more, in these words; then `value` counts, and where there
   * is none the compaction fails.
   */
  readonly take: (given: Given<A>) => Taken<A>
}

export interface Options extends Strategy.Trigger {
  /** tokens that what is remembered may take, and less where little is left out; default 2,000 */
  readonly budget?: number
  /** the part of messages and tokens, or of how many there may be, that stays word for word, between 0 and 1; default 0.3 */
  readonly keep?: number
}

/** A way with the room that it has. */
type Sized<A> = Way<A> & { readonly budget: number; readonly keep: number }

export interface Given<A> {
  readonly before: A | undefined
  /** the first words of the conversation */
  readonly first: string
  /** tokens that what is remembered may take */
  readonly budget: number
  readonly answer: string
  readonly count: ContextManager.Size["ofText"]
}

export interface Taken<A> {
  readonly value?: A
  readonly problem?: string
}

/** Over the model that condenses. Throws a `RangeError` where a number of the options is none that it can be. */
export const make = <A>(
  model: Model.Model["Service"],
  way: Way<A>,
  options: Options
): ContextManager.ContextManager["Service"] => {
  const { budget = 2_000, keep = 0.3 } = options
  Strategy.atLeast("budget", budget, 1)
  Strategy.part("keep", keep)
  return Strategy.toManager(strategy(model, { ...way, budget, keep }), options)
}

const strategy = <A>(model: Model.Model["Service"], way: Sized<A>): Strategy.Strategy =>
  Strategy.orElse(
    {
      models: chainOf(model),
      canShrink: (view) => {
        const cut = cutOf(view, way)
        return cut !== undefined && sizeOf(view, cut) >= least
      },
      compact: (view) => condense(model, way, view)
    },
    ContextPruning.strategy()
  )

/** A model and those that may take over from it. */
const chainOf = (first: Model.Model["Service"]): ReadonlyArray<Message.ModelRef> => {
  const chain = new Set<Model.Model["Service"]>()
  for (let next: typeof first | undefined = first; next !== undefined && !chain.has(next); next = next.fallback?.to) {
    chain.add(next)
  }
  return Array.from(chain, ({ info: { name, provider } }) => ({ provider, name }))
}

/** What is remembered takes its room of the part that stays, at most half of it. */
const cutOf = (view: ContextManager.View, { budget, keep }: { readonly budget: number; readonly keep: number }) => {
  const tokens = Strategy.target(view, keep)
  return Cut.make(view, {
    messages: Math.max(1, Math.floor(Transcript.size(view.transcript) * keep)),
    tokens: tokens - Math.min(budget, tokens / 2)
  })
}

/** Tokens of what must be left out for a memory of it to be worth a call. */
const least = 60

const sizeOf = ({ size }: ContextManager.View, { left }: Cut.Cut): number =>
  Digest.texts(left).reduce((sum, text) => sum + size.ofText(text), 0)

/** The part of a model's window that what it is to write may take. */
const answerPart = 0.2

/** Tokens that the memory may take: what there was of it, and half of what is left out now. */
const budgetOf = <A>(model: Model.Model["Service"], way: Sized<A>, view: ContextManager.View, cut: Cut.Cut): number => {
  const { contextWindow = Infinity } = model.info
  const before = view.size.ofText(Transcript.memory(view.transcript)?.text ?? "")
  return Math.floor(Math.min(way.budget, contextWindow * answerPart, before + sizeOf(view, cut) / 2))
}

const condense = Effect.fnUntraced(function*<A>(
  model: Model.Model["Service"],
  way: Sized<A>,
  view: ContextManager.View
): Effect.fn.Return<ContextManager.Compaction, ContextManager.CompactionError> {
  const cut = cutOf(view, way)
  if (cut === undefined) return yield* Strategy.nothingToLeaveOut()
  const { name, provider } = model.info
  const before = Transcript.memory(view.transcript)
  const first = Remembered.firstWords(view)
  const budget = budgetOf(model, way, view, cut)
  const desk: Desk<A> = { model, way, view, first, budget }
  const remembered = yield* Effect.catch(
    read(desk, cut, Remembered.known(way, before)),
    (error) =>
      Effect.fail(
        new ContextManager.CompactionError({
          message: `the ${way.name} could not be made by ${provider}/${name}: ${error.message}`
        })
      )
  )
  return {
    strategy: way.name,
    upTo: cut.upTo,
    replacement: cut.replacement,
    memory: {
      text: way.render(remembered),
      data: { by: way.name, first, remembered: way.data(remembered) }
    },
    // its calls were noted
    usage: Usage.zero
  }
})

interface Desk<A> {
  readonly model: Model.Model["Service"]
  readonly way: Sized<A>
  readonly view: ContextManager.View
  readonly first: string
  readonly budget: number
}

// ---- asking -------------------------------------------------------------------------------------------------------

type Failure = ContextManager.CompactionError | RunError.ModelError["reason"]

/** How often pieces are halved for a provider that says they are too much: its window is not always what is known of it. */
const halvings = 2

const read = Effect.fnUntraced(function*<A>(
  desk: Desk<A>,
  cut: Cut.Cut,
  before: A | undefined
): Effect.fn.Return<A, Failure> {
  const { ofText } = desk.view.size
  let remembered = before
  let left = Digest.pieces(Digest.texts(cut.left), roomOf(desk, before), ofText)
  let halved = 0
  while (left.length > 0) {
    const [piece, ...rest] = left
    const result: Effect.Effect<A, Failure> = about(desk, remembered, piece!.join("\n\n"))
    const answered = yield* Effect.result(result)
    if (answered._tag === "Success") {
      remembered = answered.success
      left = rest
    } else if (answered.failure._tag === "ContextOverflow" && halved < halvings) {
      halved++
      left = Digest.pieces(left.flat(), Math.ceil(ofText(piece!.join("\n\n")) / 2), ofText)
    } else {
      return yield* Effect.fail(answered.failure)
    }
  }
  return remembered === undefined ? yield* Strategy.nothingToLeaveOut() : remembered
})

/** Estimates may be below what a provider counts. */
const margin = 0.75

/** Tokens that a piece may take, so that question and answer fit the model's window too. */
const roomOf = <A>({ budget, first, model, view, way }: Desk<A>, before: A | undefined): number => {
  const { contextWindow } = model.info
  if (contextWindow === undefined) return Infinity
  const { ofText } = view.size
  const asked = ofText(way.system) + ofText(way.question({ before: undefined, first, budget }, ""))
  // what is remembered grows with each piece, up to its budget
  const remembered = before === undefined ? budget : Math.max(budget, ofText(way.render(before)))
  return Math.max(contextWindow / 10, contextWindow * margin - asked - remembered - budget)
}

const about = Effect.fnUntraced(function*<A>(
  { budget, first, model, view, way }: Desk<A>,
  before: A | undefined,
  piece: string
): Effect.fn.Return<A, Failure> {
  const ask = (messages: ReadonlyArray<Message.Message>): Effect.Effect<string, Failure> => {
    const question: Ask.Question = {
      messages: [{ role: "system", content: way.system }, ...messages],
      ...(way.output === undefined ? {} : { output: way.output }),
      metadata: view.metadata
    }
    return Effect.mapError(Ask.ask(model, question, view.ledger), ({ reason }) => reason)
  }
  const question = Message.user(way.question({ before, first, budget }, piece))
  const answer = yield* ask([question])
  const take = (answer: string) => way.take({ before, first, budget, answer, count: view.size.ofText })
  const taken = take(answer)
  if (taken.problem === undefined && taken.value !== undefined) return taken.value
  const problem = taken.problem ?? "the answer says nothing"
  const said: Message.AssistantMessage = { role: "assistant", content: [Message.text(answer)] }
  const again = yield* Effect.result(ask([question, said, Message.user(problem)]))
  const last = again._tag === "Success" ? take(again.success) : taken
  const value = last.value ?? taken.value
  return value === undefined ? yield* new ContextManager.CompactionError({ message: last.problem ?? problem }) : value
})
