/**
 * A plan asks tools and continues with their replies, until it has an answer. It is run from its start for every request,
 * against the replies in the conversation: so it keeps no state, and can continue in another process. Pure.
 */
import type * as Schema from "effect/Schema"

/** A tool call that a plan needs. */
export interface Ask {
  readonly tool: string
  readonly params: { readonly [key: string]: Schema.Json }
}

/** What a tool replied. */
export interface Reply {
  readonly result: Schema.Json
  readonly isFailure: boolean
}

/** Yields asks that may run in parallel; gets their replies in the same order. */
export type Plan<A> = Generator<ReadonlyArray<Ask>, A, ReadonlyArray<Reply>>

/** The replies to a call so far, oldest first. */
export type Replies = (ask: Ask) => ReadonlyArray<Reply>

type Step =
  | { readonly _tag: "Ask"; readonly asks: ReadonlyArray<Ask> }
  | { readonly _tag: "Answer"; readonly text: string }

/** What the plan does next, given all replies so far. */
export const next = (plan: Plan<string>, replies: Replies): Step => {
  for (let state = plan.next();;) {
    if (state.done === true) return { _tag: "Answer", text: state.value }
    const found = state.value.map((ask) => settled(replies(ask)))
    const asks = state.value.filter((_, index) => found[index] === undefined)
    if (asks.length > 0) return { _tag: "Ask", asks: unique(asks) }
    state = plan.next(found.filter((reply) => reply !== undefined))
  }
}

const mostTries = 2
const cutOff = /^(?:Interrupted|Not executed|Outcome unknown|Timed out)\b/

/** The last reply; none when the run was cut off before the tool could answer, so the tool may be asked again. */
const settled = (replies: ReadonlyArray<Reply>): Reply | undefined => {
  const last = replies[replies.length - 1]
  return last !== undefined && last.isFailure && typeof last.result === "string" && cutOff.test(last.result) &&
      replies.length < mostTries
    ? undefined
    : last
}

const unique = (asks: ReadonlyArray<Ask>): ReadonlyArray<Ask> => [
  ...new Map(asks.map((ask) => [keyOf(ask), ask])).values()
]

/** The same for equal calls. */
export const keyOf = ({ params, tool }: Ask): string => `${tool} ${JSON.stringify(params)}`

/** Runs plans in parallel. */
export function* all<A>(plans: ReadonlyArray<Plan<A>>): Plan<ReadonlyArray<A>> {
  const states = plans.map((plan) => plan.next())
  while (states.some((state) => state.done !== true)) {
    const replies = yield states.flatMap((state) => state.done === true ? [] : state.value)
    let at = 0
    for (const [index, state] of states.entries()) {
      if (state.done !== true) states[index] = plans[index]!.next(replies.slice(at, at += state.value.length))
    }
  }
  return states.map((state) => state.value as A)
}
