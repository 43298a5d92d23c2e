/**
 * How a model is asked to remember a conversation, and what its answers add: this is where strategies by a model differ.
 *
 * Does not own when a model is asked (`Condense`), nor which part of a conversation at a time (`Reading`).
 */
import type { Json } from "effect/Schema"
import type * as ContextManager from "../../services/ContextManager.ts"
import type * as Model from "../../services/Model.ts"

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
  /** the question about the next piece of the conversation */
  readonly question: (given: Omit<Exchange<A>, "answer" | "count">, piece: string) => string
  /**
   * What an answer adds. With a `problem`, the model is asked once more in these words; if that does not help, `value` counts,
   * and where there is none the compaction fails.
   */
  readonly take: (given: Exchange<A>) => Taken<A>
}

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

export interface Taken<A> {
  readonly value?: A
  readonly problem?: string
}
