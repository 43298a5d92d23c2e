/** What providers say that their answers rest on, in the log of a run: over each layer, from what is sent. */
import { assert, describe, it } from "@effect/vitest"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ModelAiSdk from "../../src/layers/ModelAiSdk.ts"
import * as ModelLanguageModel from "../../src/layers/ModelLanguageModel.ts"
import * as ModelOpenAi from "../../src/layers/ModelOpenAi.ts"
import type * as Source from "../../src/run/Source.ts"
import type * as Model from "../../src/services/Model.ts"
import * as Sdk from "../support/AiSdkServers.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Scripted from "../support/ScriptedLanguageModel.ts"
import * as TestAgent from "../support/TestAgent.ts"

/** The text and the sources of this model's answer. */
const answerOf = Effect.fnUntraced(function*(model: Layer.Layer<Model.Model>) {
  const { agent, store } = yield* TestAgent.make([], { model })
  const { text } = yield* agent.run({ sessionId: "s", input: "go" })
  const [said] = RunLog.only(yield* store.log("s"), "AssistantMessage")
  return { text, sources: said?.sources }
})

const url = (url: string, title?: string): Source.Source => ({
  type: "url",
  url,
  ...(title === undefined ? {} : { title })
})
const [a, b] = ["https://a.test/", "https://b.test/x?y=1"]
const counts = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }

describe("ModelOpenAi", () => {
  const { data, delta, done, events, finish } = OpenAi
  const says = delta({ role: "assistant", content: "It rains." })
  const cited = (url: string, title: string, more: object = {}) => ({
    type: "url_citation",
    url_citation: { start_index: 0, end_index: 9, url, title, ...more }
  })
  const sent = (...payloads: ReadonlyArray<unknown>) => events(data(...payloads, finish("stop", counts)), done)
  const listing = (fields: object) => ({ ...says, ...fields })

  it.live.each<readonly [string, OpenAi.Reply, ReadonlyArray<Source.Source>]>([
    ["annotations of OpenAI", sent(says, delta({ annotations: [cited(a, "A"), cited(b, "B"), cited(a, "A")] })), [
      url(a, "A"),
      url(b, "B")
    ]],
    [
      "annotations of OpenRouter, each in an event",
      sent(delta({ annotations: [cited(a, "A", { content: "…" })] }), says, delta({ annotations: [cited(b, "")] })),
      [url(a, "A"), url(b)]
    ],
    ["annotations without a member for them", sent(says, delta({ annotations: [{ type: "url_citation", url: a }] })), [
      url(a)
    ]],
    [
      "a message that is whole",
      events(
        data({
          choices: [{
            index: 0,
            message: { content: "It rains.", annotations: [cited(a, "A")] },
            finish_reason: "stop"
          }],
          usage: counts
        }),
        done
      ),
      [url(a, "A")]
    ],
    ["citations that Perplexity repeats", sent(listing({ citations: [a, b] }), listing({ citations: [a, b] })), [
      url(a),
      url(b)
    ]],
    [
      "results that Perplexity repeats beside citations",
      sent(listing({ citations: [a], search_results: [{ title: "A", url: a, date: "2026-01-01" }] })),
      [url(a, "A")]
    ],
    ["citations beside the usage (xAI)", events(data(says, { ...finish("stop", counts), citations: [b] }), done), [
      url(b)
    ]]
  ])("%s", ([, reply, sources]) =>
    Effect.gen(function*() {
      const { baseUrl } = yield* OpenAi.make(reply)
      const answer = yield* answerOf(ModelOpenAi.layer({ model: "m", baseUrl, apiKey: OpenAi.key }).pipe(Layer.orDie))
      assert.deepStrictEqual(answer.sources, sources as never)
      assert.match(answer.text, /^(It rains\.)+$/)
    }))

  it.live("pages are counted, not what is none or is named again, up to as many as are kept", () =>
    Effect.gen(function*() {
      const others = Array.from({ length: 300 }, (_, n) => [{ type: "file" }, cited(`javascript:f(${n})`, "no")])
      const again = Array.from({ length: 300 }, () => cited(a, "A"))
      const { baseUrl } = yield* OpenAi.make(
        sent(says, delta({ annotations: [...others.flat(), ...again, cited(b, "B")] }))
      )
      const answer = yield* answerOf(ModelOpenAi.layer({ model: "m", baseUrl, apiKey: OpenAi.key }).pipe(Layer.orDie))
      assert.deepStrictEqual(answer.sources, [url(a, "A"), url(b, "B")])
    }))

  it.live.each<readonly [string, object]>([
    ["null", { annotations: null }],
    ["an object", { annotations: {} }],
    ["of other kinds", {
      annotations: [{ type: "file", file: { hash: "h" } }, { type: "file_citation", file_id: "f" }]
    }],
    ["without an address", { annotations: [1, null, [], {}, { url_citation: null }, { url: 7 }, cited("", "A")] }],
    ["with an address that is none", { annotations: [cited("section 3", "A"), "section 3"] }]
  ])("loses no answer over annotations %s", ([, fields]) =>
    Effect.gen(function*() {
      const { baseUrl } = yield* OpenAi.make(sent(says, delta(fields)))
      const answer = yield* answerOf(ModelOpenAi.layer({ model: "m", baseUrl, apiKey: OpenAi.key }).pipe(Layer.orDie))
      assert.deepStrictEqual(answer, { text: "It rains.", sources: undefined })
    }))
})

describe("ModelAiSdk", () => {
  const over = Effect.fnUntraced(function*(make: Sdk.Maker, reply: OpenAi.Reply) {
    const server = yield* OpenAi.make(reply)
    return yield* answerOf(ModelAiSdk.layer({ model: make(server) }))
  })

  it.live("pages of Anthropic's search", () =>
    Effect.gen(function*() {
      const found = (url: string, title: string) => ({ type: "web_search_result", url, title, encrypted_content: "E" })
      const reply = Sdk.message(
        "end_turn",
        Sdk.block(0, { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }),
        Sdk.block(1, {
          type: "web_search_tool_result",
          tool_use_id: "srvtoolu_1",
          content: [found(a, "A"), found(b, "B"), found(a, "A")]
        }),
        Sdk.says(2, "It rains.")
      )
      const answer = yield* over(Sdk.anthropic, reply)
      assert.deepStrictEqual(answer, { text: "It rains.", sources: [url(a, "A"), url(b, "B")] })
    }))

  it.live("pages and documents that ground an answer of Google's", () =>
    Effect.gen(function*() {
      const groundingChunks = [
        { web: { uri: a, title: "a.test" } },
        { retrievedContext: { uri: "gs://bucket/rain.pdf", title: "Rainfall" } }
      ]
      const chunk = Sdk.chunk([{ text: "It rains." }], { finishReason: "STOP", groundingMetadata: { groundingChunks } })
      const { sources, text } = yield* over(Sdk.google, OpenAi.events(OpenAi.data(chunk)))
      assert.strictEqual(text, "It rains.")
      const [page, document] = sources!
      assert.deepStrictEqual(page, url(a, "a.test"))
      const told = { type: "document", title: "Rainfall", mediaType: "application/pdf", fileName: "rain.pdf" } as const
      assert.deepInclude(document, told)
    }))

  it.live("annotations of OpenAI's Responses", () =>
    Effect.gen(function*() {
      const annotation = (annotation: object) => ({ type: "response.output_text.annotation.added", annotation })
      const [begun, ...written] = Sdk.writes(0, "It rains.")
      const reply = OpenAi.events(Sdk.named(
        Sdk.created,
        begun!,
        annotation({ type: "url_citation", start_index: 0, end_index: 9, url: a, title: "A" }),
        annotation({ type: "file_citation", file_id: "file-1", filename: "rain.pdf", index: 9 }),
        ...written,
        Sdk.completed()
      ))
      const { sources, text } = yield* over(Sdk.responses, reply)
      assert.strictEqual(text, "It rains.")
      assert.deepStrictEqual(sources?.[0], url(a, "A"))
      assert.deepInclude(sources?.[1], { type: "document", title: "rain.pdf", fileName: "rain.pdf" })
    }))
})

it.effect("ModelLanguageModel: sources of effect/ai, also within a text", () =>
  Effect.gen(function*() {
    const source = { type: "source", id: "1" } as const
    const parts: ReadonlyArray<Response.StreamPartEncoded> = [
      { type: "text-start", id: "0" },
      { type: "text-delta", id: "0", delta: "It " },
      { ...source, sourceType: "url", url: a, title: "A" },
      { ...source, sourceType: "document", mediaType: "application/pdf", title: "Rainfall", fileName: "rain.pdf" },
      { type: "text-delta", id: "0", delta: "rains." },
      { type: "text-end", id: "0" },
      Scripted.finish()
    ]
    const { model } = yield* Scripted.make([{ parts }])
    const answer = yield* answerOf(
      Layer.provide(ModelLanguageModel.layer, Layer.succeed(LanguageModel.LanguageModel, model))
    )
    assert.deepStrictEqual(answer, {
      text: "It rains.",
      sources: [
        url(a, "A"),
        { type: "document", id: "1", title: "Rainfall", mediaType: "application/pdf", fileName: "rain.pdf" }
      ]
    })
  }))
