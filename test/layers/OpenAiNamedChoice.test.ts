/**
 * vLLM before 0.9 made up an id for every fragment of a call that the request chose by name, and repeated the name: `DeltaToolCall` had a
 * random id by default (vllm/entrypoints/openai/protocol.py, serving_chat.py).
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as OpenAi from "../support/OpenAiServer.ts"

const { data, events, finish, toolCalls } = OpenAi

const fragments = (index: number, ...texts: ReadonlyArray<string>) =>
  texts.map((text, n) =>
    toolCalls({
      index,
      id: `chatcmpl-tool-${index}${n}`,
      type: "function",
      function: { name: "book", arguments: text }
    })
  )

describe("a call whose fragments all have ids of their own, and the same name and index", () => {
  it.effect.each<readonly [string, ReadonlyArray<string>]>([
    ["token by token", ["{", "\"", "to", "\":", " {", "\"city", "\":", " \"Oslo", "\"}", "}"]],
    ["with an empty fragment at its end", ["{\"to\"", ":  ", "{\"city\":\"Oslo\"", "}}", ""]]
  ])("is one call, %s", ([, texts]) =>
    Effect.gen(function*() {
      const { parts } = yield* OpenAi.answer(events(data(...fragments(0, ...texts), finish("stop"))))
      assert.deepStrictEqual(OpenAi.calls(parts), [
        { id: "chatcmpl-tool-00", name: "book", params: { to: { city: "Oslo" } } }
      ])
    }))
})
