/** Streams of servers that follow the protocol in their own way, also byte by byte: an answer, or the error that they report. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ModelErrors from "../../src/layers/ModelErrors.ts"
import * as OpenAi from "../support/OpenAiServer.ts"

const { data, delta, finish, toolCalls, usage } = OpenAi
const counts = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
const hello = data(delta({ role: "assistant", content: "" }), delta({ content: "Hï" }))
const whole = { role: "assistant", content: "Hï", tool_calls: null }

/** In one piece, and byte by byte. */
const answers = (stream: string) =>
  Effect.all([
    OpenAi.answer(OpenAi.events(stream)),
    OpenAi.answer(OpenAi.events(...Array.from(new TextEncoder().encode(stream), (byte) => Uint8Array.of(byte))))
  ])

describe("an answer", () => {
  it.effect.each<readonly [string, string]>([
    [
      "with the whole message again in its last event (MiniMax)",
      hello + data(finish("stop"), {
        id: "x",
        object: "chat.completion",
        choices: [{ index: 0, finish_reason: "stop", message: whole }],
        usage: counts
      })
    ],
    [
      "with the whole message again, and the finish reason only there",
      hello + data({ object: "chat.completion", choices: [{ finish_reason: "stop", message: whole }], usage: counts })
    ],
    [
      "with filter results before and after it (Azure)",
      data({ choices: [], created: 0, id: "", model: "", object: "", prompt_filter_results: [{ prompt_index: 0 }] })
      + hello
      + data(
        finish("stop"),
        { choices: [{ content_filter_offsets: { check_offset: 1 }, finish_reason: null, index: 0 }], id: "" },
        usage(counts)
      )
      + OpenAi.done
    ],
    [
      "with a usage of zeros until the last event",
      data(
        { ...delta({ role: "assistant", content: "Hï" }), usage: { prompt_tokens: 0, completion_tokens: 0 } },
        finish("stop", { prompt_tokens: 0, completion_tokens: 0 }),
        usage(counts)
      )
    ],
    [
      "with events of other names between its own",
      "event: ping\ndata: keep-alive\n\n"
      + "event: queue\ndata: 123\n\n"
      + `event: message\n${hello}`
      + "event: metrics\ndata: [1]\n\n"
      + "event: log\ndata: one\ndata: two\n\n"
      + "event: status\ndata: \"done\"\n\n"
      + data(finish("stop", counts))
    ],
    [
      "with an empty error in every event",
      data(
        { ...delta({ role: "assistant", content: "H" }), error: { message: null, code: null } },
        { ...delta({ content: "ï" }), error: { message: "", code: 0 } },
        { ...finish("stop", counts), error: { message: "", code: 0 } }
      )
    ],
    ["with a finish reason that is the text null", data(finish("null")) + hello + data(finish("stop", counts))],
    [
      "with indexes as strings",
      data(
        { choices: [{ index: "0", delta: { content: "Hï" }, finish_reason: null }] },
        { choices: [{ index: "0", delta: {}, finish_reason: "stop" }], usage: counts }
      )
    ],
    [
      "with events not separated by blank lines",
      `${hello}${data(finish("stop", counts))}${OpenAi.done}`.replaceAll("\n\n", "\n")
    ],
    ["with null in place of an event", "data: null\n\n" + hello + data(finish("stop", counts))],
    ["with empty errors", data({ error: {}, errors: [], choices: [] }) + hello + data(finish("stop", counts))]
  ])("%s is read in full", ([, stream]) =>
    Effect.gen(function*() {
      for (const { error, parts } of yield* answers(stream)) {
        assert.isUndefined(error)
        assert.strictEqual(OpenAi.text(parts), "Hï")
        assert.strictEqual(OpenAi.finishOf(parts)?.reason, "stop")
        assert.strictEqual(OpenAi.finishOf(parts)?.usage.inputTokens.total, 3)
      }
    }))

  it.effect("sent as whole messages with a piece each is read as all pieces", () =>
    Effect.gen(function*() {
      const piece = (content: string, finish_reason: string | null = null) => ({
        choices: [{ index: 0, message: { role: "assistant", content }, finish_reason }]
      })
      for (const { parts } of yield* answers(data(piece("H"), piece("ï"), piece("!", "stop")) + OpenAi.done)) {
        assert.strictEqual(OpenAi.text(parts), "Hï!")
      }
    }))

  it.effect("whose last whole message adds something to the pieces has that too", () =>
    Effect.gen(function*() {
      const call = { id: "a", type: "function", function: { name: "f", arguments: "{\"n\":1}" } }
      const last = (message: object) => data({ choices: [{ index: 0, finish_reason: "stop", message }], usage: counts })
      for (const { parts } of yield* answers(hello + last({ ...whole, tool_calls: [call] }))) {
        assert.deepStrictEqual(OpenAi.calls(parts), [{ id: "a", name: "f", params: { n: 1 } }])
        assert.strictEqual(OpenAi.text(parts), "Hï")
      }
      const thought = { reasoning_content: "Hm." }
      for (const { parts } of yield* answers(data(delta(thought)) + last({ ...whole, ...thought }))) {
        assert.deepStrictEqual([OpenAi.reasoning(parts), OpenAi.text(parts)], ["Hm.", "Hï"])
      }
    }))

  it.effect("whose last whole message repeats its calls has each once", () =>
    Effect.gen(function*() {
      const call = { id: "a", type: "function", function: { name: "f", arguments: "{\"n\":1}" } }
      const message = { role: "assistant", content: "", tool_calls: [call] }
      const last = { choices: [{ index: 0, finish_reason: "tool_calls", message }], usage: counts }
      for (const { parts } of yield* answers(data(toolCalls({ index: 0, ...call }), last))) {
        assert.deepStrictEqual(OpenAi.calls(parts), [{ id: "a", name: "f", params: { n: 1 } }])
      }
    }))
})

describe("an error", () => {
  it.effect.each<readonly [string, string, string, string | undefined]>([
    ["on a line without a field (Ollama)", `${hello}{"error":{"message":"boom"}}\n`, "Overloaded", "boom"],
    [
      "on such a line after an unfinished event",
      `${hello}: ping\n{"error":"boom"}\n`,
      "Overloaded",
      "boom"
    ],
    [
      "under a field named error (llama.cpp)",
      `${hello}error: {"code":400,"message":"boom","type":"invalid_request_error"}\n\n`,
      "InvalidRequest",
      "boom"
    ],
    [
      "in a word instead of an event",
      `${hello}data: boom\n\n${data(finish("stop"))}`,
      "InvalidResponse",
      "not a JSON object"
    ],
    [
      "in an event that is called an error",
      `${hello}event: upstream_error\ndata: boom\n\n${data(finish("stop"))}`,
      "InvalidResponse",
      "not a JSON object"
    ],
    [
      "in the middle of an event, which has a name of its own",
      `${hello}event: chunk\ndata: {"choices":[{"del\n\n${data(finish("stop"))}`,
      "InvalidResponse",
      "not a JSON object"
    ],
    ["of its gateway, on a web page", `${hello}<html><body>502</body></html>\n`, "StreamTruncated", undefined],
    ["absent from a line without a field", `${hello}{"done":true}\n`, "StreamTruncated", undefined],
    [
      "in lines of plain text",
      `${hello}event: error\ndata: boom\ndata: This model's maximum context length is 10 tokens\n\n`,
      "ContextOverflow",
      "boom"
    ],
    [
      "not separated from the event before it by a blank line",
      `${hello.trimEnd()}\nevent: error\ndata: {"message":"boom"}\n\n`,
      "Overloaded",
      "boom"
    ],
    [
      "beside an empty choice (Groq)",
      hello + data({ choices: [], x_groq: { id: "r", error: "boom" } }) + OpenAi.done,
      "Overloaded",
      "boom"
    ],
    [
      "in its choice (OpenRouter)",
      hello + data({ choices: [{ delta: {}, finish_reason: "error", error: { code: 429, message: "boom" } }] }),
      "RateLimited",
      "boom"
    ],
    [
      "in a list (Cloudflare)",
      hello + data({ success: false, errors: [{ code: 3040, message: "boom" }], result: {} }),
      "Overloaded",
      "boom"
    ],
    [
      "under base_resp (MiniMax)",
      hello + data({ base_resp: { status_code: 1008, status_msg: "insufficient balance" }, choices: null }),
      "QuotaExhausted",
      "insufficient balance"
    ],
    ...([
      [1002, "rate limit", "RateLimited"],
      [1004, "cookie is missing, log in again", "Authentication"],
      [1026, "input new_sensitive", "ContentPolicy"],
      [1027, "output new_sensitive", "ContentPolicy"],
      [2013, "invalid params", "InvalidRequest"]
    ] as const).map(([status_code, status_msg, tag]) =>
      [
        `${status_code} of MiniMax`,
        hello + data({ base_resp: { status_code, status_msg }, choices: null }),
        tag,
        status_msg
      ] as const
    )
  ])("%s fails the answer with its reason", ([, stream, tag, words]) =>
    Effect.gen(function*() {
      for (const { error, parts } of yield* answers(stream)) {
        assert.strictEqual(OpenAi.text(parts), "Hï")
        assert.isDefined(error)
        const { reason } = ModelErrors.fromAiError(error!)
        assert.strictEqual(reason._tag, tag)
        if (words !== undefined) assert.include(reason.message, words)
      }
    }))

  it.effect.each(["function_call_filter: MALFORMED_FUNCTION_CALL", "abort"])(
    "is what the finish reason %s means",
    (reason) =>
      Effect.gen(function*() {
        for (const { error } of yield* answers(data(finish(reason, counts)) + OpenAi.done)) {
          assert.isTrue(error?.isRetryable)
        }
      })
  )

  it.effect.each<readonly [string, string]>([
    ["content_filter: PROHIBITED_CONTENT", "content-filter"],
    ["repetition", "other"]
  ])("is not what the finish reason %s means", ([raw, reason]) =>
    Effect.gen(function*() {
      const { error, parts } = yield* OpenAi.answer(OpenAi.events(hello + data(finish(raw, counts))))
      assert.isUndefined(error)
      assert.strictEqual(OpenAi.finishOf(parts)?.reason, reason)
    }))

  it.effect.each<readonly [string, string]>([
    ["a list of errors (Cloudflare)", "{\"success\":false,\"errors\":[{\"code\":5007,\"message\":\"boom\"}]}"],
    ["a list under error (Cloudflare)", "{\"success\":false,\"error\":[{\"code\":2001,\"message\":\"boom\"}]}"],
    ["a message with errors by field (Laravel)", "{\"message\":\"boom\",\"errors\":{\"model\":[\"gone\"]}}"],
    ["a message with a list of errors", "{\"message\":\"boom\",\"errors\":[{\"field\":\"model\"}]}"],
    ["an event (Qwen)", "id:1\nevent:error\n:HTTP_STATUS/400\ndata:{\"code\":\"Invalid\",\"message\":\"boom\"}\n\n"]
  ])("with a status is read from %s", ([, body]) =>
    Effect.gen(function*() {
      const error = yield* OpenAi.failure(OpenAi.status(400, body))
      assert.match(error.message, /answered HTTP 400: boom \(/)
    }))
})
