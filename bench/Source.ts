/** The model and the tool that every contender has: as cheap as they can be. */
import { Effect, Layer, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Model } from "../src/index.ts"
import { delta, type Scenario } from "./Scenario.ts"

type Request = Parameters<Model["Service"]["stream"]>[0]
type Part = ReturnType<Model["Service"]["stream"]> extends Stream.Stream<infer P, unknown> ? P : never

export const Params = Schema.Struct({ n: Schema.Finite })

export const handler = (params: typeof Params.Type) => Effect.succeed({ doubled: params.n * 2 })

export const toolkit = Toolkit.make(
  Tool.make("double", { parameters: Params, success: Schema.Struct({ doubled: Schema.Finite }) })
)

export const request = (turn: number): Request => ({
  messages: [],
  tools: [],
  toolChoice: "none",
  metadata: { sessionId: "session", runId: "run", turn, attempt: 1 }
})

/** `calls` turns with one call each, then an answer; each with `deltas` pieces of text, `chunk` in an array. */
export const layer = (scenario: Scenario): Layer.Layer<Model> => {
  const text: Part = { type: "text-delta", block: "0", delta }
  const pieces = Array.from({ length: scenario.deltas }, () => text)
  const usage = { inputTokens: 1, outputTokens: 1 }
  return Layer.succeed(Model, {
    info: { provider: "bench", name: "bench" },
    stream: ({ metadata }) => {
      const hasCall = metadata.turn <= scenario.calls
      const end: ReadonlyArray<Part> = hasCall
        ? [{ type: "tool-call", id: "call", name: "double", params: { n: metadata.turn } }, {
          type: "finish",
          reason: "tool-calls",
          usage
        }]
        : [{ type: "finish", reason: "stop", usage }]
      return Stream.fromIterable([...pieces, ...end]).pipe(Stream.rechunk(scenario.chunk))
    }
  })
}
