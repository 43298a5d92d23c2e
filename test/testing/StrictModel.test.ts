/** The strict model finds what is illegal, says where, and fails the test that asked. */
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Message from "../../src/run/Message.ts"
import * as RunError from "../../src/run/RunError.ts"
import * as Model from "../../src/services/Model.ts"
import * as StrictModel from "../../src/testing/StrictModel.ts"
import * as Bound from "../support/Bound.ts"
import { request } from "../support/Requests.ts"

type Messages = ReadonlyArray<Message.Message>

const tool = Tool.make("search")
const hello = Message.user("hello")
const system = (content: string): Message.SystemMessage => ({ role: "system", content })
const assistant = (...content: ReadonlyArray<Message.AssistantPart>): Message.AssistantMessage => ({
  role: "assistant",
  content
})
const call = (id: string, name = "search", params: Message.ToolCallPart["params"] = {}): Message.ToolCallPart => ({
  type: "tool-call",
  id,
  name,
  params
})
const own = (id: string): Message.ToolCallPart => ({ ...call(id), providerExecuted: true })
const results = (...ids: ReadonlyArray<string>): Message.ToolMessage => ({
  role: "tool",
  content: ids.map((id) => ({ type: "tool-result", id, name: "search", result: "ok", isFailure: false }))
})

/** The result of the call "a", shown as texts and files. */
const showing = (...content: ReadonlyArray<Message.UserPart>): Message.ToolMessage => ({
  role: "tool",
  content: results("a").content.map((part) => ({ ...part, content }))
})

describe("a legal request", () => {
  it.each<readonly [string, Messages]>([
    ["one message", [hello]],
    ["system messages first", [system("Be brief."), system("Be kind."), hello]],
    ["an answer and a question", [hello, assistant(Message.text("hi")), Message.user("more")]],
    ["calls and their results", [
      hello,
      assistant(Message.text("let me see"), call("a"), call("b")),
      results("a", "b")
    ]],
    ["reasoning before an answer", [
      hello,
      assistant({ type: "reasoning", text: "" }, Message.text("hi")),
      Message.user("more")
    ]],
    ["a provider's own call", [
      hello,
      assistant(own("a"), results("a").content[0]!, Message.text("hi")),
      Message.user("more")
    ]],
    ["results of a provider's own calls in the order in which they came", [
      hello,
      assistant(...["a", "b"].map(own), ...results("b", "a").content, Message.text("hi")),
      Message.user("more")
    ]],
    ["a file", [{ role: "user", content: [{ type: "file", mediaType: "image/png", data: "AA==" }] }]]
  ])("may hold %s", (_, messages) => assert.deepStrictEqual(StrictModel.violations(request(messages, [tool])), []))

  it("may have no tools and no tool choice", () => assert.deepStrictEqual(StrictModel.violations(request([hello])), []))
})

describe("a violation", () => {
  const after = (...messages: Messages): Messages => [hello, ...messages, Message.user("more")]

  it.each<readonly [string, Messages]>([
    ["there is no message but system ones", []],
    ["there is no message but system ones", [system("x")]],
    ["the first message is not a user's", [assistant(Message.text("hi")), hello]],
    ["the last message is the assistant's own", [hello, assistant(Message.text("hi"))]],
    ["a system message in the conversation", [hello, system("x"), hello]],
    ["message 0 (system): blank", [system(" "), hello]],
    ["message 0 (user): no content", [{ role: "user", content: [] }]],
    ["message 1 (user): two neighbours of one role", [hello, hello]],
    [
      "message 2 (assistant): two neighbours of one role",
      after(
        assistant(Message.text("a")),
        assistant(Message.text("b"))
      )
    ],
    ["message 0 (user): a lone surrogate", [Message.user("\ud800")]],
    ["message 0 (user): a NUL character", [Message.user("a\0")]],
    ["message 0 (system): a NUL character", [system("\0"), hello]],
    ["message 1 (assistant): a lone surrogate", after(assistant(call("a", "t", { "\udc00": 1 })), results("a"))],
    ["message 0 (user): a NUL character", [
      { role: "user", content: [{ type: "text", text: "x", metadata: { test: ["\0"] } }] }
    ]],
    ["message 0 (user): a blank text", [Message.user(" \n")]],
    ["message 0 (user): a file without data", [
      { role: "user", content: [{ type: "file", mediaType: "image/png", data: "" }] }
    ]],
    [
      "message 1 (assistant): a file without a media type",
      after(
        assistant({ type: "file", mediaType: "", data: "AA==" })
      )
    ],
    ["message 1 (assistant): a blank text", after(assistant(Message.text("")))],
    ["message 1 (assistant): nothing but reasoning", after(assistant({ type: "reasoning", text: "hm" }))],
    ["the call id \"a\" is used twice", after(assistant(call("a"), call("a")), results("a", "a"))],
    [
      "message 3 (assistant): the call id \"a\" is used twice",
      after(
        assistant(call("a")),
        results("a"),
        assistant(call("a")),
        results("a")
      )
    ],
    ["\"\" is no call id", after(assistant(call("")), results(""))],
    ["\"a b\" is no call id", after(assistant(call("a b")), results("a b"))],
    ["\"my tool\" is no tool name", after(assistant(call("a", "my tool")), results("a"))],
    ["\"\" is no tool name", after(assistant(call("a", "")), results("a"))],
    ["the arguments of \"search\" are no object", after(assistant(call("a", "search", "raw")), results("a"))],
    ["the arguments of \"search\" are no object", after(assistant(call("a", "search", [])), results("a"))],
    ["the arguments of \"search\" are no object", after(assistant(call("a", "search", null)), results("a"))],
    ["calls [a] are followed by results []", after(assistant(call("a")))],
    ["calls [a,b] are followed by results [a]", after(assistant(call("a"), call("b")), results("a"))],
    ["calls [a,b] are followed by results [b,a]", after(assistant(call("a"), call("b")), results("b", "a"))],
    ["calls [a] are followed by results [a,b]", after(assistant(call("a")), results("a", "b"))],
    ["calls [] are followed by results [a]", after(assistant(Message.text("x")), results("a"))],
    ["the provider's own call \"b\" has no result", after(assistant(own("a"), own("b"), ...results("a").content))],
    [
      "the provider's own result \"b\" follows no call without a result",
      after(assistant(own("b"), ...results("b", "b").content))
    ],
    [
      "the provider's own result \"a\" follows no call without a result",
      after(assistant(...results("a").content, own("a")))
    ],
    [
      "the provider's own result \"a\" has another name than its call",
      after(assistant({ ...own("a"), name: "pay" }, ...results("a").content))
    ],
    [`the result of "a" shows nothing`, after(assistant(call("a")), showing())],
    [`the result of "a" has a blank text`, after(assistant(call("a")), showing(Message.text(" ")))],
    [
      `the result of "a" has a file without data`,
      after(assistant(call("a")), showing({ type: "file", mediaType: "image/png", data: "" }))
    ],
    ["message 1 (tool): results without calls before them", after(results("a"))],
    ["message 3 (tool): results without calls before them", after(assistant(call("a")), results("a"), results("a"))]
  ])("is found: %s", (found, messages) => {
    assert.include(StrictModel.violations(request(messages, [tool])).join("\n"), found)
  })

  it("is found: a tool choice without tools", () => {
    for (const toolChoice of ["auto", "required", { tool: "search" }] as const) {
      const found = StrictModel.violations({ ...request([hello]), toolChoice })
      assert.deepStrictEqual(found, ["there are no tools to choose from"])
    }
  })

  it.each<readonly [string, Messages]>([
    [
      "a tool name with a dot, which OpenAI and Anthropic refuse",
      after(assistant(call("a", "multi_tool_use.parallel")), {
        role: "tool",
        content: [{
          type: "tool-result",
          id: "a",
          name: "multi_tool_use.parallel",
          result: "ok",
          isFailure: false
        }]
      })
    ],
    [
      "a blank result",
      after(assistant(call("a")), {
        role: "tool",
        content: [{ type: "tool-result", id: "a", name: "search", result: " ", isFailure: false }]
      })
    ],
    [
      "a result under another tool's name",
      after(assistant(call("a")), {
        role: "tool",
        content: [{ type: "tool-result", id: "a", name: "pay", result: "ok", isFailure: false }]
      })
    ],
    [
      "a provider's result without its call",
      after(
        assistant(
          { type: "tool-result", id: "z", name: "search", result: "ok", isFailure: false, providerExecuted: true },
          Message.text("hi")
        )
      )
    ],
    [
      "a result of ours inside an assistant message",
      after(
        assistant({ type: "tool-result", id: "z", name: "search", result: "ok", isFailure: false }, Message.text("hi"))
      )
    ]
  ])("is also found: %s", (_, messages) => {
    assert.isNotEmpty(StrictModel.violations(request(messages, [tool])))
  })

  it("is also found: the choice of a tool that is not offered", () => {
    assert.isNotEmpty(StrictModel.violations({ ...request([hello], [tool]), toolChoice: { tool: "pay" } }))
  })

  it("is also found: two tools with one name", () => {
    assert.isNotEmpty(StrictModel.violations(request([hello], [tool, Tool.make("search")])))
  })

  it.each(["my tool", "files.read", "", "n".repeat(65)])("is also found: a tool named %j", (name) => {
    assert.deepStrictEqual(StrictModel.violations(request([hello], [Tool.make(name)])), [
      `the tool "${name}" has a name that is none: providers take 1 to 64 letters, digits, _ and -`
    ])
  })

  it("is found in every place", () => {
    const found = StrictModel.violations(request([Message.user("\0"), assistant(Message.text("\0")), hello]))
    assert.deepStrictEqual(found, ["message 0 (user): a NUL character", "message 1 (assistant): a NUL character"])
  })
})

describe("the layer", () => {
  const asked: Array<Model.ModelRequest> = []
  const inner = Layer.succeed(Model.Model, {
    info: { provider: "test", name: "model" },
    stream: (request) => {
      asked.push(request)
      return Stream.make({ type: "text-delta", block: "0", delta: "hi" } as const)
    }
  })
  const build = Effect.gen(function*() {
    const scope = yield* Scope.make()
    const context = yield* Layer.buildWithScope(Layer.provide(StrictModel.layer, inner), scope)
    return { model: Context.get(context, Model.Model), close: Scope.close(scope, Exit.void) }
  })

  it.effect("passes on a legal request and returns its stream", () =>
    Effect.gen(function*() {
      const { close, model } = yield* build
      assert.deepStrictEqual(model.info, { provider: "test", name: "model" })
      assert.strictEqual((yield* Stream.runCollect(model.stream(request([hello])))).length, 1)
      yield* close
    }))

  it.effect("dies on an illegal request, before the model is asked", () =>
    Effect.gen(function*() {
      const { close, model } = yield* build
      asked.length = 0
      const exit = yield* Effect.exit(Stream.runDrain(model.stream(request([]))))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      assert.deepStrictEqual(asked, [])
      yield* Effect.exit(close)
    }))

  it.effect("fails its scope with what was found, even if the code under test swallows the death", () =>
    Effect.gen(function*() {
      const { close, model } = yield* build
      yield* Stream.runDrain(model.stream(request([]))).pipe(Effect.catchCause(() => Effect.void))
      const exit = yield* Effect.exit(close)
      assert.isTrue(Exit.isFailure(exit) && Cause.pretty(exit.cause).includes("no message but system ones"))
    }))

  it.effect("keeps a fallback that is an instance of a class", () =>
    Effect.gen(function*() {
      const to: Model.Model["Service"] = { info: { provider: "test", name: "second" }, stream: () => Stream.empty }
      const first = Bound.only({ ...to, fallback: Bound.only({ to, when: () => true }) })
      const { fallback } = yield* StrictModel.make(first)
      const error = new RunError.NonRetryableError({ _tag: "Unknown" as const, message: "no" })
      assert.deepStrictEqual([fallback?.to.info.name, fallback?.when(error)], ["second", true])
    }))

  it.effect("asks the model again each time a stream is run", () =>
    Effect.gen(function*() {
      const { close, model } = yield* build
      asked.length = 0
      const stream = model.stream(request([hello]))
      yield* Stream.runDrain(stream)
      yield* Stream.runDrain(stream)
      assert.strictEqual(asked.length, 2)
      yield* close
    }))
})
