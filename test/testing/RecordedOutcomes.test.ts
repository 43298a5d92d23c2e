/** The outcomes of a recorded session's calls, given to the calls of another run. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Hooks from "../../src/services/Hooks.ts"
import * as Recorded from "../../src/testing/Recorded.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Replayed from "../support/Replayed.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const { call, text } = ScriptedModel
const { look, work } = TestAgent

const outcomesOf = (events: Replayed.Events) => RunLog.only(events, "ToolSettled").map(({ outcome }) => outcome)

/** Another agent makes these calls, one turn after the other, with the hook between it and its tools. */
const meets = Effect.fnUntraced(function*(
  hook: Recorded.Outcomes,
  turns: ReadonlyArray<ScriptedModel.Turn>,
  options: TestAgent.Options = {}
) {
  const ran: Array<number> = []
  const store = yield* TestStore.make()
  const { agent } = yield* TestAgent.make([...turns, text("Done.")], {
    store,
    tool: ({ n }) => Effect.sync(() => `ran ${ran.push(n)}`),
    ...options,
    agent: { ...options.agent, hooks: [...options.agent?.hooks ?? [], hook] }
  })
  yield* agent.run({ sessionId: "s", runId: "other", input: "Go." })
  return { outcomes: outcomesOf(yield* store.log("s")), ran }
})

const denied = { _tag: "Denied", reason: "the recording has no such call" } as const
const succeeded = (result: string) => ({ _tag: "Succeeded", result }) as const

describe("a call gets the recorded outcome", () => {
  it.effect("of the same tool and arguments, whatever their order, and no tool runs", () =>
    Effect.gen(function*() {
      const pair = (params: object) => call("work", params as never)
      const events = yield* Replayed.record([[pair({ n: 1, m: { a: 1, b: 2 } }), look(2)], text("Done.")])
      const met = yield* meets(Recorded.outcomes(events), [[look(2), pair({ m: { b: 2, a: 1 }, n: 1 })]])
      assert.deepStrictEqual(met, { outcomes: [succeeded("done 2"), succeeded("done 1")], ran: [] })
    }))

  it.effect("one after the other, and then the last one again", () =>
    Effect.gen(function*() {
      let n = 0
      const tool = () => Effect.sync(() => `time ${++n}`)
      const events = yield* Replayed.record([look(1), look(1), text("Done.")], { tool })
      const met = yield* meets(Recorded.outcomes(events), [look(1), look(1), look(1)])
      assert.deepStrictEqual(met.outcomes, [succeeded("time 1"), succeeded("time 2"), succeeded("time 2")])
    }))

  it.effect("of the very call, where its run goes again and makes it more than once", () =>
    Effect.gen(function*() {
      let n = 0
      const tool = () => Effect.sync(() => `time ${++n}`)
      const events = yield* Replayed.record([[look(1), look(1)], text("Done.")], { tool })
      const deniesFirst: Hooks.Hook = {
        name: "denies-first",
        beforeToolCall: ({ callId }) => Effect.succeed(callId === "1.0" ? { _tag: "Deny", reason: "no" } : undefined)
      }
      const hook = Recorded.outcomes(events)
      const { log } = yield* Replayed.replay(events, { hooks: [deniesFirst, hook], recorded: { requests: "any" } })
      assert.deepStrictEqual(outcomesOf(log), [{ _tag: "Denied", reason: "no" }, succeeded("time 2")])
      assert.deepStrictEqual((yield* hook.unmade).map(({ callId }) => callId), ["1.0"])
    }))

  it.effect("of every kind that says something of the call", () =>
    Effect.gen(function*() {
      const turns = [
        [work(1), call("work", { n: "one" }), call("work", "{ not JSON"), call("nope", {})],
        text("Done.")
      ]
      const events = yield* Replayed.record(turns, { tool: () => Effect.fail("no") })
      assert.deepStrictEqual(outcomesOf(events).map(({ _tag }) => _tag).sort(), [
        "Failed",
        "InvalidArguments",
        "InvalidArguments",
        "UnknownTool"
      ])
      const replay = yield* Replayed.replay(events)
      assert.deepStrictEqual(
        RunLog.outcomes(replay.log).sort(),
        RunLog.outcomes(events).sort()
      )
      assert.strictEqual(replay.problem, "")
    }))

  it.effect("as people decided it: a no, other arguments, a result", () =>
    Effect.gen(function*() {
      const turns = [[work(1), work(2), work(3), work(4)], text("Done.")]
      const asks = { agent: { toolPolicy: { requireApprovalByDefault: true } } }
      const events = yield* Replayed.record(turns, asks, (agent) =>
        Effect.gen(function*() {
          yield* agent.run({ sessionId: "recorded", runId: "r", input: "Go." })
          const decide = (call: string, given: object) =>
            agent.decide({ sessionId: "recorded", approvalId: `r/${call}`, approved: true, ...given })
          yield* decide("1.0", { approved: false, reason: "not now" })
          yield* decide("1.1", { params: { n: 20 } })
          yield* decide("1.2", { result: "by hand" })
          yield* decide("1.3", {})
          yield* agent.resumeRun({ sessionId: "recorded" })
        }))
      const { log, problem } = yield* Replayed.replay(events, asks)
      assert.deepStrictEqual(outcomesOf(log), [
        { _tag: "Denied", reason: "not now" },
        {
          _tag: "Succeeded",
          result: { note: "Ran with edited arguments.", arguments: { n: 20 }, result: "done 20" }
        },
        succeeded("by hand"),
        succeeded("done 4")
      ])
      assert.strictEqual(problem, "")
    }))

  it.effect("under the arguments that a hook had left, or those that the model gave", () =>
    Effect.gen(function*() {
      const doubles: Hooks.Hook = {
        name: "doubles",
        beforeToolCall: () => Effect.succeed({ _tag: "Change", params: { n: 2 } })
      }
      const events = yield* Replayed.record([work(1), text("Done.")], { agent: { hooks: [doubles] } })
      const same = yield* meets(Recorded.outcomes(events), [work(1)], { agent: { hooks: [doubles] } })
      assert.deepStrictEqual(same.outcomes, [succeeded("done 2")])
      const without = yield* meets(Recorded.outcomes(events), [work(1)])
      assert.deepStrictEqual(without.outcomes, [succeeded("done 2")])
    }))

  it.effect("of a no without showing it to hooks, as when it was said", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const looks: Hooks.Hook = {
        name: "looks",
        afterToolCall: ({ callId }) => Effect.sync(() => void seen.push(callId))
      }
      const asks = { agent: { hooks: [looks], toolPolicy: { requireApprovalByDefault: true } } }
      const events = yield* Replayed.record([work(1), text("Done.")], asks, (agent) =>
        Effect.gen(function*() {
          yield* agent.run({ sessionId: "recorded", runId: "r", input: "Go." })
          yield* agent.decide({ sessionId: "recorded", approvalId: "r/1.0", approved: false, reason: "no" })
          yield* agent.resumeRun({ sessionId: "recorded" })
        }))
      assert.deepStrictEqual(seen, [])
      const met = yield* meets(Recorded.outcomes(events), [work(1)], { agent: { hooks: [looks] } })
      assert.deepStrictEqual([met.outcomes, seen], [[{ _tag: "Denied", reason: "no" }], []])
    }))

  it.effect("as the agent's own hooks leave it", () =>
    Effect.gen(function*() {
      const masks: Hooks.Hook = {
        name: "masks",
        afterToolCall: ({ outcome }) =>
          Effect.succeed(outcome._tag === "Succeeded" ? { outcome: { ...outcome, result: "***" } } : undefined)
      }
      const events = yield* Replayed.record([work(1), text("Done.")])
      const met = yield* meets(Recorded.outcomes(events), [work(1)], { agent: { hooks: [masks] } })
      assert.deepStrictEqual(met.outcomes, [succeeded("***")])
    }))
})

describe("a call that was not recorded", () => {
  const recorded = Replayed.record([[work(1), look(2)], text("Done.")])

  it.effect("is denied, and the test may ask for it", () =>
    Effect.gen(function*() {
      const hook = Recorded.outcomes(yield* recorded)
      assert.deepStrictEqual(yield* hook.unrecorded, [])
      const met = yield* meets(hook, [[work(1), work(3)], look(1)])
      assert.deepStrictEqual(met, { outcomes: [succeeded("done 1"), denied, denied], ran: [] })
      assert.deepStrictEqual(yield* hook.unrecorded, [
        { runId: "other", callId: "1.1", tool: "work", params: { n: 3 } },
        { runId: "other", callId: "2.0", tool: "look", params: { n: 1 } }
      ])
    }))

  it.effect("runs if the test says so, and is still named", () =>
    Effect.gen(function*() {
      const hook = Recorded.outcomes(yield* recorded, { unrecorded: "run" })
      const met = yield* meets(hook, [[work(1), work(3)]])
      assert.deepStrictEqual(met, { outcomes: [succeeded("done 1"), succeeded("ran 1")], ran: [3] })
      assert.deepStrictEqual((yield* hook.unrecorded).map(({ params }) => params), [{ n: 3 }])
    }))

  it.effect("is one that a hook denied or answered, which the agent's hooks do again or no longer do", () =>
    Effect.gen(function*() {
      const guards: Hooks.Hook = {
        name: "guards",
        beforeToolCall: ({ tool }) =>
          Effect.succeed(tool === "work" ? { _tag: "Deny", reason: "no" } : { _tag: "Answer", result: "cached" })
      }
      const options = { agent: { hooks: [guards] } }
      const events = yield* Replayed.record([[work(1), look(2)], text("Done.")], options)
      const again = yield* Replayed.replay(events, options)
      assert.deepStrictEqual([again.problem, outcomesOf(again.log)], ["", outcomesOf(events)])
      const hook = Recorded.outcomes(events)
      const without = yield* Replayed.replay(events, { hooks: [hook] })
      assert.include(without.problem, "asks another thing")
      assert.deepStrictEqual((yield* hook.unrecorded).map(({ callId }) => callId), ["1.0", "1.1"])
      assert.deepStrictEqual(yield* hook.unmade, [])
    }))

  it.effect("is one that did not run because its run was over, or at a limit", () =>
    Effect.gen(function*() {
      const events = yield* Replayed.record([[work(1), work(2)], text("Done.")], {
        agent: { limits: { maxToolCalls: 1 } }
      })
      assert.deepStrictEqual(RunLog.outcomes(events), ["1.0 Succeeded", "1.1 NotExecuted(limit)"])
      const met = yield* meets(Recorded.outcomes(events), [[work(1), work(2)]])
      assert.deepStrictEqual(met.outcomes, [succeeded("done 1"), denied])
    }))
})

describe("a recorded call that was not made", () => {
  it.effect("is named, in the order of the recording", () =>
    Effect.gen(function*() {
      const hook = Recorded.outcomes(yield* Replayed.record([[work(1), look(2)], work(3), text("Done.")]))
      const all = yield* hook.unmade
      assert.deepStrictEqual(all.map(({ callId }) => callId), ["1.0", "1.1", "2.0"])
      yield* meets(hook, [look(2)])
      assert.deepStrictEqual(yield* hook.unmade, [
        { runId: "r", callId: "1.0", tool: "work", params: { n: 1 } },
        { runId: "r", callId: "2.0", tool: "work", params: { n: 3 } }
      ])
    }))
})
