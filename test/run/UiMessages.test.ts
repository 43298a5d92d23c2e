/** Runs as the AI SDK's own reader of its UI message stream sees them. */
import { assert, describe, it } from "@effect/vitest"
import type { UIMessage } from "ai"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import * as RunError from "../../src/run/RunError.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as UiContent from "../../src/run/ui/UiContent.ts"
import * as UiMessages from "../../src/run/UiMessages.ts"
import { NeedsResult } from "../../src/services/NeedsResult.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Drafts from "../../src/testing/sessions/Drafts.ts"
import * as Approvals from "../support/Approvals.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as UiPage from "../support/UiPage.ts"

const { parts, text } = ScriptedModel

describe("a run on a page", () => {
  it.effect("shows reasoning, text and calls as they arrive, once each", () =>
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
      assert.deepStrictEqual(UiPage.brief(last), [
        "step-start",
        "reasoning: Let me see.",
        "text: I look.",
        `tool-look {"n":7} output-available "done 7"`,
        `tool-work {"n":8} output-available "done 8"`,
        "step-start",
        "text: It is done."
      ])
      const seen = states.map((state) => UiPage.brief(state).at(-1))
      const come = ["{}", `{"n":7}`].map((input) => `tool-look ${input} input-streaming`)
      for (const state of ["reasoning: Let me ", "text: I ", ...come, "text: It is "]) assert.include(seen, state)
      assert.notInclude(chunks.map(({ type }) => type), "reset-step")
      assert.strictEqual(last!.id, "r:answer")
      assert.deepStrictEqual(chunks.at(-1), { type: "finish", finishReason: "stop" })
      const [asked, answer, ...more] = yield* UiPage.opened(yield* store.log("s"))
      assert.deepStrictEqual(asked, { id: "r", role: "user", parts: [{ type: "text", text: "go" }] })
      assert.deepStrictEqual(UiPage.brief(answer), UiPage.brief(last))
      assert.deepStrictEqual(more, [])
    }))

  it.effect("takes back what a discarded attempt showed", () =>
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
      assert.deepStrictEqual(UiPage.brief((yield* UiPage.read(chunks)).last), ["step-start", "text: right"])
    }))

  it.effect("has a question, waits with it, and continues in the same message once it is answered", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* Approvals.make([
        [text("May I?"), ScriptedModel.call("work", { n: 1 }, "a"), ScriptedModel.call("work", { n: 2 }, "b")],
        text("Thanks.")
      ])
      const first = yield* UiPage.chunksOf(agent.stream({ sessionId: "s", runId: "r", input: "go" }))
      assert.deepStrictEqual(first.at(-1), { type: "finish", finishReason: "tool-calls" })
      const asked = (yield* UiPage.read(first)).last!
      assert.deepStrictEqual(UiPage.brief(asked).slice(-2), [
        `tool-work {"n":1} approval-requested`,
        `tool-work {"n":2} approval-requested`
      ])
      // as the page has it once a person has answered, and as its transport sends it
      const page = structuredClone(asked)
      page.parts = page.parts.map((part): UIMessage["parts"][number] => {
        if (part.type !== "tool-work" || part.state !== "approval-requested") return part
        const isYes = part.toolCallId.endsWith("/1.0")
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
      assert.deepStrictEqual(UiPage.brief(last), whole)
      assert.strictEqual(last!.id, asked.id)
      // replayed from the log, as for a page that was reloaded
      const log = yield* store.log("s")
      const told = yield* UiPage.chunksOf(Stream.fromIterable(log))
      const again = yield* UiPage.read(told)
      assert.deepStrictEqual(UiPage.brief(again.last), whole)
      const [, kept] = yield* UiPage.opened(log)
      assert.deepStrictEqual(UiPage.plain(kept), UiPage.plain(again.last))
      // a page that is not told the questions knows the answers: it gave them
      const rest = log.slice(log.findIndex(({ _tag }) => _tag === "ApprovalResolved"))
      const answersIn = (chunks: ReadonlyArray<UiMessages.Chunk>) =>
        chunks.flatMap((chunk) => chunk.type === "tool-approval-response" ? [chunk.approved] : [])
      assert.deepStrictEqual(answersIn(told), [true, false])
      assert.deepStrictEqual(answersIn(yield* UiPage.chunksOf(Stream.fromIterable(rest))), [])
    }))

  it.effect("that replaces a waiting run is a message of its own", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* Approvals.make([ScriptedModel.call("work", { n: 1 }), text("As you like.")])
      yield* agent.run({ sessionId: "s", runId: "r1", input: "go" })
      const chunks = yield* UiPage.chunksOf(agent.stream({ sessionId: "s", runId: "r2", input: "Never mind." }))
      const { errors, last } = yield* UiPage.read(chunks)
      assert.deepStrictEqual(errors, [])
      assert.strictEqual(last!.id, "r2:answer")
      assert.deepStrictEqual(UiPage.brief(last), ["step-start", "text: As you like."])
      const [, first, , second] = yield* UiPage.opened(yield* store.log("s"))
      assert.deepStrictEqual(UiPage.brief(first), ["step-start", `tool-work {"n":1} output-denied`])
      assert.deepStrictEqual([second?.id, UiPage.brief(second)], [last!.id, UiPage.brief(last)])
    }))

  it.effect.each(["waits", "suspended"])(
    "that is aborted while a person is asked is a message that the AI SDK accepts: %s",
    (how) =>
      Effect.gen(function*() {
        const desk = Approvals.desk()
        const options = how === "waits" ? { approver: desk } : {}
        const { agent, store } = yield* Approvals.make([ScriptedModel.call("work", { n: 1 })], options)
        const run = yield* agent.start({ sessionId: "s", runId: "r", input: "go" })
        yield* how === "waits" ? desk.asked("1.0") : run.result
        yield* agent.abort("s")
        const log = yield* store.log("s")
        const { errors, last } = yield* UiPage.read(yield* UiPage.chunksOf(Stream.fromIterable(log)))
        assert.deepStrictEqual(errors, [])
        yield* UiPage.accepted(last)
        const [, kept] = yield* UiPage.opened(log)
        assert.deepStrictEqual(UiPage.plain(kept), UiPage.plain(last))
        assert.deepStrictEqual(UiPage.plain(last!.parts.at(-1)), {
          type: "tool-work",
          toolCallId: "r/1.0",
          input: { n: 1 },
          state: "output-denied",
          approval: { id: "r/1.0", approved: false, reason: "Not executed: the run was aborted before this call." }
        })
      })
  )

  it.effect("that is joined in the middle of an answer shows all of it", () =>
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
      assert.deepStrictEqual(UiPage.brief(second.last), UiPage.brief(first.last))
      assert.include(UiPage.brief(second.last), "text: Once upon a time.")
    }))

  it.effect("shows progress, failures, and what the provider did itself", () =>
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
      const shown = UiPage.brief(last)
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

  it.effect("shows what a person denied as denied, and what a hook denied as failed", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* Approvals.make(
        [
          [
            ScriptedModel.call("work", { n: 1 }, "a"),
            ScriptedModel.call("work", { n: 2 }, "b"),
            ScriptedModel.call("look", { n: 2 }, "c")
          ],
          text("Well.")
        ],
        {
          approver: Approvals.answering(({ params }) =>
            (params as { n: number }).n === 1 ? Approvals.no("not one") : Approvals.yes
          ),
          agent: {
            hooks: [{
              name: "no-twos",
              beforeToolCall: ({ params }) =>
                Effect.succeed((params as { n: number }).n === 2 ? { _tag: "Deny", reason: "no twos" } : undefined)
            }]
          }
        }
      )
      const { errors, last } = yield* UiPage.read(
        yield* UiPage.chunksOf(agent.stream({ sessionId: "s", runId: "r", input: "go" }))
      )
      assert.deepStrictEqual(errors, [])
      assert.deepStrictEqual(UiPage.brief(last).filter((part) => part.startsWith("tool-")), [
        `tool-work {"n":1} output-denied`,
        `tool-work {"n":2} output-error Denied: no twos`,
        `tool-look {"n":2} output-error Denied: no twos`
      ])
      const [, kept] = yield* UiPage.opened(yield* store.log("s"))
      assert.deepStrictEqual(UiPage.plain(kept), UiPage.plain(last))
    }))

  it.effect("shows a call that needs a result as one for the page to answer, and as failed if denied", () =>
    Effect.gen(function*() {
      const toolkit = Approvals.withWork(TestAgent.kit.tools.work.annotate(NeedsResult, true) as never)
      const { agent, store } = yield* Approvals.make(
        [[ScriptedModel.call("work", { n: 1 }, "a"), ScriptedModel.call("work", { n: 2 }, "b")], text("Well.")],
        { agent: { toolkit } }
      )
      const chunks = yield* UiPage.chunksOf(agent.stream({ sessionId: "s", runId: "r", input: "go" }))
      const { errors, last: asked } = yield* UiPage.read(chunks)
      assert.deepStrictEqual(errors, [])
      const calls = (message: unknown) => UiPage.brief(message).filter((part) => part.startsWith("tool-"))
      assert.deepStrictEqual(calls(asked), [`tool-work {"n":1} input-available`, `tool-work {"n":2} input-available`])
      assert.deepStrictEqual(calls((yield* UiPage.opened(yield* store.log("s")))[1]), calls(asked))
      yield* agent.decide({ sessionId: "s", approvalId: "r/1.0", approved: true, result: "by hand" })
      yield* agent.decide({ sessionId: "s", approvalId: "r/1.1", approved: false, reason: "not two" })
      yield* Stream.runDrain(agent.resume({ sessionId: "s" }))
      const log = yield* store.log("s")
      const { last } = yield* UiPage.read(yield* UiPage.chunksOf(Stream.fromIterable(log)))
      assert.deepStrictEqual(calls(last), [
        `tool-work {"n":1} output-available "by hand"`,
        `tool-work {"n":2} output-error Denied: not two`
      ])
      const [, kept] = yield* UiPage.opened(log)
      assert.deepStrictEqual(UiPage.plain(kept), UiPage.plain(last))
    }))

  it.effect("shows what a hook denied as failed, even after a person said yes", () =>
    Effect.gen(function*() {
      let isClosed = false
      const { agent } = yield* Approvals.make([ScriptedModel.call("work", { n: 1 }, "a"), text("Well.")], {
        agent: {
          hooks: [{
            name: "hours",
            beforeToolCall: () => Effect.sync(() => isClosed ? { _tag: "Deny", reason: "closed" } : undefined)
          }]
        }
      })
      const before = yield* UiPage.read(yield* UiPage.chunksOf(agent.stream({ sessionId: "s", input: "go" })))
      const [question] = yield* agent.approvals("s")
      yield* agent.decide({ sessionId: "s", approvalId: question!.id, approved: true })
      isClosed = true
      const chunks = yield* UiPage.chunksOf(agent.resume({ sessionId: "s" }))
      const { last } = yield* UiPage.read(chunks, before.last)
      assert.include(UiPage.brief(last), `tool-work {"n":1} output-error Denied: closed`)
    }))

  it.effect("shows what the provider found turns after its call", () =>
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
      assert.include(UiPage.brief(last), `tool-search {} output-available "web"`)
      const [, kept] = yield* UiPage.opened(yield* store.log("s"))
      assert.deepStrictEqual(UiPage.brief(kept), UiPage.brief(last))
    }))

  it.effect("shows what its answers rest on beneath them, and so does a page that opens later", () =>
    Effect.gen(function*() {
      const page = { type: "url", url: "https://a.test/", title: "A" } as const
      const plain = { type: "url", url: "https://b.test/" } as const
      const report = { type: "document", id: "d", title: "Rain", mediaType: "application/pdf" } as const
      const { agent, store } = yield* TestAgent.make([
        [text("Let "), ScriptedModel.sources(page), text("me see."), ScriptedModel.call("work", { n: 1 })],
        [text("It rains."), ScriptedModel.sources(page, plain, report, { ...report, id: "e", fileName: "rain.pdf" })]
      ])
      const chunks = yield* UiPage.chunksOf(agent.stream({ sessionId: "s", runId: "r", input: "go" }))
      const { errors, last } = yield* UiPage.read(chunks)
      assert.deepStrictEqual(errors, [])
      yield* UiPage.acceptedChunks(chunks)
      assert.notInclude(chunks.map(({ type }) => type), "reset-step")
      assert.deepStrictEqual(UiPage.brief(last), [
        "step-start",
        "text: Let me see.",
        `tool-work {"n":1} output-available "done 1"`,
        "source-url 1:url https://a.test/ https://a.test/ A",
        "step-start",
        "text: It rains.",
        "source-url 2:url https://a.test/ https://a.test/ A",
        "source-url 2:url https://b.test/ https://b.test/",
        "source-document 2:document d application/pdf Rain",
        "source-document 2:document e application/pdf Rain rain.pdf"
      ])
      const [, answer] = yield* UiPage.opened(yield* store.log("s"))
      assert.deepStrictEqual(UiPage.brief(answer), UiPage.brief(last))
      // the page sends its messages along with the next one
      const next = { id: "n", role: "user", parts: [{ type: "text", text: "Really?" }] }
      const request = yield* UiMessages.request({
        id: "s",
        messages: [UiPage.plain(last), next],
        trigger: "submit-message"
      })
      assert.strictEqual(request._tag, "Ask")
    }))

  it.effect("is told of no source of an imported log that nobody should link to", () =>
    Effect.gen(function*() {
      const [script, data, page] = ["javascript:alert(1)", "data:text/html,hi", "https://a.test/"].map((url) =>
        ({ type: "url", url }) as const
      )
      const log = Drafts.log(Drafts.started("go"), { ...Drafts.assistant([]), sources: [script!, page!, data!] })
      const chunks = yield* UiPage.chunksOf(Stream.fromIterable(log))
      const shown = chunks.flatMap((chunk) => chunk.type === "source-url" ? [chunk.url] : [])
      assert.deepStrictEqual(shown, ["https://a.test/"])
    }))

  it("gives a page and a document ids of their own, also where the document's is the page's address", () => {
    const page = { type: "url", url: "https://a.test/" } as const
    const document = { type: "document", id: page.url, title: "Rain", mediaType: "text/html" } as const
    const ids = UiContent.sources(1, [page, document]).map(({ sourceId }) => sourceId)
    assert.deepStrictEqual(ids, ["1:url https://a.test/", "1:document https://a.test/"])
  })

  it.effect("shows what the message says if that differs from what was streamed", () =>
    Effect.gen(function*() {
      const params = (block: string) => ({ type: "tool-params-delta", block, tool: "work", delta: "{" }) as const
      const { agent, store } = yield* TestAgent.make([
        [
          text("Both."),
          // announced in an order other than that of the calls
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
      assert.deepStrictEqual(UiPage.brief((yield* UiPage.read(chunks)).last), shown)
      assert.notInclude(JSON.stringify(chunks), "reasoning")
      const [, kept] = yield* UiPage.opened(yield* store.log("s"), { sendReasoning: false })
      assert.deepStrictEqual(UiPage.brief(kept), shown)
    }))

  it.effect("shows parts in the order of their message, and calls by their place in it", () =>
    Effect.gen(function*() {
      const found = { type: "tool-result", id: "web", name: "search", result: ["found"], isFailure: false } as const
      const { agent, store } = yield* TestAgent.make([
        [
          text("A"),
          parts({ type: "tool-call", id: "web", name: "search", params: {}, providerExecuted: true }, found),
          text("B"),
          // a provider that gives all calls the same id
          ScriptedModel.call("work", { n: 1 }, "x"),
          ScriptedModel.call("work", { n: 2 }, "x")
        ],
        // of a call that does not exist
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
      assert.deepStrictEqual(UiPage.brief(last), shown)
      const [, kept] = yield* UiPage.opened(yield* store.log("s"))
      assert.deepStrictEqual(UiPage.brief(kept), shown)
    }))
})

describe("the end of a run on a page", () => {
  it.effect("is an error in the application's words only", () =>
    Effect.gen(function*() {
      const refused = new RunError.NonRetryableError({ _tag: "InvalidRequest", message: "model x of account y" })
      const { agent } = yield* TestAgent.make([ScriptedModel.fail(refused), ScriptedModel.fail(refused)])
      const messageMetadata = ({ totals }: RunEvent.End) => ({ turns: totals.turns })
      const chunks = yield* UiPage.chunksOf(agent.stream({ input: "go" }), { messageMetadata })
      // a page reads nothing after an error
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

  it.effect("says that it was aborted or limited, and is kept with the application's metadata", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, store } = yield* TestAgent.make([
        TestAgent.work(1),
        [text("half"), ScriptedModel.gate(gate)],
        TestAgent.work(1)
      ])
      const options = { messageMetadata: ({ totals }: RunEvent.End) => ({ turns: totals.turns }) }
      const run = yield* agent.start({ input: "go", sessionId: "aborted" })
      const aborted = yield* Effect.forkChild(UiPage.chunksOf(run.events, options))
      yield* gate.started
      yield* run.abort
      const chunks = yield* Fiber.join(aborted)
      assert.deepStrictEqual(chunks.slice(-2), [
        { type: "message-metadata", messageMetadata: { turns: 1 } },
        { type: "abort", reason: "requested" }
      ])
      const shown = (yield* UiPage.read(chunks)).last
      assert.deepStrictEqual(UiPage.plain(shown?.parts.at(-1)), { type: "text", text: "half", state: "done" })
      assert.deepStrictEqual(shown?.metadata, { turns: 1 })
      const again = yield* UiPage.opened(yield* store.log("aborted"), options)
      assert.deepStrictEqual(again.map(({ metadata }) => metadata), [undefined, { turns: 1 }])
      const plain = yield* UiPage.chunksOf(run.events)
      assert.deepStrictEqual(plain.filter(({ type }) => type === "message-metadata"), [])
      const input = { sessionId: "s", input: "go", limits: { maxTurns: 1 } }
      const limited = yield* UiPage.chunksOf(agent.stream(input), options)
      assert.deepStrictEqual(limited.at(-1), { type: "finish", finishReason: "other", messageMetadata: { turns: 1 } })
      assert.deepStrictEqual((yield* UiPage.read(limited)).last?.metadata, { turns: 1 })
      const kept = yield* UiPage.opened(yield* store.log("s"), options)
      assert.deepStrictEqual(kept.map(({ metadata }) => metadata), [undefined, { turns: 1 }])
    }))
})
