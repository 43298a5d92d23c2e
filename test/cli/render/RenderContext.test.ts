import { assert, describe, it } from "@effect/vitest"
import * as Paint from "../../../src/cli/render/Paint.ts"
import * as RenderContext from "../../../src/cli/render/RenderContext.ts"
import * as Message from "../../../src/run/Message.ts"

const context: RenderContext.Context = {
  sessionId: "s-1",
  model: { provider: "p", name: "m" },
  contextWindow: undefined,
  offer: { instructions: "Help.", tools: ["look"], tokens: { instructions: 5, tools: 20 } },
  messages: [],
  memory: undefined,
  waiting: [],
  openCalls: 0
}

const shown = (fields: Partial<RenderContext.Context>, isFull = false) =>
  RenderContext.text({ paint: Paint.plain, isFull }, { ...context, ...fields })

const of = (message: Message.Message): Partial<RenderContext.Context> => ({ messages: [{ message, tokens: 7 }] })

const said = (...content: ReadonlyArray<Message.AssistantPart>) => of({ role: "assistant", content })

const result = (result: Message.ToolResultPart["result"], isFailure = false) =>
  of({ role: "tool", content: [{ type: "tool-result", id: "c", name: "look", result, isFailure }] })

const long = Array.from({ length: 6 }, (_, n) => `line ${n}`).join("\n")

describe("a context", () => {
  it("begins with instructions and tools, and ends with the total of tokens", () => {
    assert.strictEqual(
      shown({ ...of(Message.user("hello")), contextWindow: 128 }),
      `── instructions · 5 tokens
Help.

── tools · 20 tokens
look

── user · 7 tokens
hello

── session s-1 · 1 message · about 32 of 128 tokens (25 %) · for p/m
`
    )
  })

  it("of another program says what is unknown", () => {
    assert.strictEqual(
      shown({ offer: undefined }),
      "── session s-1 · 0 messages · about 0 tokens · for p/m\n" +
        "   plus instructions and tools, which only the agent's own program knows\n"
    )
  })

  it("shortens texts, unless everything is to be shown", () => {
    assert.include(shown(of(Message.user(long))), "line 3\n… 2 more lines; --full shows all\n")
    assert.include(shown(of(Message.user(long)), true), "line 4\nline 5\n")
  })

  it("shows what the model remembers of the conversation", () => {
    const memory = { text: "Summary: a canary" }
    const message = Message.user([Message.text(memory.text), Message.text("go on")])
    assert.include(
      shown({ ...of(message), memory }),
      "· what is remembered of what was left out:\n    Summary: a canary\ngo on\n"
    )
  })

  it("has calls and their results, failures marked", () => {
    const call = { type: "tool-call", id: "c", name: "look", params: { n: 1 } } as const
    assert.include(shown(said(Message.text("Let me look."), call)), "Let me look.\n● look n=1\n")
    assert.include(shown(result({ seen: [1] })), "← look\n    {\"seen\":[1]}\n")
    assert.include(shown(result({ seen: [1] }), true), "← look\n    {\n      \"seen\": [\n")
    assert.include(shown(result("no", true)), "← look  ✗ failed\n    no\n")
  })

  it("has what a result shows the model in its place", () => {
    const content = [Message.text("a chart"), { type: "file", mediaType: "image/png", data: "aGk=" } as const]
    const part = { type: "tool-result", id: "c", name: "look", result: "hidden", content, isFailure: false } as const
    const text = shown(of({ role: "tool", content: [part] }))
    assert.match(text, /← look\n {4}a chart\n {4}\S*.*image\/png/)
    assert.notInclude(text, "hidden")
  })

  it("marks reasoning, and shows it if everything is to be shown", () => {
    const reasoned = said({ type: "reasoning", text: "hm" }, Message.text("Yes."))
    assert.include(shown(reasoned), "· reasoning\nYes.\n")
    assert.include(shown(reasoned, true), "· reasoning\n    hm\nYes.\n")
  })

  it("shows what waits to be delivered, and which calls have no result yet", () => {
    const waiting = [{ seq: 9, isDue: false, kind: "steer", messages: [Message.user("shorter")] }] as const
    assert.include(
      shown({ waiting, openCalls: 1 }),
      "· waits to be delivered:\n> shorter\n… 1 call without a result yet"
    )
  })

  it("is safe to show", () => {
    assert.notInclude(shown({ ...of(Message.user("\u001b[2J")), sessionId: "\u001b[2J" }), "\u001b")
    assert.notInclude(RenderContext.json({ ...context, ...of(Message.user("\u202e")) }), "\u202e")
  })
})
