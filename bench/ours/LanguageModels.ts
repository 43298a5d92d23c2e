/** The scripted model as an effect/ai `LanguageModel`, made with effect/ai's own `LanguageModel.make`. */
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { delta, numbers, type Script, type Tally } from "../harness/Contender.ts"
import * as Answers from "./Answers.ts"
import * as Source from "./Source.ts"

type Part = Response.StreamPartEncoded

const usage = {
  inputTokens: { total: 1, uncached: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 }
}

const answers = (script: Script): (rounds: number) => ReadonlyArray<Part> => {
  const pieces = Array.from({ length: script.deltas }, (): Part => ({ type: "text-delta", id: "0", delta }))
  const text: ReadonlyArray<Part> = [{ type: "text-start", id: "0" }, ...pieces]
  if (script.hang !== "no") return () => text
  const end: Part = { type: "text-end", id: "0" }
  const last: ReadonlyArray<Part> = [...text, end, { type: "finish", reason: "stop", usage }]
  const call = (n: number): Part => ({ type: "tool-call", id: `call${n}`, name: "double", params: { n } })
  return (rounds) =>
    rounds >= script.turns
      ? last
      : [...text, end, ...numbers(script, rounds).map(call), { type: "finish", reason: "tool-calls", usage }]
}

export const layer = (script: Script, tally: Tally): Layer.Layer<LanguageModel.LanguageModel> => {
  const answer = answers(script)
  const make = LanguageModel.make({
    generateText: () => Effect.die(new Error("the scripted model streams")),
    streamText: ({ prompt }) => Source.parts(script, tally, answer(Answers.count(script, tally, prompt.content)))
  })
  return Layer.effect(LanguageModel.LanguageModel, make)
}
