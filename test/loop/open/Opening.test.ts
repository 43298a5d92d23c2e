/** Runs that may not begin or continue: refused with a typed error, and the session is left as it was. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as RunError from "../../../src/run/RunError.ts"
import type * as RunInput from "../../../src/run/RunInput.ts"
import * as ScriptedModel from "../../../src/testing/ScriptedModel.ts"
import * as TestAgent from "../../support/TestAgent.ts"

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

  it.effect("for an unknown session, which is not created", () =>
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

  it.effect("for a run that is not the session's last, or not in it", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([refused, refused])
      yield* Effect.flip(made.agent.run({ sessionId: "s", runId: "r1", input: "go" }))
      yield* Effect.flip(made.agent.run({ sessionId: "s", runId: "r2", input: "go" }))
      assert.strictEqual((yield* refusal(made, { runId: "r1" })).reason._tag, "NothingToResume")
      assert.strictEqual((yield* refusal(made, { runId: "r3" })).reason._tag, "NothingToResume")
    }))

  it.effect("and the error says why: the run is complete, or another one is the last", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([ScriptedModel.text("ok")])
      yield* made.agent.run({ sessionId: "s", runId: "r1", input: "go" })
      for (const input of [{}, { runId: "r1" }]) {
        assert.include((yield* refusal(made, input)).message, "the last run of session \"s\" is complete")
      }
      const other = yield* refusal(made, { runId: "r0" })
      assert.strictEqual(
        other.message,
        "run \"r0\" is not the last run of session \"s\"; only the last one can be resumed, so leave runId out"
      )
    }))

  it.effect("for history given to a session that has messages, and the error says to leave it out", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([ScriptedModel.text("ok")])
      yield* made.agent.run({ sessionId: "s", input: "go" })
      const { message, reason } = yield* Effect.flip(made.agent.run({ sessionId: "s", input: "more", history: [] }))
      assert.deepInclude(reason, { _tag: "InvalidInput", field: "history" })
      assert.strictEqual(
        message,
        "history is for new sessions, and this session already has messages; leave history out"
      )
    }))

  it.effect("for a run that is over while another process has the session, which is busy", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([refused])
      yield* Effect.flip(made.agent.run({ sessionId: "s", runId: "r", input: "go" }))
      yield* made.store.service.open("s", { runId: "theirs", create: false })
      const { reason } = yield* refusal(made, { runId: "r" })
      assert.deepInclude(reason, { _tag: "SessionBusy", runId: "theirs" })
    }))

  it.effect("for invalid limits and ids", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([refused])
      yield* Effect.flip(made.agent.run({ sessionId: "s", input: "go" }))
      assert.strictEqual((yield* refusal(made, { limits: { maxTurns: 0 } })).reason._tag, "InvalidInput")
      assert.strictEqual((yield* refusal(made, { sessionId: " " })).reason._tag, "InvalidInput")
    }))
})
