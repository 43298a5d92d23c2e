/**
 * Reads a conversation's memory for the strategy that is to extend it. Pure.
 *
 * Does not own how a memory is made (`Condense`).
 */
import type { Json } from "effect/Schema"
import type * as Memory from "../../run/Memory.ts"
import * as Message from "../../run/Message.ts"
import * as Transcript from "../../run/Transcript.ts"
import type * as ContextManager from "../../services/ContextManager.ts"
import * as MessageText from "./MessageText.ts"
import type * as Way from "./Way.ts"

const dataOf = (memory: Memory.Memory | undefined): { readonly [key: string]: Json } => {
  const data = memory?.data
  return typeof data === "object" && data !== null && !Array.isArray(data) ? data as never : {}
}

/** The memory in the form that `way` keeps, also where another strategy wrote it; undefined where there is none. */
export const known = <A>(
  way: Pick<Way.Way<A>, "name" | "parse" | "adopt">,
  memory: Memory.Memory | undefined
): A | undefined => {
  if (memory === undefined) return undefined
  const { by, remembered } = dataOf(memory)
  const own = by === way.name && remembered !== undefined ? way.parse(remembered) : undefined
  return own ?? way.adopt(memory.text)
}

const firstOf = (memory: Memory.Memory | undefined): string | undefined => {
  const { first } = dataOf(memory)
  return typeof first === "string" && first !== "" ? first : undefined
}

/** So many tokens of a conversation's first words are kept, so that no condensing loses what it is about. */
const longestFirst = 500

const firstSaid = ({ size, transcript }: ContextManager.View): string => {
  const said = Transcript.entries(transcript).find(Transcript.isSaid)
  return said?.message.role === "user"
    ? MessageText.fit(Message.textOf(said.message.content), longestFirst, size.ofText)
    : ""
}

/** The first words that a person said in the conversation, from the memory or else its messages; "" where there are none. */
export const firstWords = (view: ContextManager.View): string =>
  firstOf(Transcript.memory(view.transcript)) ?? firstSaid(view)
