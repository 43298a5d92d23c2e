/** Runs that may not begin or go on: refused typed, and the session is left as it was. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Message from "../../src/run/Message.ts"
import * as RunError from "../../src/run/RunError.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import type * as RunInput from "../../src/run/RunInput.ts"
import * as Usage from "../../src/run/Usage.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const refused = ScriptedModel.fail(
  new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag: "Authentication", message: "no key" })
)

const resumed = (agent: TestAgent.TestAgent["agent"], input: Partial<RunInput.ResumeInput> = {}) =>
  Stream.runCollect(agent.resume({ sessionId: "s", ...input }))

describe("resume is refused, and nothing is stored,", () => {
  const refusal = Effect.fnUntraced(function*(made: TestAgent.TestAgent, input: Partial<RunInput.ResumeInput> = {}) {
    const before = yield* made.store.log("s")
    const error = yield* Effect.flip(resumed(made.agent, input))
    assert.deepStrictEqual(yield* made.store.log("s"), before)
    return error
  })

  it.effect("for an unknown session, which does not come into being", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([])
      assert.strictEqual((yield* refusal(made)).reason._tag, "SessionNotFound")
      assert.deepStrictEqual(yield* made.store.service.list(), [])
    }))

  it.effect("for a run that completed", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([ScriptedModel.text("ok")])
      yield* made.agent.run({ sessionId: "s", input: "go" })
      assert.strictEqual((yield* refusal(made)).reason._tag, "NothingToResume")
    }))

  it.effect("for a run that is not the session's last, or none of it", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([refused, refused])
      yield* Effect.flip(made.agent.run({ sessionId: "s", runId: "r1", input: "go" }))
      yield* Effect.flip(made.agent.run({ sessionId: "s", runId: "r2", input: "go" }))
      assert.strictEqual((yield* refusal(made, { runId: "r1" })).reason._tag, "NothingToResume")
      assert.strictEqual((yield* refusal(made, { runId: "r3" })).reason._tag, "NothingToResume")
    }))

  it.effect("for limits and ids that are none", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([refused])
      yield* Effect.flip(made.agent.run({ sessionId: "s", input: "go" }))
      assert.strictEqual((yield* refusal(made, { limits: { maxTurns: 0 } })).reason._tag, "InvalidInput")
      assert.strictEqual((yield* refusal(made, { sessionId: " " })).reason._tag, "InvalidInput")
    }))
})

describe("a session whose last drive died", () => {
  const base = (seq: number) => ({ seq, at: seq, runId: "dead", version: RunEvent.version })
  const started: RunEvent.Durable = {
    _tag: "RunStarted",
    ...base(1),
    agent: "test/Tested",
    input: { messages: [Message.user("go")], toolPolicy: {}, limits: { maxTurns: 20 } },
    instructions: "00"
  }
  const turn: RunEvent.Durable = {
    _tag: "TurnStarted",
    ...base(2),
    turn: 1,
    model: { provider: "scripted", name: "scripted" },
    promptSeq: 1,
    inputDigest: "00"
  }
  const called: RunEvent.Durable = {
    _tag: "AssistantMessage",
    ...base(3),
    turn: 1,
    attempt: 1,
    message: { role: "assistant", content: [{ type: "tool-call", id: "a", name: "work", params: { n: 1 } }] },
    finishReason: "tool-calls",
    model: { provider: "scripted", name: "scripted" },
    usage: Usage.zero
  }
  const intent: RunEvent.Durable = {
    _tag: "ToolStarted",
    ...base(4),
    turn: 1,
    callId: "1.0",
    tool: "work",
    params: { n: 1 }
  }
  const log = [started, turn, called, intent] as const

  for (const length of [1, 2, 3, 4]) {
    it.effect(`at its ${log[length - 1]!._tag} is refused typed, and nothing is appended`, () =>
      Effect.gen(function*() {
        const store = yield* TestStore.make()
        yield* Effect.scoped(Effect.gen(function*() {
          const session = yield* store.service.open("s", { runId: "dead", create: true })
          for (const event of log.slice(0, length)) yield* session.append([event])
        }))
        let ran = 0
        const { agent } = yield* TestAgent.make([], { store, tool: () => Effect.sync(() => `${ran++}`) })
        const tries = [
          Effect.asVoid(agent.run({ sessionId: "s", input: "hello?" })),
          Effect.asVoid(agent.start({ sessionId: "s", input: "hello?" })),
          Effect.asVoid(resumed(agent)),
          Effect.asVoid(resumed(agent, { runId: "dead" }))
        ]
        for (const attempt of tries) {
          const error = yield* Effect.flip(attempt)
          assert.deepStrictEqual(error.reason._tag === "DriveDied" ? error.reason.runId : error.reason._tag, "dead")
        }
        assert.strictEqual(ran, 0)
        assert.deepStrictEqual(yield* store.log("s"), log.slice(0, length))
      }))
  }
})
