/** What the messages say: all of a user's words, one result for each call, reasoning only for its own model. */
import { assert, describe, it } from "@effect/vitest"
import * as Message from "../../src/run/Message.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import * as Draft from "../support/Drafts.ts"
import * as Logs from "../support/Logs.ts"
import { models } from "../support/Odd.ts"

const check = (runs: number) => ({ arbitrary: { runs, size: 60, seed: "content" } })

const messagesOf = (log: Logs.Log, reader?: Message.ModelRef) => Transcript.messages(Transcript.fromLog(log), reader)

const words = (messages: ReadonlyArray<Message.Message>) =>
  messages.map((message) =>
    `${message.role}: ${typeof message.content === "string" ? message.content : Message.textOf(message.content)}`
  )

/** The marks in what users said and no compaction has replaced. */
const marks = (log: Logs.Log): ReadonlyArray<string> => {
  const upTo = Math.max(0, ...log.map((event) => event._tag === "ContextCompacted" ? event.upTo : 0))
  return log.filter((event) => event.seq > upTo).flatMap((event) => {
    const said = event._tag === "RunStarted"
      ? [...(event.input.history ?? []).filter((message) => message.role === "user"), ...event.input.messages]
      : event._tag === "InputReceived"
      ? event.messages
      : []
    return said.flatMap((message) =>
      message.content.flatMap((part) => part.type === "text" ? (/«.*»/.exec(part.text) ?? []) : [])
    )
  })
}

describe("a user's words", () => {
  it.prop("are in the messages after every event, unless they were compacted away", [Logs.odd], ([{ log }]) => {
    for (let n = 1; n <= log.length; n++) {
      const prefix = log.slice(0, n)
      const said = messagesOf(prefix).filter((message) => message.role === "user").map((message) =>
        Message.textOf(message.content)
      ).join("\n")
      for (const mark of marks(prefix)) assert.include(said, mark)
    }
  }, check(200))

  it.prop("appear once, and in the order in which they were said", [Logs.tidy], ([{ log }]) => {
    if (log.some((event) => event._tag === "ContextCompacted")) return
    const found = messagesOf(log).flatMap((message) =>
      message.role === "user" ? Message.textOf(message.content).match(/«.*?»/g) ?? [] : []
    )
    assert.deepStrictEqual(found, [...marks(log)])
  }, check(200))

  it.each(["AAAAA", "data:image/png;base64,@@@", "data:image/png;base64,AAAAA"])(
    "remain if a file was stored that no provider can decode, %s, and the model is told",
    (data) => {
      const file: Message.FilePart = { type: "file", mediaType: "image/png", data }
      const log = Draft.log({ ...Draft.started("x"), input: Draft.effective([Message.text("look"), file]) })
      assert.deepStrictEqual(messagesOf(log)[0]?.content, [
        Message.text("look"),
        Message.text("[a file is missing here: it cannot be sent]")
      ])
    }
  )

  it("remain if a file that cannot be sent is missing, and the model is told", () => {
    const content: ReadonlyArray<Message.UserPart> = [
      Message.text("look"),
      { type: "file", mediaType: "image/png", data: "" },
      { type: "file", mediaType: "image/png", data: "AA==" }
    ]
    const log = Draft.log({ ...Draft.started("x"), input: Draft.effective(content) })
    assert.deepStrictEqual(messagesOf(log)[0]?.content, [
      Message.text("look"),
      Message.text("[a file is missing here: it cannot be sent]"),
      content[2]!
    ])
  })

  it("remain however many parts follow a message without an answer", () => {
    const parts = Array.from({ length: 300_000 }, () => Message.text("a"))
    const many = { ...Draft.started("again"), input: Draft.effective(parts) }
    const [message] = messagesOf(Draft.log(Draft.started("first"), many))
    assert.strictEqual(message?.content.length, 300_001)
  })

  it("during a call stand after its turn", () => {
    const log = Draft.log(
      Draft.started("first"),
      Draft.turnStarted(1),
      Draft.input("during the call"),
      Draft.assistant([Message.text("let me see"), Draft.call("search")]),
      Draft.input("before the tool"),
      Draft.toolStarted("1.0"),
      Draft.input("during the tool"),
      Draft.settled("1.0", "found"),
      Draft.turnFinished(1)
    )
    assert.deepStrictEqual(words(messagesOf(log)), [
      "user: first",
      "assistant: let me see",
      "tool: ",
      "user: during the callbefore the toolduring the tool"
    ])
  })

  it("between two turns stand between them", () => {
    const log = Draft.log(
      Draft.started("first"),
      Draft.turnStarted(1),
      Draft.assistant([Message.text("one")]),
      Draft.turnFinished(1),
      Draft.input("second"),
      Draft.turnStarted(2),
      Draft.assistant([Message.text("two")], { turn: 2 })
    )
    assert.deepStrictEqual(words(messagesOf(log)), ["user: first", "assistant: one", "user: second", "assistant: two"])
  })

  it("during a call that got no answer are sent with the next one", () => {
    const log = Draft.log(
      Draft.started("first"),
      Draft.turnStarted(1),
      Draft.input("meanwhile"),
      Draft.aborted,
      Draft.resumed(2)
    )
    assert.deepStrictEqual(words(messagesOf(log)), ["user: firstmeanwhile"])
  })

  it("while a call waited for a person stand after its result", () => {
    const log = Draft.log(
      Draft.started("first"),
      Draft.turnStarted(1),
      Draft.assistant([Draft.call("search")]),
      Draft.approvalRequested("1.0"),
      Draft.input("meanwhile"),
      Draft.suspended,
      { ...Draft.started("never mind"), runId: "run-2" }
    )
    assert.deepStrictEqual(words(messagesOf(log)).slice(2), ["tool: ", "user: meanwhilenever mind"])
  })
})

describe("what a person said last", () => {
  const said = (...drafts: ReadonlyArray<Draft.Placed>) =>
    Transcript.latestSaid(Transcript.fromLog(Draft.log(...drafts)))?.content

  it("is all of an input, and nothing before it that had no answer", () => {
    const log = [Draft.started("a long story"), Draft.aborted, Draft.input("hello", "and now?")]
    assert.deepStrictEqual(said(...log), [Message.text("hello"), Message.text("and now?")])
  })

  it("is the same after a compaction that keeps it", () => {
    const log = [
      Draft.started("go"),
      Draft.assistant([Message.text("gone")]),
      Draft.turnFinished(1),
      Draft.completed(),
      Draft.started("a long story"),
      Draft.aborted,
      Draft.started("hello"),
      Draft.compacted(4, [])
    ]
    assert.deepStrictEqual(said(...log), [Message.text("hello")])
    assert.deepStrictEqual(said(...log, Draft.notice("Go on.")), [Message.text("hello"), Message.text("Go on.")])
  })
})

describe("a call", () => {
  it.prop("has one result, in call order, after its message", [Logs.odd], ([{ log }]) => {
    for (let n = 1; n <= log.length; n += 3) {
      const messages = messagesOf(log.slice(0, n), models[0])
      messages.forEach((message, i) => {
        if (message.role !== "assistant") return
        const after = messages[i + 1]
        const results = after?.role === "tool" ? after.content : []
        const calls = Message.toolCalls(message.content)
        assert.deepStrictEqual(results.map(({ id, name }) => [id, name]), calls.map(({ id, name }) => [id, name]))
      })
    }
  }, check(200))

  it("has its own outcome, even if calls settled in another order", () => {
    const log = Draft.log(
      Draft.started("hello"),
      Draft.assistant([Draft.call("search"), Draft.call("pay"), Draft.call("search")]),
      Draft.settled("1.2", "third"),
      Draft.settled("1.0", "first"),
      Draft.settled("1.1", { _tag: "Denied", reason: "no" })
    )
    const tool = messagesOf(log).at(-1)!
    assert.deepStrictEqual(
      tool.role === "tool" && tool.content.map(({ isFailure, result }) => [result, isFailure]),
      [["first", false], ["Denied: no", true], ["third", false]]
    )
  })

  it("keeps its first outcome if a log has two", () => {
    const calls = Draft.assistant([Draft.call("search")])
    const log = Draft.log(Draft.started("x"), calls, Draft.settled("1.0", "first"), Draft.settled("1.0", "second"))
    const told = messagesOf(log).flatMap((message) => message.role === "tool" ? message.content : [])
    assert.deepStrictEqual(told.map(({ result }) => result), ["first"])
  })

  it("has an outcome found after its drive died, but none found after another end", () => {
    const turn = [Draft.started("x"), Draft.assistant([Draft.call("search")])]
    const late = Draft.settled("1.0", "late")
    const died = Draft.log(...turn, { ...Draft.aborted, reason: "crashed" }, Draft.resumed(2), late)
    assert.include(JSON.stringify(messagesOf(died)), "late")
    assert.notInclude(JSON.stringify(messagesOf(Draft.log(...turn, Draft.aborted, late))), "late")
  })

  it.each<readonly [string, Draft.Placed]>([
    ["a shutdown", { ...Draft.aborted, reason: "shutdown" }],
    ["the loss of its store", Draft.failed("StoreUnavailable")]
  ])("that %s left has the outcome that it gets later; what was settled before stays as it is", (_, end) => {
    const turn = [
      Draft.started("x"),
      Draft.assistant([Draft.call("a"), Draft.call("b")]),
      Draft.settled("1.0", "early")
    ]
    const results = (...later: ReadonlyArray<Draft.Placed>) =>
      messagesOf(Draft.log(...turn, ...later)).flatMap((message) =>
        message.role === "tool" ? message.content.map(({ result }) => result) : []
      )
    assert.deepStrictEqual(results(end, Draft.resumed(2), Draft.settled("1.1", "late")), ["early", "late"])
    // as logs of earlier versions are: nothing is open
    const closed = [Draft.settled("1.1", "before"), end, Draft.input("more"), Draft.settled("1.1", "late")]
    assert.deepStrictEqual(results(...closed), ["early", "before"])
  })

  it("is not settled by another run's outcome", () => {
    const calls = Draft.assistant([Draft.call("search")])
    const log = Draft.log(Draft.started("x"), calls, { ...Draft.settled("1.0", "wrong"), runId: "run-2" })
    assert.notInclude(JSON.stringify(messagesOf(log)), "wrong")
  })

  it("that a provider ran itself has no result of ours", () => {
    const hosted = { ...Draft.call("web_search"), providerExecuted: true }
    const log = Draft.log(
      Draft.started("x"),
      Draft.assistant([hosted, Draft.call("search")]),
      Draft.settled("1.0", "ours")
    )
    const tool = messagesOf(log).at(-1)!
    assert.deepStrictEqual(tool.role === "tool" && tool.content.map((part) => part.result), ["ours"])
  })

  it("that is pruned has a note in place of a long result; later calls keep theirs", () => {
    const turn = (n: number) => [
      Draft.turnStarted(n),
      Draft.assistant([Draft.call("search")], { turn: n }),
      Draft.settled(`${n}.0`, `result ${n} ${"x".repeat(5000)}`),
      Draft.turnFinished(n)
    ]
    const log = Draft.log(Draft.started("x"), ...[1, 2, 3].flatMap(turn), { ...Draft.compacted(0, []), pruned: 7 })
    assert.strictEqual(log[6]?._tag, "AssistantMessage")
    const told = messagesOf(log).flatMap((message) => message.role === "tool" ? message.content : [])
    assert.deepStrictEqual(told.map(({ result }) => /result \d/.exec(JSON.stringify(result))?.[0]), [
      undefined,
      undefined,
      "result 3"
    ])
  })

  it("shows a model its content in a form that may be sent", () => {
    const content = [
      Message.text("a \ud800 chart"),
      Message.text(" "),
      { type: "file", mediaType: "image/png", data: "" } as const
    ]
    const shown = (content: ReadonlyArray<Message.UserPart>) => {
      const outcome = { _tag: "Succeeded", result: 1, content } as const
      const log = Draft.log(Draft.started("x"), Draft.assistant([Draft.call("search")]), Draft.settled("1.0", outcome))
      return messagesOf(log).flatMap((message) => message.role === "tool" ? message.content : [])[0]?.content
    }
    const lost = Message.text("[a file is missing here: it cannot be sent]")
    assert.deepStrictEqual(shown(content), [Message.text("a \ufffd chart"), lost])
    assert.deepStrictEqual(shown([]), [Message.text("(no output)")])
  })

  it("without output says so", () => {
    const log = Draft.log(Draft.started("x"), Draft.assistant([Draft.call("search")]), Draft.settled("1.0", " \n"))
    assert.include(JSON.stringify(messagesOf(log)), "(no output)")
  })
})

describe("reasoning", () => {
  const isOf = (log: Logs.Log, part: Message.ReasoningPart, reader: Message.ModelRef | undefined) =>
    log.some((event) =>
      event._tag === "AssistantMessage" && event.model.provider === reader?.provider &&
      event.model.name === reader.name && event.message.content.includes(part)
    )

  /** Shown on its own; a provider's own call is nothing without its result. */
  const isSent = (part: Message.AssistantPart) =>
    part.type !== "reasoning" && (part.type !== "tool-call" || part.providerExecuted !== true)

  it.prop("goes only to the model that made it, and unedited", [Logs.odd], ([{ log }]) => {
    for (const reader of [undefined, ...models]) {
      for (const message of messagesOf(log, reader)) {
        if (message.role !== "assistant") continue
        for (const part of message.content) {
          if (part.type === "reasoning") assert.isTrue(isOf(log, part, reader), JSON.stringify({ part, reader }))
        }
      }
    }
  }, check(300))

  it.prop("goes in full to the model that made it, if well-formed", [Logs.tidy], ([{ log }]) => {
    if (log.some((event) => event._tag === "ContextCompacted")) return
    for (const reader of models) {
      const made = log.flatMap((event) =>
        event._tag === "AssistantMessage" && event.model === reader &&
          event.message.content.some(isSent)
          ? event.message.content.filter((part) => part.type === "reasoning")
          : []
      )
      const sent = messagesOf(log, reader).flatMap((message) =>
        message.role === "assistant" ? message.content.filter((part) => part.type === "reasoning") : []
      )
      assert.deepStrictEqual(sent, made)
    }
  }, check(200))

  it("from another system's history goes to nobody", () => {
    const content: Array<Message.AssistantPart> = [{ type: "reasoning", text: "secret" }, Message.text("hi")]
    const log = Draft.log(Draft.started("x", { history: [{ role: "assistant", content }] }))
    assert.notInclude(JSON.stringify(messagesOf(log, Draft.model)), "secret")
  })

  it("left by a context manager goes to nobody, since nobody knows whose it is", () => {
    const content: Array<Message.AssistantPart> = [{ type: "reasoning", text: "secret" }, Message.text("hi")]
    const log = Draft.log(
      Draft.started("x"),
      Draft.compacted(1, [Message.user("x"), { role: "assistant", content }]),
      Draft.input("y")
    )
    assert.notInclude(JSON.stringify(messagesOf(log, Draft.model)), "secret")
  })

  it("that is redacted, with only its metadata, goes back", () => {
    const redacted: Message.AssistantPart = { type: "reasoning", text: "", metadata: { test: { redacted: "eA==" } } }
    const log = Draft.log(Draft.started("x"), Draft.assistant([redacted, Message.text("hi")]))
    assert.include(JSON.stringify(messagesOf(log, Draft.model)), "eA==")
  })
})

describe("an answer that its provider paused", () => {
  const search: Message.ToolCallPart = { ...Draft.call("search"), id: "srv_1", providerExecuted: true }
  const paused = [
    Draft.started("one"),
    Draft.turnStarted(1),
    Draft.assistant([Message.text("let me see"), search], { finishReason: "pause" }),
    { ...Draft.turnFinished(1), decision: { _tag: "Continue" as const, reason: "pause" as const } }
  ]
  const calls = (log: ReadonlyArray<Draft.Placed>, reader = Draft.model) =>
    messagesOf(Draft.log(...log), reader).flatMap((message) =>
      message.role === "assistant" ? message.content.filter(({ type }) => type === "tool-call") : []
    ).length

  it.each<readonly [string, ReadonlyArray<Draft.Placed>, number]>([
    ["is whole for its model, which goes on with it", [], 1],
    ["is whole while it does", [Draft.turnStarted(2)], 1],
    ["ends where somebody says something before that", [Draft.input("no")], 0],
    ["ends where somebody says something meanwhile", [Draft.turnStarted(2), Draft.input("no")], 0],
    ["ends with its run", [Draft.completed()], 0],
    ["stays as it is after the death of its drive", [{ ...Draft.aborted, reason: "crashed" as const }], 1]
  ])("%s", (_, more, expected) => {
    assert.strictEqual(calls([...paused, ...more]), expected)
    assert.strictEqual(calls([...paused, ...more], { provider: "test", name: "other" }), 0)
  })
})

describe("a compaction", () => {
  const log = [
    Draft.started("one"),
    Draft.assistant([Message.text("two")]),
    Draft.turnFinished(1),
    Draft.input("three"),
    Draft.assistant([Message.text("four")], { turn: 2 })
  ]

  it.each<readonly [number, ReadonlyArray<string>]>([
    [0, ["user: so farone", "assistant: two", "user: three", "assistant: four"]],
    [1, ["user: so far", "assistant: two", "user: three", "assistant: four"]],
    [2, ["user: so farthree", "assistant: four"]],
    [4, ["user: so far", "assistant: four"]],
    [5, ["user: so far"]]
  ])("up to %i replaces the messages of the events up to there", (upTo, expected) => {
    assert.deepStrictEqual(
      words(messagesOf(Draft.log(...log, Draft.compacted(upTo, [Message.user("so far")])))),
      expected
    )
  })
})
