/** What a model that is not type-checked says is stored as the log's types have it, or the answer is asked for once more. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as SessionLines from "../../src/SessionLines.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as StrictModel from "../../src/testing/StrictModel.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as Drafts from "../support/Drafts.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import type * as TestStore from "../support/TestStore.ts"

const call = { type: "tool-call", id: "a", name: "look", params: { n: 1 } }
const own = { ...call, providerExecuted: true }
const result = { type: "tool-result", id: "a", name: "look", result: 1, isFailure: false }
const file = { type: "file", mediaType: "image/png", data: "aGk=" }

/** The window is known, so that messages are measured. */
const info = { provider: "test", name: "untyped", contextWindow: 100_000 }

const said = (...parts: ReadonlyArray<object>) => ScriptedModel.parts(...parts as ReadonlyArray<never>)

/** A session in which the model says this first, and then "Right.". */
const ask = Effect.fnUntraced(function*(...first: ReadonlyArray<ScriptedModel.Step>) {
  const { agent, store } = yield* TestAgent.make([first, ScriptedModel.text("Right."), ScriptedModel.text("hello!")], {
    info,
    agent: { retry: RetryPolicy.make({ base: 0, maxRetries: 1 }) }
  })
  const { text } = yield* agent.run({ sessionId: "s", input: "go" })
  return { agent, log: yield* store.log("s"), store, text }
})

/** Whether the session can be exported and read again. */
const isReadable = ({ service }: TestStore.TestStore) =>
  SessionLines.fromLines(SessionLines.toLines("s"), { to: "t" }).pipe(
    Effect.provideService(SessionStore.SessionStore, service),
    Effect.match({ onFailure: ({ reason }) => reason.message, onSuccess: () => true })
  )

describe("an answer is asked for once more", () => {
  it.effect.each<readonly [wrong: string, parts: ReadonlyArray<object>]>([
    ["a tool call without a name", [{ ...call, name: undefined }]],
    ["a tool call without a name", [{ ...call, name: null }, call]],
    ["a tool call without a name", [{ ...own, name: 5 }, result]],
    ["a tool result without a name", [own, { ...result, name: undefined }]],
    ["a file whose mediaType or data is not a string", [{ ...file, mediaType: 5 }]],
    ["a file whose mediaType or data is not a string", [{ ...file, data: new Uint8Array(2) }]],
    ["a file whose mediaType or data is not a string", [{ type: "file" }]]
  ])("that has %s", ([wrong, parts]) =>
    Effect.gen(function*() {
      const { agent, log, store, text } = yield* ask(said(...parts))
      const discarded = RunLog.only(log, "AttemptDiscarded").map(({ error, usage }) => [error, usage.inputTokens])
      const error = { _tag: "InvalidResponse", message: `the model's answer has ${wrong}` }
      assert.deepStrictEqual([text, discarded, RunLog.outcomes(log)], ["Right.", [[error, 10]], []])
      assert.strictEqual((yield* agent.run({ sessionId: "s", input: "hello" })).text, "hello!")
      assert.isTrue(yield* isReadable(store))
    }))
})

describe("an answer counts, and is stored as the log has it", () => {
  it.effect.each<readonly [name: string, parts: ReadonlyArray<object>, stored: ReadonlyArray<object>]>([
    ["no id", [{ ...call, id: undefined }], [{ ...call, id: "" }]],
    ["an id that is a number", [{ ...call, id: 5 }], [{ ...call, id: "" }]],
    ["metadata that are none", [{ ...call, metadata: "text" }, { ...file, metadata: null }], [call, file]],
    ["a word for yes or no", [{ ...call, providerExecuted: "no" }], [call]],
    ["a result that does not say whether it is a failure", [own, { ...result, isFailure: undefined }], [own, {
      ...result,
      providerExecuted: true
    }]],
    ["members of its own", [{ ...file, fileName: 5 }, { ...call, tool: "x" }], [file, call]]
  ])("with %s", ([, parts, stored]) =>
    Effect.gen(function*() {
      const { log, store, text } = yield* ask(ScriptedModel.text("Look:"), said(...parts))
      const [answer] = RunLog.only(log, "AssistantMessage")
      assert.deepStrictEqual(answer?.message.content, [{ type: "text", text: "Look:" }, ...stored as []])
      assert.strictEqual(text, RunLog.outcomes(log).length > 0 ? "Right." : "Look:")
      assert.isTrue(yield* isReadable(store))
    }))

  it.effect.each<readonly [given: unknown, stored: string]>([
    ["end_turn", "other"],
    ["constructor", "other"],
    [undefined, "unknown"],
    [5, "unknown"],
    ["stop", "stop"]
  ])("with the finish reason %s", ([given, stored]) =>
    Effect.gen(function*() {
      const { log, store } = yield* ask(ScriptedModel.text("Hi"), ScriptedModel.finish(given as never))
      assert.deepStrictEqual(RunLog.only(log, "AssistantMessage").map(({ finishReason }) => finishReason), [stored])
      assert.isTrue(yield* isReadable(store))
    }))
})

it.effect.each([["no name", undefined], ["null as its name", null]] as const)(
  "a session goes on although its log holds a call that has %s",
  ([, name]) =>
    Effect.gen(function*() {
      const answer = Drafts.assistant([{ ...call, name } as never])
      const settled = Drafts.settled("1.0", { _tag: "NotExecuted", reason: "failed" }, { tool: name as never })
      const log = [Drafts.started("go"), Drafts.turnStarted(1), answer, settled, DeadRun.crashed]
      const store = yield* DeadRun.of(log)
      const { agent, script } = yield* TestAgent.make([ScriptedModel.text("hello!")], { store, info })
      assert.strictEqual((yield* agent.run({ sessionId: "s", input: "hello" })).text, "hello!")
      const [request] = yield* script.requests
      assert.deepStrictEqual(StrictModel.violations(request!), [])
    })
)
