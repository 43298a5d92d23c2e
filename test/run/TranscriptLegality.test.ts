/** Guarantee 4: whatever a log contains, its messages are what the strictest provider accepts. */
import { assert, describe, it } from "@effect/vitest"
import * as Message from "../../src/run/Message.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import * as LogRules from "../../src/testing/LogRules.ts"
import * as Draft from "../support/Drafts.ts"
import * as Logs from "../support/Logs.ts"
import { dice, models } from "../support/Odd.ts"
import * as Requests from "../support/Requests.ts"

const check = (runs: number) => ({ arbitrary: { runs, size: 60, seed: "legality" } })

const isLegal = (log: Logs.Log, reader?: Message.ModelRef) =>
  assert.strictEqual(Requests.violations(Transcript.fromLog(log), 10_000, reader), "")

describe("any prefix is legal", () => {
  it.prop("of a tidy session", [Logs.tidy], ([{ log }]) => {
    let transcript = Transcript.empty
    for (const event of log) {
      transcript = Transcript.append(transcript, event)
      assert.strictEqual(Requests.violations(transcript, event.seq + 1, models[event.seq % 4]), "")
    }
  }, check(500))

  it.prop("of an odd session", [Logs.odd], ([{ log }]) => {
    let transcript = Transcript.empty
    for (const event of log) {
      transcript = Transcript.append(transcript, event)
      assert.strictEqual(Requests.violations(transcript, event.seq + 1, models[event.seq % 4]), "")
    }
  }, check(500))
})

describe("any subsequence is legal", () => {
  it.prop("of a tidy session", [Logs.tidy, Logs.seed], ([{ log }, seed]) => {
    for (let i = 0; i < 5; i++) isLegal(Logs.subsequence(log, seed + i), models[i])
  }, check(500))

  it.prop("of an odd session", [Logs.odd, Logs.seed], ([{ log }, seed]) => {
    for (let i = 0; i < 5; i++) isLegal(Logs.subsequence(log, seed + i), models[i])
  }, check(500))

  it.prop("even if its events are out of order", [Logs.odd, Logs.seed], ([{ log }, seed]) => {
    const die = dice(seed)
    isLegal(log.map((event) => [die.int(1000), event] as const).sort(([a], [b]) => a - b).map(([, event]) => event))
  }, check(200))
})

/** A log in which the model gives these answers, each to a user's message, and calls succeed. */
const answered = (...contents: ReadonlyArray<ReadonlyArray<Message.AssistantPart>>) =>
  Draft.log(
    ...contents.flatMap((content, i): Array<RunEvent.Draft> => [
      ...(i === 0 ? [Draft.started("hello")] : [Draft.input("next")]),
      Draft.turnStarted(i + 1),
      Draft.assistant(content, { turn: i + 1 }),
      ...Message.toolCalls(content).map((call, at) => Draft.settled(`${i + 1}.${at}`, "ok", { tool: call.name })),
      Draft.turnFinished(i + 1)
    ])
  )

const call = (id: string, name = "search", params: Message.ToolCallPart["params"] = {}): Message.ToolCallPart => ({
  type: "tool-call",
  id,
  name,
  params
})
/** A call that the provider ran itself, and its result. */
const hosted = (id: string, name = "web_search", params: Message.ToolCallPart["params"] = {}) => {
  const result = { type: "tool-result", id, name, result: "ok", isFailure: false, providerExecuted: true } as const
  return [{ ...call(id, name, params), providerExecuted: true }, result]
}

describe("a model's content", () => {
  it.each<readonly [string, ReadonlyArray<ReadonlyArray<Message.AssistantPart>>]>([
    ["calls of one id in one message", [[call("a"), call("a"), call("")]]],
    ["calls of one id in two messages", [[call("a")], [call("a")]]],
    ["tool names that are none", [[call("a", ""), call("b", "a b"), call("c", "\0"), call("d", "n".repeat(99))]]],
    ["arguments that are no object", [[call("a", "t", "raw {"), call("b", "t", null), call("c", "t", [1])]]],
    ["a lone surrogate in arguments", [[call("a", "t", { "k\ud800": ["\udc00", { deep: "\0" }] })]]],
    ["a blank text", [[Message.text(" \n")]]],
    ["a lone surrogate and a NUL in text", [[Message.text("a\ud800b\0")]]],
    ["nothing but reasoning", [[{ type: "reasoning", text: "hm" }]]],
    ["no content", [[]]],
    ["a lone surrogate in reasoning", [[{ type: "reasoning", text: "\ud800" }, Message.text("hi")]]],
    ["a NUL in the metadata of reasoning", [[
      { type: "reasoning", text: "hm", metadata: { test: { signature: "\0" } } },
      Message.text("hi")
    ]]],
    ["a NUL in the metadata of a text", [[{ type: "text", text: "hi", metadata: { test: "\0" } }]]],
    ["a NUL in the name of a file", [[
      { type: "file", mediaType: "image/png", data: "AA==", fileName: "a\0" },
      Message.text("hi")
    ]]],
    ["a file without data", [[{ type: "file", mediaType: "image/png", data: "" }, Message.text("hi")]]],
    ["a file without a media type", [[{ type: "file", mediaType: "\0", data: "AA==" }, Message.text("hi")]]],
    ["a provider's call of an odd id", [hosted("id with space")]],
    ["a provider's calls of one id in one message", [[...hosted("a"), ...hosted("a")]]],
    ["a provider's calls of one id in two messages", [hosted("a"), hosted("a")]],
    ["a provider's call of the id that one of ours gets", [[...hosted("c00000300"), call("a")]]],
    ["a provider's call of the id that a later one of ours gets", [hosted("c00000700"), [call("a")]]],
    ["a provider's call of an odd name", [hosted("a", "web search")]],
    ["a provider's call whose arguments are no object", [hosted("a", "web_search", "cats")]],
    ["a NUL in a provider's call", [hosted("a", "web_search", { q: "\0" })]],
    ["results of a provider's calls in another order", [[hosted("a")[0]!, ...hosted("b"), hosted("a")[1]!]]],
    ["a provider's call without its result", [[hosted("a")[0]!]]],
    ["a provider's result without its call", [[hosted("a")[1]!]]],
    ["a NUL in a provider's result", [[
      hosted("a")[0]!,
      {
        type: "tool-result",
        id: "a",
        name: "web_search",
        result: { "k\0": "\0" },
        isFailure: false,
        providerExecuted: true
      }
    ]]]
  ])("with %s is legal", (_, contents) => isLegal(answered(...contents), Draft.model))
})

it.each<readonly [string, Message.ToolCallPart["params"]]>([
  ["a text", "\0"],
  ["a list", ["\ud800"]],
  ["a list in a list", [[1, "\0"]]],
  ["a key", { "k\udc00": true }],
  ["a member", { k: "\0" }]
])("a result with what no provider accepts in %s is legal", (_, result) => {
  const log = Draft.log(
    Draft.started("hello"),
    Draft.assistant([call("a")]),
    Draft.settled("1.0", { _tag: "Succeeded", result })
  )
  isLegal(log)
  assert.notInclude(JSON.stringify(Transcript.messages(Transcript.fromLog(log))), "\\u")
})

it("a call with a dot in its name, as models invent them, goes back under a name that every provider accepts", () => {
  const messages = Transcript.messages(Transcript.fromLog(answered([call("a", "multi_tool_use.parallel")])))
  const names = messages.flatMap((message) => message.role === "assistant" ? Message.toolCalls(message.content) : [])
  for (const { name } of names) assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/)
})

it("a provider's call and its result keep one id, the provider's own if every provider accepts it", () => {
  const log = answered([...hosted("srvtoolu_1"), ...hosted("a b"), ...hosted("srvtoolu_1")])
  const ids = Transcript.messages(Transcript.fromLog(log)).flatMap((message) =>
    message.role === "assistant" ? message.content.flatMap((part) => "id" in part ? [part.id] : []) : []
  )
  assert.strictEqual(ids[0], "srvtoolu_1")
  assert.deepStrictEqual([ids[0], ids[2], ids[4]], [ids[1], ids[3], ids[5]])
  assert.strictEqual(new Set(ids).size, 3)
})

it("results of a provider's calls go back in the order in which they came", () => {
  const log = answered([hosted("a")[0]!, hosted("b")[0]!, hosted("b")[1]!, hosted("a")[1]!])
  const told = Transcript.messages(Transcript.fromLog(log)).flatMap((message) =>
    message.role === "assistant"
      ? message.content.flatMap((part) => "id" in part ? [`${part.type} ${part.id}`] : [])
      : []
  )
  assert.deepStrictEqual(told, ["tool-call a", "tool-call b", "tool-result b", "tool-result a"])
  assert.deepStrictEqual(LogRules.violations(log, true), [])
})

describe("a user's words", () => {
  it.each<readonly [string, ReadonlyArray<Message.UserPart>]>([
    ["are blank", [Message.text(" ")]],
    ["are none", []],
    ["hold a lone surrogate", [Message.text("a\udc00")]],
    ["hold a NUL", [Message.text("\0")]],
    ["come with a file whose name holds a NUL", [{ type: "file", mediaType: "a/b", data: "AA==", fileName: "\0" }]],
    ["come with a file without data", [{ type: "file", mediaType: "a/b", data: "" }]],
    ["come with a file that is no base64", [Message.text("hi"), { type: "file", mediaType: "a/b", data: "a=b" }]],
    ["come with a file at what is no URL", [{ type: "file", mediaType: "a/b", data: "https://exa mple.com" }]],
    ["come with metadata that holds a NUL", [{ type: "text", text: "hi", metadata: { test: "\0" } }]]
  ])(
    "that %s are legal",
    (_, content) => isLegal(Draft.log({ ...Draft.started("x"), input: Draft.effective(content) }))
  )
})

describe("what a context manager leaves", () => {
  const base = (replacement: ReadonlyArray<Message.Message>) =>
    isLegal(Draft.log(
      Draft.started("hello"),
      Draft.turnStarted(1),
      Draft.assistant([Message.text("hi")]),
      Draft.turnFinished(1),
      Draft.compacted(4, replacement),
      Draft.input("next")
    ))
  const result: Message.ToolResultPart = { type: "tool-result", id: "a", name: "t", result: "ok", isFailure: false }

  it.each<readonly [string, ReadonlyArray<Message.Message>]>([
    ["nothing", []],
    ["a blank message", [Message.user(" ")]],
    ["a NUL", [Message.user("a\0")]],
    ["a system message", [{ role: "system", content: "the user is called Ann" }]],
    ["a system message between others", [Message.user("a"), { role: "system", content: "b" }, Message.user("c")]],
    ["a call without its result", [Message.user("a"), { role: "assistant", content: [call("a")] }]],
    ["a result without its call", [Message.user("a"), { role: "tool", content: [result] }]],
    ["two calls of one id", [
      Message.user("a"),
      { role: "assistant", content: [call("a")] },
      { role: "tool", content: [result] },
      { role: "assistant", content: [call("a")] },
      { role: "tool", content: [result] }
    ]],
    ["an assistant message of nothing but reasoning", [
      { role: "assistant", content: [{ type: "reasoning", text: "hm" }] }
    ]]
  ])("may be %s", (_, replacement) => base(replacement))
})

it("what one strategy left may follow what the next one leaves, including a system message", () => {
  isLegal(Draft.log(
    Draft.started("hello"),
    Draft.compacted(1, [{ role: "system", content: "the user is called Ann" }]),
    Draft.input("more"),
    Draft.compacted(0, [Message.user("earlier they said hello")])
  ))
})

describe("a history", () => {
  it.each<readonly [string, ReadonlyArray<Message.AssistantPart>]>([
    ["an answer first", [Message.text("how can I help?")]],
    ["a blank answer", [Message.text("")]],
    ["a call that has no result", [Message.text("let me see"), call("a")]]
  ])("may hold %s", (_, content) =>
    isLegal(Draft.log({
      ...Draft.started("x"),
      input: { ...Draft.effective([Message.text("hello")]), history: [{ role: "assistant", content }] }
    })))

  it("of 4,000 calls gives each of them, and those of the run after it, an id of nine letters and digits of its own", () => {
    const history = [
      Message.user("look everywhere"),
      { role: "assistant" as const, content: Array.from({ length: 4_000 }, (_, n) => call(`given_${n}`)) }
    ]
    const log = Draft.log(
      Draft.started("hello", { history }),
      Draft.turnStarted(1),
      Draft.assistant([call("a")]),
      Draft.settled("1.0", "ok", { tool: "search" }),
      Draft.turnFinished(1)
    )
    isLegal(log)
    const messages = Transcript.messages(Transcript.fromLog(log))
    const calls = messages.flatMap((message) => message.role === "assistant" ? Message.toolCalls(message.content) : [])
    assert.lengthOf(calls, 4_001)
    assert.deepStrictEqual(calls.filter(({ id }) => !/^[a-zA-Z0-9]{9}$/.test(id)), [])
  })
})
