/**
 * How a model is asked to remember a conversation, and what its answers add: this is where strategies by a model differ. The
 * frame of a question is the same for all.
 *
 * Does not own when a model is asked (`Condense`), nor which part of a conversation at a time (`Reading`).
 */
import type { Json } from "effect/Schema"
import type * as ContextManager from "../../services/ContextManager.ts"
import type * as Model from "../../services/Model.ts"
import * as MessageText from "./MessageText.ts"

export interface Way<A> {
  readonly name: string
  /** what is remembered, from the JSON that it was kept as; undefined where that is something else */
  readonly parse: (data: Json) => A | undefined
  /** from what another strategy remembered */
  readonly adopt: (text: string) => A
  readonly data: (remembered: A) => Json
  /** as the model of the conversation reads it */
  readonly render: (remembered: A) => string
  readonly system: string
  readonly output?: Model.Output
  /** what is remembered, as a question says it */
  readonly recall: (remembered: A) => string
  /** what to do with a piece of the conversation, in at most so many tokens */
  readonly order: (budget: number) => string
  /**
   * What an answer adds. With a `problem`, the model is asked once more; if that does not help, `value` counts, and where there is
   * none the compaction fails.
   */
  readonly take: (given: Exchange<A>) => Taken<A>
}

/** The question about the next piece of the conversation. */
export const question = <A>(
  { order, recall }: Pick<Way<A>, "order" | "recall">,
  { before, budget, first }: Pick<Exchange<A>, "before" | "budget" | "first">,
  piece: string
): string =>
  [
    ...(first === "" ? [] : [`The conversation began with these words of the user:\n${MessageText.indented(first)}`]),
    ...(before === undefined ? [] : [recall(before)]),
    `What was said and done since then:\n${piece}`,
    order(budget)
  ].join("\n\n")

/** What is asked about, and the answer. */
interface Exchange<A> {
  readonly before: A | undefined
  /** the first words of the conversation */
  readonly first: string
  /** tokens that the memory may take */
  readonly budget: number
  readonly answer: string
  readonly count: ContextManager.Size["ofText"]
}

/** What is wrong with an answer: in the words in which its model is asked again, and in those for people. */
export interface Problem {
  readonly toModel: string
  readonly toPeople: string
}

export interface Taken<A> {
  readonly value?: A
  readonly problem?: Problem
}
