/** Runs as the AI SDK's own reader of its UI message stream sees them. */
import { assert, describe, it } from "@effect/vitest"
import type { UIMessage, UIMessageChunk } from "ai"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import * as RunError from "../../src/run/RunError.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as UiMessages from "../../src/run/UiMessages.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as Logs from "../support/Logs.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as UiPage from "../support/UiPage.ts"

const { parts, text } = ScriptedModel

const facts = (log: ReadonlyArray<RunEvent.Durable>) => Stream.fromIterable(log)

/** The parts of a page's message, briefly. */
const brief = (message: unknown) => {
  const { parts } = message as UIMessage
  return parts.map((part) => {
    if (part.type === "text" || part.type === "reasoning") return `${part.type}: ${part.text}`
    if ("toolCallId" in part) {
      const end = part.output === undefined ? part.errorText : JSON.stringify(part.output)
      return `${part.type} ${JSON.stringify(part.input)} ${part.state}${end === undefined ? "" : ` ${end}`}`
    }
    return part.type === "file" ? `file ${part.mediaType} ${part.url}` : part.type
  })
}

it("chunks and messages are the AI SDK's", () => {
  const chunk = (chunk: UiMessages.Chunk): UIMessageChunk => chunk
  const message = (message: UiMessages.UiMessage): UIMessage => message
  assert.strictEqual([chunk, message].length, 2)
})

describe("a run on a page", () => {
  it.effect("shows reasoning, text and calls as they come, each once", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([
        [
          ScriptedModel.reasoning("Let me "),
          ScriptedModel.reasoning("see."),
          text("I ", "look."),
          parts({ type: "tool-params-delta", block: "c1", tool: "look", delta: "{\"n\":" }),
          parts({ type: "tool-params-delta", block: "c1", delta: "7}" }),
          ScriptedModel.call("look", { n: 7 }, "c1"),
          ScriptedModel.call("work", { n: 8 }, "c2")
        ],
        text("It is ", "done.")
      ])
      const chunks = yield* UiPage.chunksOf(agent.stream({ sessionId: "s", runId: "r", input: "go" }))
      const { errors, last, states } = yield* UiPage.read(chunks)
      assert.deepStrictEqual(errors, [])
      assert.deepStrictEqual(brief(last), [
        "step-start",
        "reasoning: Let me see.",
        "text: I look.",
        `tool-look {"n":7} output-available "done 7"`,
        `tool-work {"n":8} output-available "done 8"`,
        "step-start",
        "text: It is done."
      ])
      const seen = states.map((state) => brief(state).at(-1))
      const come = ["{}", `{"n":7}`].map((input) => `tool-look ${input} input-streaming`)
      for (const state of ["reasoning: Let me ", "text: I ", ...come, "text: It is "]) assert.include(seen, state)
      assert.notInclude(chunks.map(({ type }) => type), "reset-step")
      assert.strictEqual(last!.id, "r:answer")
      assert.deepStrictEqual(chunks.at(-1), { type: "finish", finishReason: "stop" })
      const [asked, answer, ...more] = yield* UiMessages.messages()(facts(yield* store.log("s")))
      assert.deepStrictEqual(asked, { id: "r", role: "user", parts: [{ type: "text", text: "go" }] })
      assert.deepStrictEqual(brief(answer), brief(last))
      assert.deepStrictEqual(more, [])
    }))

  it.effect("takes back what an attempt showed that does not count", () =>
    Effect.gen(function*() {
      const overloaded = new RunError.RetryableError({ _tag: "Overloaded", message: "busy" })
      const { agent } = yield* TestAgent.make([
        [ScriptedModel.fail(overloaded)],
        [parts({ type: "tool-params-delta", block: "a", tool: "work", delta: "{" }), ScriptedModel.fail(overloaded)],
        [text("wrong"), ScriptedModel.fail(overloaded)],
        text("right")
      ])
      const run = yield* Effect.forkChild(UiPage.chunksOf(agent.stream({ sessionId: "s", input: "go" })))
      yield* TestClock.adjust("1 minute")
      const chunks = yield* Fiber.join(run)
      assert.strictEqual(chunks.filter(({ type }) => type === "reset-step").length, 2)
      assert.deepStrictEqual(brief((yield* UiPage.read(chunks)).last), ["step-start", "text: right"])
    }))

  it.effect("has a question, waits with it, and goes on in the same message when it was answered", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* Approvals.make([
        [text("May I?"), ScriptedModel.call("work", { n: 1 }, "a"), ScriptedModel.call("work", { n: 2 }, "b")],
        text("Thanks.")
      ])
      const first = yield* UiPage.chunksOf(agent.stream({ sessionId: "s", runId: "r", input: "go" }))
      assert.deepStrictEqual(first.at(-1), { type: "finish", finishReason: "tool-calls" })
      const asked = (yield* UiPage.read(first)).last!
      assert.deepStrictEqual(brief(asked).slice(-2), [
        `tool-work {"n":1} approval-requested`,
        `tool-work {"n":2} approval-requested`
      ])
      // as the page has it when a person has answered, and as its transport sends it
      const page = structuredClone(asked)
      page.parts = page.parts.map((part): UIMessage["parts"][number] => {
        if (part.type !== "tool-work" || part.state !== "approval-requested") return part
        const isYes = part.toolCallId === "1.0"
        const approval = isYes
          ? { id: part.approval.id, approved: true }
          : { id: part.approval.id, approved: false, reason: "not two" }
        return { ...part, state: "approval-responded", approval }
      })
      const request = yield* UiMessages.request({ id: "s", messages: [page], trigger: "submit-message" })
      assert(request._tag === "Answer")
      for (const decision of request.decisions) yield* agent.decide({ ...decision, by: "ann" })
      const more = yield* UiPage.chunksOf(agent.resume({ sessionId: request.sessionId }))
      const { errors, last } = yield* UiPage.read(more, page)
      assert.deepStrictEqual(errors, [])
      const whole = [
        "step-start",
        "text: May I?",
        `tool-work {"n":1} output-available "done 1"`,
        `tool-work {"n":2} output-denied`,
        "step-start",
        "text: Thanks."
      ]
      assert.deepStrictEqual(brief(last), whole)
      assert.strictEqual(last!.id, asked.id)
      // told again from the log, as to a page that was reloaded
      const log = yield* store.log("s")
      const told = yield* UiPage.chunksOf(facts(log))
      const again = yield* UiPage.read(told)
      assert.deepStrictEqual(brief(again.last), whole)
      const [, kept] = yield* UiMessages.messages()(facts(log))
      assert.deepStrictEqual(UiPage.plain(kept), UiPage.plain(again.last))
      // a page that is not told of the questions knows of the answers: it gave them
      const behind = log.slice(log.findIndex(({ _tag }) => _tag === "ApprovalResolved"))
      const answersIn = (chunks: ReadonlyArray<UiMessages.Chunk>) =>
        chunks.flatMap((chunk) => chunk.type === "tool-approval-response" ? [chunk.approved] : [])
      assert.deepStrictEqual(answersIn(told), [true, false])
      assert.deepStrictEqual(answersIn(yield* UiPage.chunksOf(facts(behind))), [])
    }))

  it.effect("that takes the place of one that waits is a message of its own", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* Approvals.make([ScriptedModel.call("work", { n: 1 }), text("As you like.")])
      yield* agent.run({ sessionId: "s", runId: "r1", input: "go" })
      const chunks = yield* UiPage.chunksOf(agent.stream({ sessionId: "s", runId: "r2", input: "Never mind." }))
      const { errors, last } = yield* UiPage.read(chunks)
      assert.deepStrictEqual(errors, [])
      assert.strictEqual(last!.id, "r2:answer")
      assert.deepStrictEqual(brief(last), ["step-start", "text: As you like."])
      const [, first, , second] = yield* UiMessages.messages()(facts(yield* store.log("s")))
      assert.deepStrictEqual(brief(first), ["step-start", `tool-work {"n":1} output-denied`])
      assert.deepStrictEqual([second?.id, brief(second)], [last!.id, brief(last)])
    }))

  it.effect("that comes in the midst of an answer shows all of it", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent } = yield* TestAgent.make([TestAgent.work(1), [
        text("Once ", "upon "),
        ScriptedModel.gate(gate),
        text("a time.")
      ]])
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      const early = yield* Effect.forkChild(UiPage.chunksOf(run.events))
      yield* gate.started
      const late = yield* Effect.forkChild(UiPage.chunksOf(run.events))
      yield* Effect.yieldNow
      yield* gate.release
      const [first, second] = [
        yield* UiPage.read(yield* Fiber.join(early)),
        yield* UiPage.read(yield* Fiber.join(late))
      ]
      assert.deepStrictEqual(brief(second.last), brief(first.last))
      assert.include(brief(second.last), "text: Once upon a time.")
    }))

  it.effect("shows progress, failures, and what the provider itself did", () =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([
        [
          parts(
            { type: "tool-params-delta", block: "web", tool: "search", delta: "{}" },
            { type: "tool-call", id: "web", name: "search", params: {}, providerExecuted: true },
            { type: "tool-result", id: "web", name: "search", result: ["found"], isFailure: false },
            { type: "file", mediaType: "image/png", data: "aGk=" }
          ),
          ScriptedModel.call("work", { n: 1 }, "a"),
          ScriptedModel.call("work", { n: "one" }, "b"),
          ScriptedModel.call("nothing", {}, "c")
        ],
        text("Done.")
      ], { tool: () => Effect.fail("out of order") })
      const { errors, last } = yield* UiPage.read(yield* UiPage.chunksOf(agent.stream({ input: "go" })))
      assert.deepStrictEqual(errors, [])
      const shown = brief(last)
      const byProvider = last!.parts.flatMap((part) =>
        "providerExecuted" in part && part.providerExecuted === true ? [part.type] : []
      )
      assert.deepStrictEqual(byProvider, ["tool-search"])
      assert.include(shown, `tool-search {} output-available ["found"]`)
      assert.include(shown, "file image/png data:image/png;base64,aGk=")
      assert.include(shown, `tool-work {"n":1} output-error out of order`)
      assert.strictEqual(shown.filter((part) => part.startsWith("tool-")).length, 4)
      assert.isTrue(shown.some((part) => part.startsWith(`tool-work {"n":"one"} output-error Invalid arguments`)))
      assert.isTrue(shown.some((part) => part.startsWith("tool-nothing {} output-error There is no such tool")))
    }))

  it.effect("shows what the provider found turns behind its call", () =>
    Effect.gen(function*() {
      const result = (id: string) =>
        ({ type: "tool-result", id, name: "search", result: id, isFailure: false }) as const
      const { agent, store } = yield* TestAgent.make([
        [
          parts({ type: "tool-call", id: "web", name: "search", params: {}, providerExecuted: true }),
          ScriptedModel.call("work", { n: 1 }, "a")
        ],
        [parts(result("web"), result("of no call")), text("Found.")]
      ])
      const { errors, last } = yield* UiPage.read(yield* UiPage.chunksOf(agent.stream({ sessionId: "s", input: "go" })))
      assert.deepStrictEqual(errors, [])
      assert.include(brief(last), `tool-search {} output-available "web"`)
      const [, kept] = yield* UiMessages.messages()(facts(yield* store.log("s")))
      assert.deepStrictEqual(brief(kept), brief(last))
    }))

  it.effect("shows what its message says where that is not what came", () =>
    Effect.gen(function*() {
      const params = (block: string) => ({ type: "tool-params-delta", block, tool: "work", delta: "{" }) as const
      const { agent, store } = yield* TestAgent.make([
        [
          text("Both."),
          // announced in another order than they are called in
          parts(params("b"), params("a")),
          ScriptedModel.call("work", { n: 1 }, "a"),
          ScriptedModel.call("work", { n: 2 }, "b")
        ],
        // half a character
        [ScriptedModel.reasoning("hm"), text("cut \ud83d")]
      ])
      const chunks = yield* UiPage.chunksOf(agent.stream({ sessionId: "s", input: "go" }), { sendReasoning: false })
      const shown = [
        "step-start",
        "text: Both.",
        `tool-work {"n":1} output-available "done 1"`,
        `tool-work {"n":2} output-available "done 2"`,
        "step-start",
        "text: cut \ud83d"
      ]
      assert.deepStrictEqual(brief((yield* UiPage.read(chunks)).last), shown)
      assert.notInclude(JSON.stringify(chunks), "reasoning")
      const [, kept] = yield* UiMessages.messages({ sendReasoning: false })(facts(yield* store.log("s")))
      assert.deepStrictEqual(brief(kept), shown)
    }))

  it.effect("shows parts in the order of their message, and calls by their place in it", () =>
    Effect.gen(function*() {
      const found = { type: "tool-result", id: "web", name: "search", result: ["found"], isFailure: false } as const
      const { agent, store } = yield* TestAgent.make([
        [
          text("A"),
          parts({ type: "tool-call", id: "web", name: "search", params: {}, providerExecuted: true }, found),
          text("B"),
          // a provider that calls all calls the same
          ScriptedModel.call("work", { n: 1 }, "x"),
          ScriptedModel.call("work", { n: 2 }, "x")
        ],
        // of a call that is not there
        [parts(found), text("C")]
      ])
      const { errors, last } = yield* UiPage.read(
        yield* UiPage.chunksOf(agent.stream({ sessionId: "s", input: "go" }))
      )
      assert.deepStrictEqual(errors, [])
      const shown = [
        "step-start",
        "text: A",
        `tool-search {} output-available ["found"]`,
        "text: B",
        `tool-work {"n":1} output-available "done 1"`,
        `tool-work {"n":2} output-available "done 2"`,
        "step-start",
        "text: C"
      ]
      assert.deepStrictEqual(brief(last), shown)
      const [, kept] = yield* UiMessages.messages()(facts(yield* store.log("s")))
      assert.deepStrictEqual(brief(kept), shown)
    }))
})

describe("the end of a run on a page", () => {
  it.effect("is an error in words of one's own, and none that are not", () =>
    Effect.gen(function*() {
      const refused = new RunError.NonRetryableError({ _tag: "InvalidRequest", message: "model x of account y" })
      const { agent } = yield* TestAgent.make([ScriptedModel.fail(refused), ScriptedModel.fail(refused)])
      const messageMetadata = ({ totals }: RunEvent.End) => ({ turns: totals.turns })
      const chunks = yield* UiPage.chunksOf(agent.stream({ input: "go" }), { messageMetadata })
      // a page reads nothing behind an error
      assert.deepStrictEqual(chunks.slice(-2), [
        { type: "finish", finishReason: "error", messageMetadata: { turns: 0 } },
        { type: "error", errorText: "An error occurred." }
      ])
      const onError = (error: RunError.RunError) => `${error.reason._tag}, sorry`
      const told = yield* UiPage.read(yield* UiPage.chunksOf(agent.stream({ input: "go" }), { onError }))
      assert.deepStrictEqual(told.errors, ["InvalidRequest, sorry"])
      const unknown = yield* UiPage.chunksOf(agent.resume({ sessionId: "none" }))
      assert.deepStrictEqual(unknown, [{ type: "error", errorText: "An error occurred." }])
    }))

  it.effect("says that it was aborted, or limited, and is kept with what one says of it", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, store } = yield* TestAgent.make([[text("half"), ScriptedModel.gate(gate)], TestAgent.work(1)])
      const run = yield* agent.start({ input: "go" })
      const aborted = yield* Effect.forkChild(UiPage.chunksOf(run.events))
      yield* gate.started
      yield* run.abort
      const chunks = yield* Fiber.join(aborted)
      assert.deepStrictEqual(chunks.at(-1), { type: "abort", reason: "requested" })
      const half = (yield* UiPage.read(chunks)).last?.parts.at(-1)
      assert.deepStrictEqual(UiPage.plain(half), { type: "text", text: "half", state: "done" })
      const options = { messageMetadata: ({ totals }: RunEvent.End) => ({ turns: totals.turns }) }
      const input = { sessionId: "s", input: "go", limits: { maxTurns: 1 } }
      const limited = yield* UiPage.chunksOf(agent.stream(input), options)
      assert.deepStrictEqual(limited.at(-1), { type: "finish", finishReason: "other", messageMetadata: { turns: 1 } })
      assert.deepStrictEqual((yield* UiPage.read(limited)).last?.metadata, { turns: 1 })
      const kept = yield* UiMessages.messages(options)(facts(yield* store.log("s")))
      assert.deepStrictEqual(kept.map(({ metadata }) => metadata), [undefined, { turns: 1 }])
    }))
})

describe("a session on a page", () => {
  /** The facts of each run. */
  const runsOf = (log: Logs.Log) => {
    const runs = new Map<string, Array<RunEvent.Durable>>()
    for (const event of log) runs.set(event.runId, [...(runs.get(event.runId) ?? []), event])
    return [...runs.values()]
  }

  /** The AI SDK says nothing of a step that begins before there is something in it. */
  const said = (
    message: { readonly id: string; readonly parts: ReadonlyArray<{ readonly type: string }> } | undefined
  ) => {
    const { id = "", parts = [] } = message ?? {}
    const end = parts.findLastIndex(({ type }) => type !== "step-start")
    return end < 0 ? [] : [UiPage.plain({ id, parts: parts.slice(0, end + 1) })]
  }

  it.effect("begins with all that the session began with, in order", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([text("Fine.")])
      const history = [{ role: "user", content: "Hi" }, { role: "assistant", content: "Hello." }] as const
      const file = {
        type: "file",
        mediaType: "image/png",
        data: "https://a.test/sky.png",
        fileName: "sky.png"
      } as const
      const input = [{ role: "user", content: [file] }, { role: "user", content: "How are you?" }] as const
      yield* agent.run({ sessionId: "s", runId: "r", history, input })
      const messages = yield* UiMessages.messages()(facts(yield* store.log("s")))
      assert.deepStrictEqual(messages.map((message) => [message.id, message.role, ...brief(message)]), [
        ["r:history:0", "user", "text: Hi"],
        ["r:history:1", "assistant", "text: Hello."],
        ["r:0", "user", "file image/png https://a.test/sky.png"],
        ["r", "user", "text: How are you?"],
        ["r:answer", "assistant", "step-start", "text: Fine."]
      ])
      assert.deepInclude(messages[2]!.parts[0], { filename: "sky.png" })
    }))

  it.effect.prop("begins with what its runs showed", [Logs.tidy], ([{ log }]) =>
    Effect.gen(function*() {
      const messages = yield* UiMessages.messages()(facts(log))
      const answers = messages.filter(({ id }) => id.endsWith(":answer"))
      const shown = yield* Effect.forEach(runsOf(log), (run) =>
        Effect.map(
          Effect.flatMap(UiPage.chunksOf(facts(run)), (chunks) => UiPage.read(chunks)),
          ({ last }) => last
        ))
      assert.deepStrictEqual(answers.flatMap(said), shown.flatMap(said))
      assert.strictEqual(new Set(messages.map(({ id }) => id)).size, messages.length)
    }), { arbitrary: { runs: 100, seed: "pages" } })

  it.effect.prop("is read whatever its log holds", [Logs.odd, Logs.seed], ([{ log }, seed]) =>
    Effect.gen(function*() {
      const part = Logs.subsequence(log, seed)
      assert.isArray(yield* UiMessages.messages()(facts(part)))
      assert.isArray(yield* UiPage.chunksOf(facts(part)))
    }), { arbitrary: { runs: 100, seed: "odd pages" } })
})

describe("what a page asks for", () => {
  const user = (...parts: ReadonlyArray<unknown>) => ({ id: "m1", role: "user", parts })

  it.effect("is its last message, by its id, with its files", () =>
    Effect.gen(function*() {
      const file = { type: "file", mediaType: "image/png", url: "data:image/png;base64,aGk=", filename: "a.png" }
      const messages = [
        user({ type: "text", text: "before" }),
        user({ type: "text", text: "Hi" }, file, { type: "data-x", data: 1 })
      ]
      const input = {
        sessionId: "s",
        runId: "m1",
        input: [{
          role: "user",
          content: [
            { type: "text", text: "Hi" },
            { type: "file", mediaType: "image/png", data: "data:image/png;base64,aGk=", fileName: "a.png" }
          ]
        }]
      }
      const asked = { _tag: "Ask", sessionId: "s", input }
      assert.deepStrictEqual<unknown>(
        yield* UiMessages.request({ id: "s", messages, trigger: "submit-message" }),
        asked
      )
      assert.deepStrictEqual<unknown>(yield* UiMessages.request({ id: "s", message: messages[1] }), asked)
      const again = yield* UiMessages.request({ id: "s", messages, trigger: "regenerate-message" })
      assert.deepStrictEqual<unknown>(again, { ...asked, input: { ...input, runId: undefined } })
      // edited: what it said before has its id
      const edited = yield* UiMessages.request({ id: "s", messages, trigger: "submit-message", messageId: "m1" })
      assert.deepStrictEqual(edited, again)
    }))

  it.effect("is an answer to questions also where something was said since", () =>
    Effect.gen(function*() {
      const part = { type: "tool-work", state: "approval-responded", approval: { id: "r/1.0", approved: true } }
      const messages = [{ id: "r:answer", role: "assistant", parts: [part] }, user({ type: "text", text: "Well?" })]
      const request = yield* UiMessages.request({ id: "s", messages, trigger: "submit-message", messageId: "r:answer" })
      assert.deepStrictEqual<unknown>(request, {
        _tag: "Answer",
        sessionId: "s",
        decisions: [{ sessionId: "s", approvalId: "r/1.0", approved: true, reason: undefined }]
      })
    }))

  it.effect("is an answer to those questions that are answered, and open still", () =>
    Effect.gen(function*() {
      const call = (id: string, state: string, approved?: boolean) => ({
        type: "tool-work",
        toolCallId: id,
        state,
        approval: { id, ...(approved === undefined ? {} : { approved }) }
      })
      const parts = [
        call("ran", "output-available", true),
        call("answered", "approval-responded", true),
        call("open", "approval-requested")
      ]
      const asked = yield* UiMessages.request({ id: "s", messages: [{ id: "r:answer", role: "assistant", parts }] })
      assert.deepStrictEqual<unknown>(asked, {
        _tag: "Answer",
        sessionId: "s",
        decisions: [{ sessionId: "s", approvalId: "answered", approved: true, reason: undefined }]
      })
    }))

  it.effect.each<readonly [body: unknown, message: string]>([
    [undefined, "is no request of a chat"],
    [{ id: "s" }, "has no message of a user"],
    [{ id: "s", messages: [] }, "has no message of a user"],
    [{ id: "s", messages: [{ id: "x", role: "system", parts: [] }] }, "has no message of a user"],
    [{ messages: [user()] }, "is no request of a chat"],
    [{ id: "s", messages: [user({ type: "file", mediaType: "image/png" })] }, `has a part of type "file"`],
    [{ id: "s", messages: [user({ type: "file", url: "https://a.test/a.png" })] }, `has a part of type "file"`],
    [
      { id: "s", messages: [user({ type: "reasoning-file", mediaType: "image/png", url: "https://a.test/a.png" })] },
      `has a part of type "reasoning-file"`
    ],
    [{ id: "s", messages: [user({ type: "text" })] }, `has a part of type "text"`],
    [{ id: "s", messages: [user({ type: "reasoning", text: "hm" })] }, `has a part of type "reasoning"`],
    [{ id: "s", messages: [user({ type: "tool-x" })] }, `has a part of type "tool-x"`],
    [
      { id: "s", messages: [{ role: "assistant", parts: [{ type: "text", text: "x" }] }] },
      "has an answer as its last message, which answers no question"
    ]
  ])("is refused where it is nothing of that: %j", ([body, message]) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(UiMessages.request(body))
      assert.strictEqual(error.reason._tag, "InvalidInput")
      assert.include(error.message, `the body ${message}`)
    }))
})
