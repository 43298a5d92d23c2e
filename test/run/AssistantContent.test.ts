/** What a model streamed goes back to it as it came: its reasoning, with what the provider attached, part by part. */
import { assert, describe, it } from "@effect/vitest"
import { Collector } from "../../src/loop/turn/Collector.ts"
import type * as Message from "../../src/run/Message.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import type * as Model from "../../src/services/Model.ts"
import * as Draft from "../support/Drafts.ts"

const collect = (parts: ReadonlyArray<Model.ModelPart>) => {
  const collector = new Collector("run-1", 1, 1)
  const events = parts.flatMap((part) => collector.push([part]))
  return { content: collector.content(), events }
}

/** What the same model gets back. */
const sent = (parts: ReadonlyArray<Model.ModelPart>) => {
  const log = Draft.log(Draft.started("x"), Draft.assistant(collect(parts).content))
  return Transcript.messages(Transcript.fromLog(log), Draft.model).flatMap((
    message
  ): ReadonlyArray<Message.AssistantPart> => message.role === "assistant" ? message.content : [])
}

const text = (delta: string, block = "t"): Model.ModelPart => ({ type: "text-delta", block, delta })
const thought = (delta: string, block = "r", metadata?: Message.Metadata): Model.ModelPart => ({
  type: "reasoning-delta",
  block,
  delta,
  ...(metadata === undefined ? {} : { metadata })
})
const start = (block: string, metadata?: Message.Metadata, kind: "text" | "reasoning" = "reasoning") =>
  ({ type: "block-start", block, kind, ...(metadata === undefined ? {} : { metadata }) }) as Model.ModelPart
const end = (
  block: string,
  metadata?: Message.Metadata,
  kind: "text" | "reasoning" = "reasoning"
): Model.ModelPart => ({
  type: "block-end",
  kind,
  block,
  ...(metadata === undefined ? {} : { metadata })
})

describe("reasoning", () => {
  // written as JSON, the text looks much like an escape that no provider accepts
  it.each(["\\u0000", "a \\ud800 b", "\\\\u0000", "caf\u00e9 \u001b"])(
    "that spells an escape goes back unchanged: %j",
    (delta) => {
      const parts = [start("r"), thought(delta), end("r"), text("hi")]
      assert.deepStrictEqual(sent(parts)[0], { type: "reasoning", text: delta })
    }
  )

  it("in pieces is one part, with the signature that came last", () => {
    const parts = [
      start("r"),
      thought("let "),
      thought("me see"),
      thought("", "r", { test: { signature: "s" } }),
      end("r"),
      text("hi")
    ]
    assert.deepStrictEqual(sent(parts), [
      { type: "reasoning", text: "let me see", metadata: { test: { signature: "s" } } },
      { type: "text", text: "hi" }
    ])
  })

  it("has the metadata of both its beginning and its end", () => {
    const parts = [start("r", { a: 1 }), thought("hm"), end("r", { b: 2 }), text("hi")]
    assert.deepStrictEqual(sent(parts)[0], { type: "reasoning", text: "hm", metadata: { a: 1, b: 2 } })
  })

  const call: Model.ModelPart = { type: "tool-call", id: "c", name: "look", params: {} }
  const signed = { test: { signature: "s" } }

  it.each<readonly [string, ReadonlyArray<Model.ModelPart>]>([
    ["after a call", [start("r"), thought("hm"), call, end("r", signed)]],
    ["of a delta after a call", [start("r"), thought("hm"), call, thought("", "r", signed), end("r")]],
    ["once more", [start("r"), thought("hm"), end("r", signed), call, end("r", signed)]],
    ["in its second end", [start("r"), thought("hm"), end("r"), end("r", signed), call]]
  ])("has the signature that its end brings %s", (_, parts) => {
    assert.deepStrictEqual(sent(parts).filter(({ type }) => type === "reasoning"), [
      { type: "reasoning", text: "hm", metadata: signed }
    ])
  })

  it("has the signature that came before its first words", () => {
    assert.deepStrictEqual(sent([thought("", "r", signed), thought("hm"), end("r"), text("hi")])[0], {
      type: "reasoning",
      text: "hm",
      metadata: signed
    })
  })

  it("that is redacted is another part, even after reasoning under the same name", () => {
    const redacted = { test: { redactedData: "eA==" } }
    assert.deepStrictEqual(sent([thought("hm", "r", signed), call, thought("", "r", redacted)])[2], {
      type: "reasoning",
      text: "",
      metadata: redacted
    })
  })

  it("that is redacted, with metadata but no text, goes back in its place", () => {
    const redacted = { test: { redactedData: "eA==" } }
    assert.deepStrictEqual(
      sent([start("r", redacted), end("r"), start("t", undefined, "text"), text("hi"), end("t", undefined, "text")]),
      [
        { type: "reasoning", text: "", metadata: redacted },
        { type: "text", text: "hi" }
      ]
    )
  })

  it("whose metadata only comes with its end goes back, too", () => {
    const encrypted = { test: { encryptedContent: "eA==" } }
    const content = sent([
      start("r"),
      end("r", encrypted),
      start("t", undefined, "text"),
      text("hi"),
      end("t", undefined, "text")
    ])
    assert.deepStrictEqual(content[0], { type: "reasoning", text: "", metadata: encrypted })
  })

  it("that is redacted does not lend its metadata to the text after it", () => {
    const content = sent([start("r", { test: { redactedData: "eA==" } }), end("r"), text("hi")])
    assert.deepStrictEqual(content.at(-1), { type: "text", text: "hi" })
  })

  it("in two blocks that begin together keeps each block's metadata", () => {
    const parts = [start("a", { of: "a" }), start("b", { of: "b" }), thought("A", "a"), thought("B", "b"), text("hi")]
    assert.deepStrictEqual(sent(parts).slice(0, 2), [
      { type: "reasoning", text: "A", metadata: { of: "a" } },
      { type: "reasoning", text: "B", metadata: { of: "b" } }
    ])
  })

  it("in two successive blocks with one id is two parts with a signature each", () => {
    const block = (said: string) => [start("0"), thought(said, "0"), end("0", { signature: said })]
    assert.deepStrictEqual(sent([...block("one"), ...block("two"), text("hi")]).slice(0, 2), [
      { type: "reasoning", text: "one", metadata: { signature: "one" } },
      { type: "reasoning", text: "two", metadata: { signature: "two" } }
    ])
  })
})

describe("content", () => {
  it("keeps the order in which it arrived", () => {
    const call: Model.ModelPart = { type: "tool-call", id: "a", name: "search", params: {} }
    const { content } = collect([thought("hm"), text("one", "1"), call, text("two", "2")])
    assert.deepStrictEqual(content.map((part) => part.type), ["reasoning", "text", "tool-call", "text"])
  })

  it("of empty blocks is nothing", () => {
    assert.deepStrictEqual(collect([start("r"), end("r"), text(""), thought("")]).content, [])
  })

  it("with text before and after a call under one id is two texts", () => {
    const call: Model.ModelPart = { type: "tool-call", id: "a", name: "search", params: {} }
    const around = [start("0", undefined, "text"), text("one", "0"), end("0", undefined, "text"), call]
    const { content } = collect([
      ...around,
      start("0", undefined, "text"),
      text("two", "0"),
      end("0", undefined, "text")
    ])
    assert.deepStrictEqual(content.map((part) => part.type), ["text", "tool-call", "text"])
  })

  it("of a block that begins again before its end is another text", () => {
    const { content } = collect([text("one", "0"), start("0", undefined, "text"), text("two", "0")])
    assert.deepStrictEqual(content, [{ type: "text", text: "one" }, { type: "text", text: "two" }])
  })

  it("after the end of its block is another text, also under the same id", () => {
    const { content } = collect([text("one", "0"), end("0", undefined, "text"), text("two", "0")])
    assert.deepStrictEqual(content, [{ type: "text", text: "one" }, { type: "text", text: "two" }])
  })

  it("after the finish is ignored", () => {
    const finish: Model.ModelPart = { type: "finish", reason: "stop", usage: { inputTokens: 1, outputTokens: 1 } }
    const collector = new Collector("run-1", 1, 1)
    assert.strictEqual(collector.push([text("one"), finish, text("two")]).length, 1)
    assert.deepStrictEqual(collector.content(), [{ type: "text", text: "one" }])
  })

  it("is covered by the deltas, each numbered once", () => {
    const { events } = collect([
      thought("hm"),
      text("one"),
      { type: "tool-params-delta", block: "c", tool: "search", delta: "" },
      { type: "tool-params-delta", block: "c", delta: "{}" },
      text("two")
    ])
    const deltas = events.filter(RunEvent.isDelta)
    assert.deepStrictEqual(deltas.map((event) => event.index), [0, 1, 2, 3, 4])
    assert.deepStrictEqual(deltas.flatMap((event) => event._tag === "ToolParamsDelta" ? [event.tool] : []), [
      "search",
      "search"
    ])
  })
})
