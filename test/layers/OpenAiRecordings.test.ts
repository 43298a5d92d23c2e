/** Recordings in the shapes of real servers: `Recording` reads them correctly, and the adapter agrees with it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Protocols from "../recordings/Protocols.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as Playback from "../support/Playback.ts"
import * as Recording from "../support/Recording.ts"
import * as Replay from "../support/Replay.ts"

const { delta, finish, toolCalls, usage } = OpenAi
const counts = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 }
const stop = [finish("stop"), usage(counts)]
const called = [finish("tool_calls"), usage(counts)]
const fn = (name?: string, args?: unknown) => ({ function: { ...(name ? { name } : {}), arguments: args ?? "" } })
const oslo = "{\"city\":\"Oslo\"}"
const f = { name: "f", params: { city: "Oslo" } }
const g = { name: "g", params: { city: "Oslo" } }
const now = { name: "now", params: {} }

/** How the reading of a shape differs from this default: whole, with the usage above and nothing else. */
const shapes: Record<string, readonly [ReadonlyArray<Recording.Payload>, Partial<Recording.Reading>]> = {
  "text": [[delta({ role: "assistant", content: "" }), delta({ content: "Hi" }), ...stop], { text: "Hi" }],
  "Mistral's thinking": [[
    delta({ content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }] }),
    delta({ content: [{ type: "text", text: "Hi" }] }),
    ...stop
  ], { text: "Hi", reasoning: "hm" }],
  "details of reasoning": [
    [delta({ content: "", reasoning_details: [{ type: "reasoning.text", text: "hm" }] }), ...stop],
    { reasoning: "hm" }
  ],
  "an empty reasoning_content": [[delta({ reasoning_content: "", reasoning: "hm" }), ...stop], { reasoning: "hm" }],
  "a refusal": [[delta({ content: null, refusal: "No" }), ...stop], { text: "No" }],
  "two choices": [[
    delta({ content: "a" }),
    { choices: [{ index: 1, delta: { content: "b" }, finish_reason: "length" }] },
    ...stop
  ], { text: "a" }],
  "two choices in one payload": [[
    { choices: [{ index: 1, delta: { content: "b" } }, { index: 0, delta: { content: "a" } }] },
    ...stop
  ], { text: "a" }],
  "usage in the choice": [
    [delta({ content: "Hi" }), { choices: [{ index: 0, delta: {}, finish_reason: "stop", usage: counts }] }],
    { text: "Hi" }
  ],
  "usage in every chunk": [[
    { ...delta({ content: "Hi" }), usage: { prompt_tokens: 10, completion_tokens: 1 } },
    { ...delta({ content: " there" }), usage: { prompt_tokens: 10, completion_tokens: 2 } },
    finish("stop", counts)
  ], { text: "Hi there" }],
  "usage in the last chunk but one": [[delta({ content: "Hi" }), usage(counts), finish("stop")], { text: "Hi" }],
  "usage that grows until the finish": [[
    { ...delta({ content: "Hi" }), usage: { prompt_tokens: 1, completion_tokens: 1 } },
    finish("stop", counts)
  ], { text: "Hi" }],
  "usage that goes on after the finish": [[
    { ...delta({ content: "Hi" }), usage: { prompt_tokens: 10, completion_tokens: 1 } },
    finish("stop", { prompt_tokens: 10, completion_tokens: 2 }),
    usage(counts)
  ], { text: "Hi", input: [10, 10] }],
  "usage that is zeros until the finish": [[
    { ...delta({ content: "Hi" }), usage: { prompt_tokens: 0, completion_tokens: 0 } },
    finish("stop", counts)
  ], { text: "Hi" }],
  "usage that is repeated with zeros": [[
    { ...delta({ content: "Hi" }), usage: { prompt_tokens: 10, completion_tokens: 0 } },
    finish("stop", { prompt_tokens: 0, completion_tokens: 4 })
  ], { text: "Hi" }],
  "usage without an answer": [[finish("stop", { prompt_tokens: 10, completion_tokens: 0 })], {}],
  "a whole message after its pieces, with a call": [[
    delta({ content: "Hi" }),
    {
      choices: [{
        index: 0,
        message: { content: "Hi", tool_calls: [{ index: 0, id: "a", ...fn("f", oslo) }] },
        finish_reason: "tool_calls"
      }],
      usage: counts
    }
  ], { text: "Hi", reason: "tool-calls", calls: [[f]] }],
  "a call in pieces": [[
    toolCalls({ index: 0, id: "a", ...fn("f") }),
    toolCalls({ index: 0, ...fn(undefined, "{\"city\":") }),
    toolCalls({ index: 1, id: "b", ...fn("now") }),
    toolCalls({ index: 0, ...fn(undefined, "\"Oslo\"}") }),
    ...called
  ], { reason: "tool-calls", calls: [[f, now]] }],
  "arguments that are an object": [
    [toolCalls({ index: 0, id: "a", ...fn("f", { city: "Oslo" }) }), ...called],
    { reason: "tool-calls", calls: [[f]] }
  ],
  "cut arguments": [
    [toolCalls({ index: 0, id: "a", ...fn("f", "{\"ci") }), finish("length", counts)],
    { reason: "length", calls: [[{ name: "f", params: "{\"ci" }]] }
  ],
  "a function_call": [[
    delta({ function_call: { name: "f", arguments: "{\"city\":" } }),
    delta({ function_call: { arguments: "\"Oslo\"}" } }),
    finish("function_call", counts)
  ], { reason: "tool-calls", calls: [[f]] }],
  "content after the finish reason": [
    [delta({ content: "Hi" }), finish("stop"), delta({ content: " there" }), usage(counts)],
    { text: "Hi there" }
  ],
  "content after finish reason and usage": [
    [delta({ content: "Hi" }), finish("stop", counts), delta({ content: " there" })],
    { text: "Hi there" }
  ],
  "an error at the end": [
    [delta({ content: "Hi" }), { error: { message: "busy", code: 502 } }],
    { ending: "error", text: "Hi", reason: undefined, input: [undefined] }
  ],
  "an error at once": [
    [{ error: { message: "busy", code: 502 } }],
    { ending: "error", reason: undefined, input: [undefined] }
  ],
  "an error after the finish reason": [
    [delta({ content: "Hi" }), finish("stop"), { error: { message: "busy" } }],
    { ending: "either", text: "Hi", input: [undefined] }
  ],
  "a finish reason that says it failed": [[delta({ content: "Hi" }), finish("error", counts)], {
    ending: "error",
    reason: undefined,
    text: "Hi"
  }],
  "no end": [[delta({ content: "Hi" })], { ending: "open", reason: undefined, text: "Hi", input: [undefined] }]
}

/** Calls whose fragments can be read in several ways, one of which is this. */
const odd: Record<string, readonly [ReadonlyArray<Recording.Payload>, ReadonlyArray<Recording.Call>]> = {
  "one index and ids in parallel": [[
    toolCalls({ index: 0, id: "a", ...fn("f", oslo) }),
    toolCalls({ index: 0, id: "b", ...fn("g", oslo) })
  ], [f, g]],
  "one index and one id for all": [[
    toolCalls({ index: 0, id: "x", ...fn("f", oslo) }),
    toolCalls({ index: 0, id: "x", ...fn("f", oslo) }),
    toolCalls({ index: 0, id: "x", ...fn("g", oslo) })
  ], [f, f, g]],
  "the name again with each piece": [[
    toolCalls({ index: 0, id: "a", ...fn("f", "{\"city\":") }),
    toolCalls({ index: 0, id: "a", ...fn("f", "\"Oslo\"}") })
  ], [f]],
  "another id with each piece": [[
    toolCalls({ index: 0, id: "a", ...fn("f", "{\"city\":") }),
    toolCalls({ index: 0, id: "b", ...fn(undefined, "\"Oslo\"}") })
  ], [f]],
  "neither index nor id in parallel": [[
    toolCalls({ id: "a", ...fn("f") }, { id: "b", ...fn("g") }),
    toolCalls(fn(undefined, oslo), fn(undefined, oslo))
  ], [f, g]],
  "neither index nor id": [[
    toolCalls(fn("f", "{\"city\":")),
    toolCalls(fn(undefined, "\"Oslo\"}")),
    toolCalls(fn("g", oslo))
  ], [f, g]]
}

const nothing: Recording.Reading = {
  ending: "whole",
  reason: "stop",
  text: "",
  reasoning: "",
  calls: [[]],
  input: [10]
}

for (const [name, [payloads, says]] of Object.entries(shapes)) {
  describe(name, () => {
    it("is read as expected", () => {
      assert.deepStrictEqual(Recording.read(payloads), { ...nothing, ...says })
    })
    Replay.reading(payloads)
  })
}

for (const [name, [payloads, calls]] of Object.entries(odd)) {
  describe(name, () => {
    it("has the expected calls among its readings", () => {
      assert.deepInclude(Recording.read([...payloads, ...called]).calls, calls)
    })
    Replay.reading([...payloads, ...called])
  })
}

describe("an outcome is refused when it differs from its recording in", () => {
  const whole = [
    delta({ reasoning: "hm" }),
    delta({ content: "Hi" }),
    toolCalls({ index: 0, id: "a", ...fn("f", oslo) })
  ]
  it.effect.each<readonly [string, ReadonlyArray<Recording.Payload>]>([
    ["its text", [whole[0]!, delta({ content: "Hi!" }), whole[2]!, ...called]],
    ["its reasoning", [whole[1]!, whole[2]!, ...called]],
    ["a missing call", [whole[0]!, whole[1]!, ...called]],
    ["the name of a call", [whole[0]!, whole[1]!, toolCalls({ index: 0, id: "a", ...fn("g", oslo) }), ...called]],
    ["the arguments of a call", [whole[0]!, whole[1]!, toolCalls({ index: 0, id: "a", ...fn("f", "{}") }), ...called]],
    ["its finish reason", [...whole, ...stop]],
    ["its usage", [...whole, finish("tool_calls", { prompt_tokens: 11 })]],
    ["its end", whole],
    ["its error", [...whole, { error: { message: "busy" } }]]
  ])("%s", ([, other]) =>
    Effect.gen(function*() {
      const outcome = yield* OpenAi.answer(OpenAi.events(OpenAi.data(...other), OpenAi.done))
      assert.throws(() => Replay.check(outcome, Recording.read([...whole, ...called])))
    }))
})

describe("a file is read", () => {
  const payloads = [delta({ content: "Hi" }), finish("stop")]
  const lines = payloads.map((payload) => JSON.stringify(payload))
  it.each([
    ["as lines of JSON", lines.join("\n")],
    ["with CRLF and a byte order mark", `\uFEFF${lines.join("\r\n")}\r\n`],
    ["as server-sent events", `: ping\n\n${OpenAi.data(...payloads)}${OpenAi.done}`],
    ["as events with names and ids", lines.map((line) => `event: chunk\nid: 1\ndata:${line}\n\n`).join("")]
  ])("%s", (_, text) => {
    assert.deepStrictEqual(Recording.parse(text), payloads)
  })

  it("with an error event", () => {
    assert.deepStrictEqual(Recording.parse("event: error\ndata: {\"message\":\"busy\"}\n\n"), [
      { error: { message: "busy" } }
    ])
  })

  it("as no stream when its answer was not streamed", () => {
    const answer = { object: "chat.completion", choices: [{ message: { content: "Hi" } }] }
    assert.isUndefined(Recording.parse(JSON.stringify(answer)))
    assert.isUndefined(Recording.parse(JSON.stringify(answer, undefined, 2)))
  })

  it("in no other form", () => {
    assert.throws(() => Recording.parse(`${lines[0]}\noops`), "not a line of JSON")
  })
})

describe("over an agent, cut at every byte,", () => {
  describe("a call", () => {
    Playback.suite(
      Protocols.openAiChat,
      [
        { choices: [{ delta: { content: "Hï" } }] },
        { choices: [{ delta: { tool_calls: [{ index: 0, id: "a", ...fn("f", oslo) }] } }] },
        { choices: [{ delta: {}, finish_reason: "tool_calls" }], usage: { prompt_tokens: 1 } }
      ],
      true,
      60_000
    )
  })

  describe("a text that goes on after a finish reason", () => {
    Playback.suite(
      Protocols.openAiChat,
      [
        { choices: [{ delta: { content: "Hi" }, finish_reason: "stop" }] },
        { choices: [{ delta: { content: " there" }, finish_reason: "stop" }] }
      ],
      true,
      60_000
    )
  })
})

describe("over a socket,", () => {
  describe.each(["usage in every chunk", "usage in the last chunk but one"])("%s", (name) => {
    Replay.sockets(shapes[name]![0])
  })
})
