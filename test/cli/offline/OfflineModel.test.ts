import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { CliAgent } from "../../../src/cli/agent/CliAgent.ts"
import * as OfflineModel from "../../../src/cli/offline/OfflineModel.ts"
import * as Message from "../../../src/run/Message.ts"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import type * as Model from "../../../src/services/Model.ts"
import { sandbox } from "../tools/files/Sandbox.ts"
import { agent, answer, ask } from "./Ask.ts"

const longest = "which three files under src are the longest?"
const call = (id: string, params: object): Message.AssistantMessage => ({
  role: "assistant",
  content: [{ type: "tool-call", id, name: "list_files", params: params as never }]
})
const result = (id: string, value: unknown, isFailure = false): Message.ToolMessage => ({
  role: "tool",
  content: [{ type: "tool-result", id, name: "list_files", result: value as never, isFailure }]
})
const asked = { folder: "src", sort: "lines", order: "desc", limit: 13 }
const listed = { entries: [{ path: "src/a", bytes: 1, lines: 1 }], total: 1, truncated: false }

const text = (parts: ReadonlyArray<Model.ModelPart> | undefined): string =>
  (parts ?? []).map((part) => part.type === "text-delta" ? part.delta : "").join("")
const calls = (parts: ReadonlyArray<Model.ModelPart> | undefined) =>
  (parts ?? []).flatMap((part) => part.type === "tool-call" ? [part.params] : [])

describe("the offline model", () => {
  it("streams a call as providers do: its arguments in pieces, then the call, then the finish", () => {
    const parts = OfflineModel.respond([Message.user(longest)]) ?? []
    const pieces = parts.flatMap((part) => part.type === "tool-params-delta" ? [part.delta] : [])
    assert.isAbove(pieces.length, 3)
    assert.deepStrictEqual(JSON.parse(pieces.join("")), asked)
    assert.deepStrictEqual(parts.slice(-2).map((part) => part.type), ["tool-call", "finish"])
    assert.deepStrictEqual(calls(parts), [asked])
  })

  it("streams an answer in small pieces that join up to it", () => {
    const parts = OfflineModel.respond([Message.user(longest), call("1", asked), result("1", listed)]) ?? []
    assert.isTrue(parts.every((part) => part.type !== "text-delta" || part.delta.length <= 60))
    assert.include(text(parts), "src/a (1 line)")
    assert.deepStrictEqual(parts.at(-1), { type: "finish", reason: "stop", usage: { inputTokens: 0, outputTokens: 0 } })
  })

  it("answers the last task, whatever was asked and answered before", () => {
    const before = [Message.user("2+2"), call("1", asked), result("1", listed)]
    const parts = OfflineModel.respond([...before, Message.user("list files")])
    assert.deepStrictEqual(calls(parts), [{ limit: 100 }])
    const merged: Message.UserMessage = { role: "user", content: [Message.text("hello"), Message.text("2+2")] }
    assert.deepStrictEqual(calls(OfflineModel.respond([merged])), [{ expression: "2+2" }])
  })

  it("asks again when given the same task again: files may have changed", () => {
    const messages = [Message.user(longest), call("1", asked), result("1", listed), Message.user(longest)]
    assert.deepStrictEqual(calls(OfflineModel.respond(messages)), [asked])
  })

  it("continues its task when the runtime says so", () => {
    const parts = OfflineModel.respond([
      Message.user(longest),
      call("1", asked),
      result("1", "Interrupted: the run ended while this call was running.", true),
      Message.user("Go on.")
    ])
    assert.deepStrictEqual(calls(parts), [asked])
  })

  it("reports what it was told when a tool was denied", () => {
    const parts = OfflineModel.respond([
      Message.user(longest),
      call("1", asked),
      result("1", "Denied: by policy", true)
    ])
    assert.strictEqual(
      text(parts),
      "list_files gave no answer: Denied: by policy. Ask again, or ask for something else."
    )
  })

  it.effect("fails with one line about what it does not understand, and the run is in the session", () =>
    Effect.gen(function*() {
      const { end, events, text } = yield* ask(yield* sandbox(), "write a poem")
      assert.deepStrictEqual([end, text], ["RunFailed", ""])
      const failed = events.at(-1) as Extract<RunEvent.RunEvent, { _tag: "RunFailed" }>
      assert.deepStrictEqual(failed.error.reason, { _tag: "InvalidRequest", message: OfflineModel.refusal })
      assert.notInclude(OfflineModel.refusal, "\n")
    }))

  it.effect("calls only tools that are offered, for every kind of task", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "src/a.ts": "export const a = 1\n" })
      for (
        const task of [longest, "outline a.ts", "2^10", "which files contain const?", "show src", "how long is a.ts?"]
      ) {
        const { end, events } = yield* ask(root, task)
        assert.strictEqual(end, "RunCompleted", task)
        const outcomes = events.flatMap((event) => event._tag === "ToolSettled" ? [event.outcome._tag] : [])
        assert.notInclude(outcomes, "UnknownTool")
        assert.notInclude(outcomes, "InvalidArguments")
      }
    }))

  it.effect("continues a run that another drive left at its limit", () =>
    Effect.gen(function*() {
      const root = yield* sandbox({ "src/a": "1\n" })
      yield* Effect.gen(function*() {
        const client = yield* CliAgent
        yield* Stream.runDrain(client.stream({ input: longest, sessionId: "s", limits: { maxTurns: 1 } }))
        const events = yield* Stream.runCollect(client.resume({ sessionId: "s", limits: { maxTurns: 9 } }))
        assert.deepStrictEqual(events.at(-1)?._tag, "RunCompleted")
        const said = events.flatMap((event) =>
          event._tag === "AssistantMessage" ? [Message.textOf(event.message.content)] : []
        )
        assert.include(said.at(-1), "src/a (1 line)")
      }).pipe(Effect.provide(agent(root)))
    }))

  it.effect("calculates with the tool, and says in words when there is no result", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      const { calls, text } = yield* ask(root, "what is 12 * (3 + 4.5)?")
      assert.deepStrictEqual([calls, text], [[["calculate", { expression: "12 * (3 + 4.5)" }]], "12 * (3 + 4.5) = 90"])
      assert.strictEqual(yield* answer(root, "1/3"), "1/3 ≈ 0.333333333333333")
      assert.strictEqual(yield* answer(root, "7 / 0"), "7 / 0 has no result. A number divided by zero has no value.")
      assert.strictEqual(yield* answer(root, "what is 2 + "), "2 + has no result. A number is missing at the end.")
    }))
})
