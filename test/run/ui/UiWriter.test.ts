/** The chunks of runs, one by one, as readers other than the AI SDK's own also go by them. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Message from "../../../src/run/Message.ts"
import * as RunError from "../../../src/run/RunError.ts"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import type * as ToolOutcome from "../../../src/run/ToolOutcome.ts"
import type * as UiMessages from "../../../src/run/UiMessages.ts"
import * as Drafts from "../../../src/testing/sessions/Drafts.ts"
import * as UiPage from "../../support/UiPage.ts"

const chunksOf = (events: ReadonlyArray<RunEvent.RunEvent>, options?: UiMessages.Options) =>
  UiPage.chunksOf(Stream.fromIterable(events), options)

const place = { runId: "run-1", turn: 1, attempt: 1, index: 0 } as const
const text = (block: string, delta: string): RunEvent.RunEvent => ({ _tag: "TextDelta", ...place, block, delta })
const params = (block: string, delta: string): RunEvent.RunEvent => ({
  _tag: "ToolParamsDelta",
  ...place,
  block,
  delta,
  tool: "search"
})

const [started, turn, finished, completed] = Drafts.log(
  Drafts.started("go"),
  Drafts.turnStarted(1),
  Drafts.turnFinished(1),
  Drafts.completed()
)
const begin = [started, turn]
const says = (...content: ReadonlyArray<Message.AssistantPart>) => Drafts.log(Drafts.assistant(content))[0]
const call = (id: string): Message.ToolCallPart => ({ ...Drafts.call("search"), id })

const beginning = [{ type: "start", messageId: "run-1:answer" }, { type: "start-step" }]
const available = (toolCallId: string, input: object = {}) => ({
  type: "tool-input-available",
  toolCallId,
  toolName: "search",
  input
})

describe("the chunks of a run", () => {
  it.effect("are a step for each turn, ending what was shown and adding in full what was not", () =>
    Effect.gen(function*() {
      const [settled] = Drafts.log(Drafts.settled("1.0", "seen"))
      const events = [
        ...begin,
        text("t", "I l"),
        text("t", "ook."),
        params("a", "{"),
        params("a", "}"),
        says(Message.text("I look."), call("a"), Message.text("Now.")),
        settled,
        finished,
        completed
      ]
      const id = "1.1:t"
      assert.deepStrictEqual<unknown>(yield* chunksOf(events), [
        ...beginning,
        { type: "text-start", id },
        { type: "text-delta", id, delta: "I l" },
        { type: "text-delta", id, delta: "ook." },
        { type: "tool-input-start", toolCallId: "run-1/1.0", toolName: "search" },
        { type: "tool-input-delta", toolCallId: "run-1/1.0", inputTextDelta: "{" },
        { type: "tool-input-delta", toolCallId: "run-1/1.0", inputTextDelta: "}" },
        { type: "text-end", id },
        available("run-1/1.0"),
        { type: "text-start", id: "1:2" },
        { type: "text-delta", id: "1:2", delta: "Now." },
        { type: "text-end", id: "1:2" },
        { type: "tool-output-available", toolCallId: "run-1/1.0", output: "seen" },
        { type: "finish-step" },
        { type: "finish", finishReason: "stop" }
      ])
    }))

  it.effect("keep interleaved blocks and calls apart, and take nothing back", () =>
    Effect.gen(function*() {
      const events = [
        ...begin,
        text("a", "One"),
        text("b", "Two"),
        text("a", "."),
        params("x", "{"),
        params("y", "["),
        params("x", "}"),
        says(Message.text("One."), Message.text("Two"), call("x"), call("y"))
      ]
      const chunks = yield* chunksOf(events)
      const deltas = chunks.flatMap((chunk) =>
        chunk.type === "text-delta" ? [[chunk.id, chunk.delta]] : chunk.type === "tool-input-delta"
          ? [[chunk.toolCallId, chunk.inputTextDelta]]
          : []
      )
      assert.deepStrictEqual(deltas, [
        ["1.1:a", "One"],
        ["1.1:b", "Two"],
        ["1.1:a", "."],
        ["run-1/1.0", "{"],
        ["run-1/1.1", "["],
        ["run-1/1.0", "}"]
      ])
      assert.notInclude(chunks.map(({ type }) => type), "reset-step")
    }))

  it.effect.each<readonly [what: string, shown: ReadonlyArray<RunEvent.RunEvent>, said: ReadonlyArray<unknown>]>([
    ["a call that is not in the message", [params("a", "{")], []],
    ["calls in another order than the message's", [params("b", "{"), params("a", "{")], [
      available("run-1/1.0"),
      available("run-1/1.1")
    ]],
    ["a text that the message does not have", [text("t", "Hm")], []]
  ])("take back %s", ([, shown, said]) =>
    Effect.gen(function*() {
      const message = says(...said.map((_, at) => call(at === 0 ? "a" : "b")))
      const chunks = yield* chunksOf([...begin, ...shown, message])
      const from = chunks.findIndex(({ type }) => type === "reset-step")
      assert.deepStrictEqual<unknown>(chunks.slice(from), [{ type: "reset-step" }, ...said])
    }))

  it.effect("show a provider's call under an id of its own, and its failure", () =>
    Effect.gen(function*() {
      const byProvider = { id: "web", name: "search", providerExecuted: true } as const
      const events = [
        ...begin,
        params("web", "{}"),
        says(
          { type: "tool-call", ...byProvider, params: {} },
          { type: "tool-result", ...byProvider, result: { code: 7 }, isFailure: true }
        )
      ]
      assert.deepStrictEqual<unknown>((yield* chunksOf(events)).slice(4), [
        { type: "reset-step" },
        { ...available("run-1/1/web"), providerExecuted: true },
        { type: "tool-output-error", toolCallId: "run-1/1/web", providerExecuted: true, errorText: `{"code":7}` }
      ])
    }))

  it.effect("take nothing back if the result of an earlier turn stands between two texts", () =>
    Effect.gen(function*() {
      const byProvider = { id: "web", name: "search", providerExecuted: true } as const
      const events = [
        ...begin,
        says({ type: "tool-call", ...byProvider, params: {} }),
        { ...text("a", "Found"), turn: 2 } as RunEvent.RunEvent,
        { ...text("b", "it."), turn: 2 } as RunEvent.RunEvent,
        {
          ...says(
            Message.text("Found"),
            { type: "tool-result", ...byProvider, result: "here", isFailure: false },
            Message.text("it.")
          ),
          turn: 2
        }
      ]
      const chunks = yield* chunksOf(events)
      assert.notInclude(chunks.map(({ type }) => type), "reset-step")
      assert.deepStrictEqual<unknown>(chunks.at(-1), {
        type: "tool-output-available",
        toolCallId: "run-1/1/web",
        providerExecuted: true,
        output: "here"
      })
    }))

  it.effect("have no blank parts", () =>
    Effect.gen(function*() {
      const chunks = yield* chunksOf([...begin, says(Message.text(""), Message.text("Yes."))])
      assert.deepStrictEqual(chunks.flatMap((chunk) => chunk.type === "text-delta" ? [chunk.delta] : []), ["Yes."])
    }))

  it.effect("begin with whichever event comes first", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual<unknown>(yield* chunksOf([turn]), beginning)
    }))

  it.effect("begin anew with an attempt of a later drive, after one that was cut off without a trace", () =>
    Effect.gen(function*() {
      const [again, resumed] = Drafts.log(Drafts.turnStarted(1), Drafts.resumed(2))
      const second: RunEvent.RunEvent = { _tag: "TextDelta", ...place, attempt: 2, block: "t", delta: "Hello" }
      const said = { ...says(Message.text("Hello")), attempt: 2 }
      const chunks = yield* chunksOf([...begin, text("t", "Hel"), resumed, again, second, said])
      assert.deepStrictEqual<unknown>(chunks.slice(4), [
        { type: "reset-step" },
        { type: "start-step" },
        { type: "text-start", id: "1.2:t" },
        { type: "text-delta", id: "1.2:t", delta: "Hello" },
        { type: "text-end", id: "1.2:t" }
      ])
    }))

  it.effect("end nothing that was taken back", () =>
    Effect.gen(function*() {
      const [discarded] = Drafts.log(Drafts.discarded(1, 1))
      const chunks = yield* chunksOf([...begin, text("t", "Hal"), discarded])
      assert.deepStrictEqual<unknown>(chunks.at(-1), { type: "reset-step" })
    }))

  it.effect.each<readonly [outcome: ToolOutcome.ToolOutcome, hook: string | undefined, reason: string]>([
    [{ _tag: "NotExecuted", reason: "aborted" }, undefined, "Not executed: the run was aborted before this call."],
    [{ _tag: "UnknownTool", available: [] }, undefined, "There is no such tool; this agent has no tools."],
    [{ _tag: "Denied", reason: "closed" }, "hours", "closed"]
  ])(
    "show a call that was asked about and ended without an answer as denied, and say why: %j",
    ([outcome, hook, reason]) =>
      Effect.gen(function*() {
        const [asked, settled] = Drafts.log(
          Drafts.approvalRequested("1.0"),
          Drafts.settled("1.0", outcome, hook === undefined ? {} : { hook })
        )
        const chunks = yield* chunksOf([...begin, says(call("a")), asked, settled])
        assert.deepStrictEqual<unknown>(chunks.slice(-2), [
          { type: "tool-approval-response", approvalId: "1.0", approved: false, reason },
          { type: "tool-output-denied", toolCallId: "run-1/1.0" }
        ])
      })
  )

  it.effect("show a call that a hook answered while a person was asked about it as allowed", () =>
    Effect.gen(function*() {
      const [asked, settled] = Drafts.log(
        Drafts.approvalRequested("1.0"),
        Drafts.settled("1.0", "known", { hook: "cache", edited: { n: 2 } })
      )
      const events = [...begin, says(call("a")), asked, settled]
      assert.deepStrictEqual<unknown>((yield* chunksOf(events)).slice(-3), [
        { type: "tool-approval-response", approvalId: "1.0", approved: true },
        available("run-1/1.0", { n: 2 }),
        { type: "tool-output-available", toolCallId: "run-1/1.0", output: "known" }
      ])
    }))

  it.effect("have the first answer to a question", () =>
    Effect.gen(function*() {
      const [asked, no, yes] = Drafts.log(
        Drafts.approvalRequested("1.0"),
        Drafts.approvalResolved("1.0", false),
        Drafts.approvalResolved("1.0")
      )
      const chunks = yield* chunksOf([...begin, says(call("a")), asked, no, yes])
      const answers = chunks.flatMap((chunk) => chunk.type === "tool-approval-response" ? [chunk.approved] : [])
      assert.deepStrictEqual(answers, [false])
    }))

  it.effect("do not mention a call that pauses if its arguments were not shown", () =>
    Effect.gen(function*() {
      const log = Drafts.log(Drafts.resumed(2), Drafts.toolPaused("1.0", { sessionId: "below", runId: "below" }))
      assert.deepStrictEqual<unknown>(yield* chunksOf(log), beginning.slice(0, 1))
    }))

  it.effect("show progress as preliminary", () =>
    Effect.gen(function*() {
      const progress = {
        _tag: "ToolProgress",
        runId: "run-1",
        turn: 1,
        callId: "1.0",
        tool: "search",
        value: 1
      } as const
      const chunks = yield* chunksOf([...begin, says(call("a")), progress])
      assert.deepStrictEqual<unknown>(chunks.at(-1), {
        type: "tool-output-available",
        toolCallId: "run-1/1.0",
        output: 1,
        preliminary: true
      })
    }))

  it.effect("show what was said to the run under way, identified by its place in the log", () =>
    Effect.gen(function*() {
      const log = Drafts.log(Drafts.started("go"), Drafts.turnStarted(1), Drafts.input("Wait", "Stop"))
      assert.deepStrictEqual<unknown>((yield* chunksOf(log)).slice(2), [{
        type: "steering-message",
        id: "run-1:3",
        parts: [{ type: "text", text: "Wait" }, { type: "text", text: "Stop" }]
      }])
      const [message] = (yield* UiPage.opened(log)).slice(1)
      assert.deepStrictEqual<unknown>(message?.parts.slice(1), (yield* chunksOf(log)).slice(2))
    }))

  it.effect("leave out what is settled from the run before it", () =>
    Effect.gen(function*() {
      const log = Drafts.log(
        { ...Drafts.settled("1.0", "old"), runId: "run-0" },
        { ...Drafts.input("old"), runId: "run-0" },
        Drafts.started("go"),
        { ...Drafts.settled("1.0", "old"), runId: "run-0" }
      )
      assert.deepStrictEqual<unknown>(yield* chunksOf(log), beginning.slice(0, 1))
    }))

  it.effect("have what is settled of their run before they know that it is their run's", () =>
    Effect.gen(function*() {
      const [other, settled, steer, answered, completed] = Drafts.log(
        { ...Drafts.settled("1.1", "old"), runId: "run-0" },
        Drafts.settled("1.0", "seen"),
        Drafts.input("Wait"),
        Drafts.approvalResolved("1.1"),
        Drafts.completed()
      )
      assert.deepStrictEqual<unknown>(yield* chunksOf([other!, settled!, steer!, answered!, completed!]), [
        beginning[0],
        { type: "tool-output-available", toolCallId: "run-1/1.0", output: "seen" },
        { type: "steering-message", id: "run-1:3", parts: [{ type: "text", text: "Wait" }] },
        { type: "finish", finishReason: "stop" }
      ])
    }))

  it.effect("show a call with the arguments that it ran with if somebody edited them", () =>
    Effect.gen(function*() {
      for (const outcome of ["seen", { _tag: "Failed", message: "out of order" }] as const) {
        const [settled] = Drafts.log(Drafts.settled("1.0", outcome as never, { edited: { n: 2 } }))
        const chunks = yield* chunksOf([...begin, says(call("a")), settled])
        assert.deepStrictEqual<unknown>(chunks.slice(3, -1), [available("run-1/1.0", { n: 2 })])
      }
    }))

  it.effect("leave out the model's reasoning if it is not to be sent, and nothing else", () =>
    Effect.gen(function*() {
      const reasoning: RunEvent.RunEvent = { _tag: "ReasoningDelta", ...place, block: "r", delta: "Hm" }
      const chunks = yield* chunksOf([...begin, reasoning, text("t", "Yes.")], { sendReasoning: false })
      assert.deepStrictEqual(chunks.slice(2).map(({ type }) => type), ["text-start", "text-delta", "text-end"])
    }))

  it.effect("begin anew with the turn after one that was cut off", () =>
    Effect.gen(function*() {
      const [, limited, resumed, second] = Drafts.log(
        Drafts.started("go"),
        Drafts.limited(),
        Drafts.resumed(2),
        Drafts.turnStarted(2)
      )
      const said = { ...text("t", "Yes."), turn: 2 }
      const chunks = yield* chunksOf([...begin, text("t", "Hal"), limited, resumed, second, said])
      assert.deepStrictEqual<unknown>(chunks.slice(4, 8), [
        { type: "reset-step" },
        { type: "start-step" },
        { type: "text-start", id: "2.1:t" },
        { type: "text-delta", id: "2.1:t", delta: "Yes." }
      ])
    }))
})

describe("the last chunk of a run", () => {
  it.effect.each<readonly [end: RunEvent.Draft, reason: string]>([
    [Drafts.completed(), "stop"],
    [{ ...Drafts.completed(), reason: "contentFilter" } as never, "content-filter"],
    [{ ...Drafts.completed(), reason: "other" } as never, "other"],
    [Drafts.limited(), "other"],
    [{ ...Drafts.limited(), reason: "length" } as never, "length"],
    [Drafts.suspended, "tool-calls"]
  ])("says why it finished, in the AI SDK's words: %j", ([end, finishReason]) =>
    Effect.gen(function*() {
      const chunks = yield* chunksOf(Drafts.log(Drafts.started("go"), end))
      assert.deepStrictEqual<unknown>(chunks.at(-1), { type: "finish", finishReason })
    }))

  it.effect("is missing if the run continues after its end, and does not end again", () =>
    Effect.gen(function*() {
      const chunks = yield* chunksOf(Drafts.log(Drafts.started("go"), Drafts.limited(), Drafts.resumed(2)))
      assert.deepStrictEqual<unknown>(chunks, beginning.slice(0, 1))
    }))

  it.effect("comes after the end of what was shown if the stream breaks", () =>
    Effect.gen(function*() {
      const error = RunError.invalidInput("input", "no")
      const events = Stream.concat(Stream.fromIterable([...begin, text("t", "Hal")]), Stream.fail(error))
      assert.deepStrictEqual<unknown>((yield* UiPage.chunksOf(events)).slice(-2), [
        { type: "text-end", id: "1.1:t" },
        { type: "error", errorText: "An error occurred." }
      ])
    }))
})
