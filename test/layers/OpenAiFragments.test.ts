/** Two calls that a server numbers alike stay two, also where it makes up ids for their fragments. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as OpenAi from "../support/OpenAiServer.ts"

const { data, events, finish, toolCalls } = OpenAi

const piece = (id: string, name: string | undefined, text: string) =>
  toolCalls({ index: 0, id, type: "function", function: { ...(name === undefined ? {} : { name }), arguments: text } })

it.effect("with ids of their own for all fragments, and a name in the first of each call", () =>
  Effect.gen(function*() {
    const chunks = [
      piece("a1", "pay", ""),
      piece("a2", undefined, "{\"n\""),
      piece("a3", undefined, ":1}"),
      piece("b1", "pay", ""),
      piece("b2", undefined, "{\"n\""),
      piece("b3", undefined, ":2}")
    ]
    const { parts } = yield* OpenAi.answer(events(data(...chunks, finish("tool_calls"))))
    assert.deepStrictEqual(OpenAi.calls(parts).map(({ params }) => params), [{ n: 1 }, { n: 2 }])
  }))

it.effect.each<readonly [string, ReadonlyArray<readonly [string, string]>]>([
  ["both empty first", [["a", ""], ["b", ""], ["a", "{\"n\":1}"], ["b", "{\"n\":2}"]]],
  ["whole", [["a", "{\"n\":1}"], ["b", "{\"n\":2}"]]],
  ["one after the other", [["a", ""], ["a", "{\"n\""], ["a", ":1}"], ["b", ""], ["b", "{\"n\""], ["b", ":2}"]]],
  ["mixed", [["a", "{\"n\""], ["b", "{\"n\""], ["a", ":1}"], ["b", ":2}"]]],
  ["the second begun within the first", [["a", "{\"n\""], ["b", ""], ["a", ":1}"], ["b", "{\"n\":2}"]]]
])("with ids of their own, %s", ([, pieces]) =>
  Effect.gen(function*() {
    const chunks = pieces.map(([id, text]) => piece(id, "pay", text))
    const { parts } = yield* OpenAi.answer(events(data(...chunks, finish("tool_calls"))))
    assert.deepStrictEqual(OpenAi.calls(parts).map(({ params }) => params), [{ n: 1 }, { n: 2 }])
  }))
