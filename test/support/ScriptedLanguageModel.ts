/** An effect/ai `LanguageModel` that streams scripted parts and remembers what its provider was asked. */
import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

export interface Turn {
  readonly parts?: ReadonlyArray<Response.StreamPartEncoded>
  readonly fail?: AiError.AiError
}

export const make = Effect.fnUntraced(function*(turns: ReadonlyArray<Turn>) {
  const asked: Array<LanguageModel.ProviderOptions> = []
  const model = yield* LanguageModel.make({
    generateText: () => Effect.die(new Error("only streams are scripted")),
    streamText: (options) =>
      Stream.suspend(() => {
        const { fail, parts = [] } = turns[asked.push(options) - 1] ?? {}
        const given: Stream.Stream<Response.StreamPartEncoded, AiError.AiError> = Stream.rechunk(
          Stream.fromIterable(parts),
          1
        )
        return fail === undefined ? given : Stream.concat(given, Stream.fail(fail))
      })
  })
  return { model, asked }
})

const usage = (input: number, output: number) => ({
  inputTokens: { total: input, uncached: input, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: output, text: output, reasoning: 0 }
})

export const text = (id: string, ...deltas: ReadonlyArray<string>): ReadonlyArray<Response.StreamPartEncoded> => [
  { type: "text-start", id },
  ...deltas.map((delta) => ({ type: "text-delta" as const, id, delta })),
  { type: "text-end", id }
]

export const finish = (reason: Response.FinishReason = "stop"): Response.StreamPartEncoded => ({
  type: "finish",
  reason,
  usage: usage(3, 2)
})
