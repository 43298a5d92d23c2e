/** Streams as providers send them, over a socket and through a whole agent: what is executed, reported and answered. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as ModelLanguageModel from "../../src/layers/ModelLanguageModel.ts"
import * as Model from "../../src/services/Model.ts"
import * as StrictModel from "../../src/testing/StrictModel.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

const { data, delta, done, events, finish, toolCalls } = OpenAi
const fn = (name?: string, args?: unknown) => ({
  function: { ...(name === undefined ? {} : { name }), ...(args === undefined ? {} : { arguments: args }) }
})
const ok = events(data(delta({ content: "ok" }), finish("stop")) + done)

/** A run over a server that sends these replies, what it showed and what it left. */
const play = Effect.fnUntraced(function*(...replies: ReadonlyArray<OpenAi.Reply>) {
  const server = yield* OpenAi.make(...replies)
  const ran: Array<number> = []
  const strict = Layer.effect(Model.Model, Effect.flatMap(Model.Model, StrictModel.make)).pipe(
    Layer.provide(ModelLanguageModel.layer),
    Layer.provide(OpenAi.model(server)),
    Layer.orDie
  )
  const { agent, store } = yield* TestAgent.make([], {
    model: strict,
    tool: ({ n }) =>
      Effect.sync(() => {
        ran.push(n)
        return `done ${n}`
      })
  })
  const run = yield* agent.start({ sessionId: "s", input: "go" })
  const seen = yield* Stream.runCollect(run.events)
  const log = yield* store.log("s")
  assert.deepStrictEqual(RunLog.violations(log), [])
  /** what the model was told of its calls */
  const told = server.requests[1]?.body.messages.filter(({ role }: { role: string }) => role === "tool")
  return { server, ran, seen, log, told, outcomes: RunLog.outcomes(log), end: RunLog.endOf(log) }
})

/** One answer with calls, in chunks of fragments, then one without. */
const calls = (...chunks: ReadonlyArray<ReadonlyArray<object>>) =>
  play(events(data(...chunks.map((fragments) => toolCalls(...fragments)), finish("tool_calls")) + done), ok)

describe("two calls are executed once each and answered under their own ids, when their fragments come", () => {
  const one = "{\"n\":1}"
  it.effect.each<readonly [string, ReadonlyArray<ReadonlyArray<object>>]>([
    ["by index", [
      [{ index: 0, id: "a", ...fn("work", "") }],
      [{ index: 0, ...fn(undefined, one) }],
      [{ index: 1, id: "b", ...fn("look", "{\"n\"") }],
      [{ index: 1, ...fn(undefined, ":2}") }]
    ]],
    ["by id, without an index", [
      [{ id: "a", ...fn("work", "{\"n\":") }],
      [{ id: "a", ...fn(undefined, "1}") }],
      [{ id: "b", ...fn("look", "{\"n\":2}") }]
    ]],
    ["interleaved", [
      [{ index: 0, id: "a", ...fn("work") }, { index: 1, id: "b", ...fn("look") }],
      [{ index: 1, ...fn(undefined, "{\"n\":") }, { index: 0, ...fn(undefined, "{\"n\"") }],
      [{ index: 0, ...fn(undefined, ":1}") }, { index: 1, ...fn(undefined, "2}") }]
    ]],
    ["with one id", [[{ index: 0, id: "x", ...fn("work", one) }], [{ index: 1, id: "x", ...fn("look", "{\"n\":2}") }]]],
    ["with empty ids", [[{ index: 0, id: "", ...fn("work", one) }], [{
      index: 1,
      id: "",
      ...fn("look", "{\"n\":2}")
    }]]],
    ["without index and id", [[fn("work", one), fn("look", "{\"n\":2}")]]],
    ["with one index and one id", [
      [{ index: 0, id: "x", ...fn("work", one) }],
      [{ index: 0, id: "x", ...fn("look", "{\"n\":2}") }]
    ]]
  ])("%s", ([, chunks]) =>
    Effect.gen(function*() {
      const { end, outcomes, ran, server, told } = yield* calls(...chunks)
      assert.deepStrictEqual(ran, [1, 2])
      assert.deepStrictEqual(outcomes, ["1.0 Succeeded", "1.1 Succeeded"])
      const tool_calls = server.requests[1]?.body.messages[2].tool_calls
      assert.deepStrictEqual(tool_calls.map((call: any) => call.id), told.map((result: any) => result.tool_call_id))
      assert.strictEqual(new Set(told.map((result: any) => result.tool_call_id)).size, 2)
      assert.strictEqual(end, "RunCompleted(stop)")
    }))
})

describe("arguments", () => {
  it.effect.each<readonly [string, unknown]>([
    ["encoded twice", JSON.stringify("{\"n\":1}")],
    ["that are an object and no text", { n: 1 }],
    ["between blanks", " \n{\"n\":1}\n"]
  ])("%s arrive as they were meant", ([, args]) =>
    Effect.gen(function*() {
      const { ran } = yield* calls([{ index: 0, id: "a", ...fn("work", args) }])
      assert.deepStrictEqual(ran, [1])
    }))

  it.effect.each<readonly [string, unknown, string]>([
    ["absent", undefined, "Missing key"],
    ["null", null, "Missing key"],
    ["empty", "", "Missing key"],
    ["of another type", "{\"n\":\"1\"}", "Expected number"],
    ["no JSON", "{\"n\": 1", "Invalid arguments: they are not JSON: Expected ',' or '}'"],
    ["a text in JSON", "\"one\"", "they are a text and not a JSON object"],
    ["JSON with a number that none can hold", "{\"n\":1e400}", "they have a number that is too large, at n;"],
    ["encoded twice with such a number", JSON.stringify("{\"n\":[1,-1e400]}"), "a number that is too large, at n.1;"],
    ["JSON that would change a prototype", "{\"n\":1,\"__proto__\":{}}", "a key that is not allowed, at __proto__;"],
    [
      "JSON that would change another one",
      "{\"n\":{\"constructor\":{\"prototype\":1}}}",
      "a key that is not allowed, at n.constructor;"
    ]
  ])(
    "that are %s, when the tool needs some, are reported as wrong, and the loop continues",
    ([, args, words]) =>
      Effect.gen(function*() {
        const { end, outcomes, ran, told } = yield* calls([{ index: 0, id: "a", ...fn("work", args) }])
        assert.deepStrictEqual(outcomes, ["1.0 InvalidArguments"])
        assert.deepStrictEqual(ran, [])
        assert.include(told[0].content, words)
        assert.strictEqual(end, "RunCompleted(stop)")
      })
  )

  it.effect("that are invalid, and unknown tools, leave their sibling calls their results", () =>
    Effect.gen(function*() {
      const { end, outcomes, ran, server, told } = yield* calls([
        { index: 0, id: "a", ...fn("work", "{\"n\":1}") },
        { index: 1, id: "b", ...fn("wrok", "{\"n\":2}") },
        { index: 2, id: "c", ...fn("look", "{\"n\":") },
        { index: 3, id: "d", ...fn("again", "{\"n\":4}") }
      ])
      assert.deepStrictEqual(ran, [1, 4])
      assert.sameMembers(outcomes, ["1.0 Succeeded", "1.1 UnknownTool", "1.2 InvalidArguments", "1.3 Succeeded"])
      const tool_calls = server.requests[1]?.body.messages[2].tool_calls
      assert.deepStrictEqual(told.map((result: any) => result.tool_call_id), tool_calls.map((call: any) => call.id))
      assert.strictEqual(told[0].content, "done 1")
      assert.strictEqual(told[1].content, "There is no such tool. Available: work, look, again.")
      assert.strictEqual(told[3].content, "done 4")
      assert.strictEqual(end, "RunCompleted(stop)")
    }))
})

describe("a finish reason that contradicts the calls", () => {
  const call = toolCalls({ index: 0, id: "a", ...fn("work", "{\"n\":1}") })

  it.effect("executes them if it is stop", () =>
    Effect.gen(function*() {
      const { end, ran } = yield* play(events(data(call, finish("stop")) + done), ok)
      assert.deepStrictEqual([ran, end], [[1], "RunCompleted(stop)"])
    }))

  it.effect("completes the run if it is tool_calls and there are none", () =>
    Effect.gen(function*() {
      const { end, server } = yield* play(events(data(delta({ content: "ok" }), finish("tool_calls")) + done), ok)
      assert.deepStrictEqual([end, server.requests.length], ["RunCompleted(other)", 1])
    }))

  it.effect("executes none if it is length", () =>
    Effect.gen(function*() {
      const { outcomes, ran } = yield* play(events(data(call, finish("length")) + done), ok)
      assert.deepStrictEqual([ran, outcomes], [[], ["1.0 NotExecuted(truncated)"]])
    }))
})

describe("a character that is split", () => {
  const text = "Grüße 👋🏽!"
  /** JSON in which every character that is not ASCII is escaped, one delta for each of its UTF-16 units. */
  const escaped = (field: string) =>
    [...Array(text.length).keys()].map((n) => {
      const unit = `\\u${text.charCodeAt(n).toString(16).padStart(4, "0")}`
      return `data: {"choices":[{"index":0,"delta":{"${field}":"${unit}"}}]}\n\n`
    }).join("")
  const unsplit = (seen: Parameters<typeof RunLog.only>[0], tag: "TextDelta" | "ReasoningDelta") => {
    const deltas = RunLog.only(seen, tag).map((event) => event.delta)
    assert.isTrue(deltas.every((delta) => delta.isWellFormed()), JSON.stringify(deltas))
    return deltas.join("")
  }

  const texts = (log: Parameters<typeof RunLog.only>[0]) =>
    RunLog.only(log, "AssistantMessage")[0]?.message.content.map((part) => "text" in part ? part.text : part.type)

  it.effect("between events is shown whole, and whole in the message", () =>
    Effect.gen(function*() {
      const body = escaped("reasoning_content") + escaped("content") + data(finish("stop")) + done
      const { log, seen } = yield* play(events(body))
      assert.strictEqual(unsplit(seen, "TextDelta"), text)
      assert.strictEqual(unsplit(seen, "ReasoningDelta"), text)
      assert.deepStrictEqual(texts(log), [text, text])
    }))

  it.effect("between the arguments of a call is shown whole", () =>
    Effect.gen(function*() {
      const half = (args: string) => toolCalls({ index: 0, id: "a", ...fn("work", args) })
      const { seen } = yield* play(
        events(data(half("{\"n\":1,\"x\":\"\ud83d"), half("\udc4b\"}"), finish("tool_calls")) + done),
        ok
      )
      const deltas = RunLog.only(seen, "ToolParamsDelta").map((event) => event.delta)
      assert.isTrue(deltas.every((delta) => delta.isWellFormed()), JSON.stringify(deltas))
      assert.strictEqual(deltas.join(""), "{\"n\":1,\"x\":\"👋\"}")
    }))

  it.effect("between the bytes of the body is shown whole too", () =>
    Effect.gen(function*() {
      const body = data(delta({ content: text, reasoning_content: text }), finish("stop")) + done
      const pieces = Array.from(new TextEncoder().encode(body), (byte) => Uint8Array.of(byte))
      const { log, seen } = yield* play(events(...pieces))
      assert.strictEqual(unsplit(seen, "TextDelta"), text)
      assert.deepStrictEqual(texts(log), [text, text])
    }))
})
