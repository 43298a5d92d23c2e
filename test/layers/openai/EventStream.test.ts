/** Events are read whole, wherever the network cuts their stream, and in every form that servers send. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as EventStream from "../../../src/layers/openai/EventStream.ts"
import * as OpenAi from "../../support/OpenAiServer.ts"

const whole = ["", ": ping", "", "data: {\"a\":[1,{\"b\":2}]}", "", "data: <b>", "", "data: [DONE]", ""].join("\r\n")

/** What is read from these pieces, one after the other. */
const read = (...pieces: ReadonlyArray<string>) => {
  const events: Array<string> = []
  const stream = EventStream.make(({ data }) => events.push(data))
  for (const piece of pieces) assert.isTrue(stream.push(piece))
  stream.end()
  return { events, document: stream.document() }
}

it("events are the same wherever the stream is cut in three", () => {
  const expected = { events: ["{\"a\":[1,{\"b\":2}]}", "<b>", "[DONE]"], document: undefined }
  for (let first = 0; first <= whole.length; first++) {
    for (let second = first; second <= whole.length; second++) {
      const pieces = [whole.slice(0, first), whole.slice(first, second), whole.slice(second)]
      assert.deepStrictEqual(read(...pieces), expected, JSON.stringify(pieces))
    }
  }
})

it("a document is known as one, whatever blanks arrive before it", () => {
  assert.strictEqual(read(" \r\n", "\n", "{\"error\":", " 1}").document, "{\"error\": 1}")
})

it("a line outside all events is found behind any length of them", () => {
  const stream = EventStream.make(() => {})
  for (let i = 0; i < 20; i++) stream.push(`data: ${"x".repeat(3_000)}\n\n`)
  stream.push(`data: ${"x".repeat(20_000)}\n\n{"error":"down"}\n`)
  assert.strictEqual(stream.strayed(), "{\"error\":\"down\"}")
})

const hello = OpenAi.data(OpenAi.delta({ role: "assistant", content: "Hel" }), OpenAi.delta({ content: "lo" }))
const counts = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 }
const bytes = (text: string) => [...new TextEncoder().encode(text)].map((byte) => Uint8Array.of(byte))

describe("the event stream", () => {
  const whole = hello + OpenAi.data(OpenAi.finish("stop")) + OpenAi.done

  it.effect.each<readonly [string, ReadonlyArray<string | Uint8Array>]>([
    ["comments and pings", [": OPENROUTER PROCESSING\n\n", "event: ping\ndata: {}\n\n", "data:\n\n", whole]],
    ["a retry line", [`retry: 3000\n\n${hello}retry: 10\n\n`, whole.slice(hello.length)]],
    ["CRLF", [whole.replaceAll("\n", "\r\n")]],
    ["CRLF, byte by byte", bytes(whole.replaceAll("\n", "\r\n"))],
    ["CR", [whole.replaceAll("\n", "\r")]],
    ["all three in turn", [whole.split("\n").reduce((text, line, n) => text + ["\r\n", "\n", "\r"][n % 3] + line)]],
    ["a byte order mark", ["\uFEFF" + whole]],
    ["comments within an event", [whole.replaceAll("data: ", ": so far\n:\ndata: ").replaceAll("\n\n", "\n: end\n\n")]],
    ["an empty data line", [whole.replaceAll("\n\n", "\ndata\n\n").replace("[DONE]\ndata", "[DONE]")]],
    ["blanks around the end", [whole.replace("data: [DONE]", "data:  [DONE] ")]],
    ["no space after the colon", [whole.replaceAll("data: ", "data:")]],
    ["other fields", [whole.replaceAll("data: ", "id: 1\nevent: message\nfoo: bar\ndata: ")]],
    ["data in several lines", [whole.replaceAll(",\"", ",\ndata: \"")]],
    ["a first event after blank lines", ["\r\n\n", whole]],
    ["a last event without its blank line", [hello + OpenAi.data(OpenAi.finish("stop")).trimEnd()]],
    ["a last line that ends in CR", [hello + OpenAi.data(OpenAi.finish("stop")).trimEnd() + "\r"]]
  ])("is read with %s", ([, pieces]) =>
    Effect.gen(function*() {
      const single = pieces.flatMap((piece) => typeof piece === "string" ? bytes(piece) : [piece])
      for (const sent of [pieces, single]) {
        const { error, parts } = yield* OpenAi.answer(OpenAi.events(...sent))
        assert.isUndefined(error)
        assert.strictEqual(OpenAi.text(parts), "Hello")
        assert.strictEqual(OpenAi.finishOf(parts)?.reason, "stop")
      }
    }))

  it.effect("may be cut inside characters of several bytes", () =>
    Effect.gen(function*() {
      const body = OpenAi.data(OpenAi.delta({ content: "Grüße, 世界 👋" }), OpenAi.finish("stop", counts))
      const { parts } = yield* OpenAi.answer(OpenAi.events(...bytes(body)))
      assert.strictEqual(OpenAi.text(parts), "Grüße, 世界 👋")
    }))

  it.effect("is an invalid response with an event of more than 10 MiB", () =>
    Effect.gen(function*() {
      const { error } = yield* OpenAi.answer(OpenAi.open("data: ", "x".repeat(11 * 1024 * 1024)))
      assert.strictEqual(error?.reason._tag, "InvalidResponseError")
      assert.include(error?.message, "more than 10 MiB, which is too long; ask for less at once")
    }))

  it.effect.each<readonly [string, object]>([
    ["reasoning details", { reasoning_details: [{ type: "reasoning.text", text: "x".repeat(1024 * 1024) }] }],
    ["arguments of a call without a name", {
      tool_calls: [{ index: 0, function: { arguments: "x".repeat(1024 * 1024) } }]
    }]
  ])("is an invalid response with endless %s", ([, delta]) =>
    Effect.gen(function*() {
      const endless = Array.from({ length: 70 }, () => OpenAi.data(OpenAi.delta(delta)))
      const { error } = yield* OpenAi.answer(OpenAi.open(...endless))
      assert.strictEqual(error?.reason._tag, "InvalidResponseError")
      assert.include(error?.message, "more than 64 MiB of reasoning details and calls")
    }))

  it.effect("is an invalid response with an event that is not JSON, which is not repeated", () =>
    Effect.gen(function*() {
      const { error, parts } = yield* OpenAi.answer(OpenAi.events(hello, "data: {oops secret\n\n"))
      assert.strictEqual(error?.reason._tag, "InvalidResponseError")
      assert.notInclude(error?.message ?? "", "oops")
      assert.strictEqual(OpenAi.text(parts), "Hello")
    }))
})
