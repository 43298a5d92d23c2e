/** What the scripted `Model` answers, as plain data: for contenders that need nothing of effect. */
import type * as Stream from "effect/Stream"
import type { Model } from "../../src/services/Model.ts"
import { asked, delta, numbers, type Script, type Tally } from "../harness/Contender.ts"

type Ask = Model["Service"]["stream"]
export type Request = Parameters<Ask>[0]
export type Part = ReturnType<Ask> extends Stream.Stream<infer P, unknown> ? P : never

/** The answer to a conversation with so many rounds. */
export const of = (script: Script): (rounds: number) => ReadonlyArray<Part> => {
  const text = Array.from({ length: script.deltas }, (): Part => ({ type: "text-delta", block: "0", delta }))
  if (script.hang !== "no") return () => text
  const usage = { inputTokens: 1, outputTokens: 1 }
  const last: ReadonlyArray<Part> = [...text, { type: "finish", reason: "stop", usage }]
  const call = (n: number): Part => ({ type: "tool-call", id: `call${n}`, name: "double", params: { n } })
  return (rounds) =>
    rounds >= script.turns
      ? last
      : [...text, ...numbers(script, rounds).map(call), { type: "finish", reason: "tool-calls", usage }]
}

/** Counts a request: a conversation is a message of the user, then two for each round. Returns the number of rounds. */
export const count = (script: Script, tally: Tally, conversation: ReadonlyArray<unknown>): number => {
  const rounds = (conversation.length - 1) / 2
  asked(script, tally, conversation, rounds)
  return rounds
}
