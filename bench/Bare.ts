/**
 * The floor: a bare Effect stream with the same source, that maps each part to an event and joins the text; a step adds a
 * call whose arguments are decoded and a message that is kept.
 */
import { Effect, Schema, Stream } from "effect"
import { Model } from "../src/index.ts"
import { type Counts, type Scenario, timed } from "./Scenario.ts"
import * as Source from "./Source.ts"

const decode = Schema.decodeUnknownSync(Source.Params)

export const contender = {
  name: "bare Effect stream",
  run: (scenario: Scenario): Effect.Effect<Counts> =>
    Effect.gen(function*() {
      const { stream } = yield* Model
      const messages: Array<unknown> = []
      let characters = 0
      let calls = 0
      for (let turn = 1;; turn++) {
        let text = ""
        let call: unknown
        let index = 0
        yield* stream(Source.request(turn)).pipe(
          Stream.mapArray((parts) =>
            parts.map((part) =>
              part.type === "text-delta"
                ? {
                  _tag: "TextDelta",
                  runId: "run",
                  turn,
                  attempt: 1,
                  index: index++,
                  block: part.block,
                  delta: part.delta
                }
                : part
            ) as [unknown, ...Array<unknown>]
          ),
          Stream.runForEachArray((events) =>
            Effect.sync(() => {
              for (
                const event of events as ReadonlyArray<{ _tag?: string; type?: string; delta: string; params: unknown }>
              ) {
                if (event._tag === "TextDelta") text += event.delta
                else if (event.type === "tool-call") call = event.params
              }
            })
          ),
          Effect.orDie
        )
        characters += text.length
        messages.push({ role: "assistant", content: text })
        if (call === undefined) return { characters, calls }
        messages.push({ role: "tool", content: yield* Source.handler(decode(call)) })
        calls++
      }
    }).pipe(timed, Effect.provide(Source.layer(scenario)))
}
