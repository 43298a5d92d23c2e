import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as cl100k from "gpt-tokenizer/encoding/cl100k_base"
import { readFileSync } from "node:fs"
import * as Message from "../../src/run/Message.ts"
import * as MessageTokens from "../../src/run/MessageTokens.ts"
import * as TokenEstimate from "../../src/run/TokenEstimate.ts"

const { perCall, perMessage } = MessageTokens
const corpus = (kind: string) => readFileSync(new URL(`../corpora/${kind}.txt`, import.meta.url), "utf8")

/** Counts characters, and keeps what it was asked. */
const recording = () => {
  const asked: Array<string> = []
  return { asked, ...MessageTokens.make((text) => asked.push(text) && text.length) }
}

const assistant = (...content: ReadonlyArray<Message.AssistantPart>): Message.Message => ({
  role: "assistant",
  content
})
const call: Message.ToolCallPart = { type: "tool-call", id: "c1", name: "search", params: { q: "a \"b\"\n" } }
const result: Message.ToolResultPart = {
  type: "tool-result",
  id: "c1",
  name: "search",
  result: ["ж"],
  isFailure: false
}

describe("the tokens of a message", () => {
  it.each<readonly [string, Message.Message, number]>([
    ["instructions", { role: "system", content: "Be brief." }, 9],
    ["text", Message.user("hello"), 5],
    ["reasoning", assistant({ type: "reasoning", text: "hm", metadata: { acme: { signature: "x".repeat(99) } } }), 2],
    ["a call: its id, its name and its arguments with their escapes", assistant(call), perCall + 2 + 6 + 17],
    ["a result: its id and its JSON", { role: "tool", content: [result] }, perCall + 2 + 5],
    [
      "what a result shows instead of its JSON",
      {
        role: "tool",
        content: [{
          ...result,
          content: [Message.text("hello"), { type: "file", mediaType: "image/png", data: "https://a.b" }]
        }]
      },
      perCall + 2 + 5 + 1600
    ],
    ["arguments that were no JSON", assistant({ ...call, params: "{\"q" }), perCall + 2 + 6 + 6],
    [
      "a file, and its name",
      Message.user([{ type: "file", mediaType: "image/png", data: "https://example.com/a.png", fileName: "a.png" }]),
      1600 + 5
    ],
    ["all of its parts", assistant(Message.text("one"), Message.text("three")), 8],
    ["nothing", assistant(), 0]
  ])("are its overhead and %s", (_, message, content) => {
    assert.strictEqual(recording().message(message), perMessage + content)
  })

  it("include reasoning that is only in its sealed metadata", () => {
    const sealed = { type: "reasoning", text: "", metadata: { openai: { encrypted: "x".repeat(1000) } } } as const
    assert.isAtLeast(recording().message(assistant(sealed)), 200)
  })

  it("are counted once for the same object, and again for an equal one", () => {
    const counting = recording()
    const message = Message.user("hello")
    assert.strictEqual(counting.message(message), counting.message(message))
    assert.lengthOf(counting.asked, 1)
    assert.strictEqual(counting.message(Message.user("hello")), counting.message(message))
    assert.lengthOf(counting.asked, 2)
  })

  it("of a growing transcript cost one count for each new message", () => {
    const counting = recording()
    const transcript: Array<Message.Message> = []
    for (let i = 0; i < 100; i++) {
      transcript.push(Message.user(`message ${i}`))
      counting.messages(transcript)
    }
    assert.lengthOf(counting.asked, 100)
  })

  it.effect.prop(
    "are a finite whole number above 0, and the same when counted again or by another instance",
    [Message.Message],
    ([message]) =>
      Effect.sync(() => {
        const [one, other] = [MessageTokens.make(TokenEstimate.text), MessageTokens.make(TokenEstimate.text)]
        const tokens = one.message(message)
        assert.isTrue(Number.isSafeInteger(tokens) && tokens > 0)
        assert.deepStrictEqual([one.message(message), other.message(message)], [tokens, tokens])
        assert.strictEqual(one.messages([message, message]), 2 * tokens)
      })
  )

  it("are a number even if arguments are nested too deeply to be written as JSON", () => {
    const params = JSON.parse("[".repeat(20_000) + "]".repeat(20_000))
    assert.strictEqual(recording().message(assistant({ ...call, params })), perMessage + perCall + 2 + 6)
  })

  it.each([Number.NaN, -1, Infinity])("are estimated if a tokenizer counts %s", (wrong) => {
    const { message } = MessageTokens.make(() => wrong)
    assert.strictEqual(message(Message.user("hello there")), perMessage + TokenEstimate.text("hello there"))
  })

  it("of a conversation with tools are estimated within 0.8 to 1.5 of a tokenizer's count", () => {
    const messages = [
      { role: "system" as const, content: corpus("english") },
      Message.user(corpus("chinese")),
      assistant({ ...call, params: { path: "src/RingBuffer.ts", content: corpus("code") } }),
      { role: "tool" as const, content: [{ ...result, result: corpus("json") }] }
    ]
    const reference = MessageTokens.make((text) => cl100k.countTokens(text)).messages(messages)
    const ratio = MessageTokens.make(TokenEstimate.text).messages(messages) / reference
    assert.isTrue(ratio >= 0.8 && ratio <= 1.5, ratio.toFixed(2))
  })
})

describe("the tokens of a tool", () => {
  const search = { name: "search", description: "Finds things", schema: { type: "object", properties: {} } }

  it("are those of its name, its description and its schema as JSON", () => {
    assert.strictEqual(recording().tool(search), perCall + 6 + 12 + JSON.stringify(search.schema).length)
    assert.strictEqual(recording().tool({ name: "search", schema: {} }), perCall + 6 + 2)
  })

  it("are counted once for the same object", () => {
    const counting = recording()
    assert.strictEqual(counting.tool(search), counting.tool(search))
    assert.lengthOf(counting.asked, 3)
  })
})
