/** `maxCallsPerRun`: calls beyond it do not run, the model is told, and the run continues. */
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import * as RunError from "../../src/run/RunError.ts"
import type * as RunPolicy from "../../src/run/RunPolicy.ts"
import { Approver } from "../../src/services/Approver.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const { look, work } = TestAgent
const ok = ScriptedModel.text("ok")

const play = Effect.fnUntraced(function*(
  turns: ReadonlyArray<ScriptedModel.Turn>,
  toolPolicy: RunPolicy.ToolPolicy,
  options: TestAgent.Options = {}
) {
  const ran: Array<number> = []
  const tool: TestAgent.Handler = ({ n }) => Effect.sync(() => `done ${ran.push(n)}`)
  const made = yield* TestAgent.make(turns, { tool, ...options })
  const exit = yield* Effect.exit(made.agent.run({ sessionId: "s", input: "go", toolPolicy }))
  const log = yield* made.store.log("s")
  assert.deepStrictEqual(RunLog.violations(log), [])
  return { ...made, exit, log, end: RunLog.endOf(log), outcomes: RunLog.outcomes(log), ran }
})

describe("maxCallsPerRun", () => {
  it.effect("as a number bounds the calls of all tools together, over all turns, and the run continues", () =>
    Effect.gen(function*() {
      const { end, outcomes, ran, script } = yield* play([work(1), look(2), work(3), ok], { maxCallsPerRun: 2 })
      assert.strictEqual(end, "RunCompleted(stop)")
      assert.deepStrictEqual(ran, [1, 2])
      assert.deepStrictEqual(outcomes, ["1.0 Succeeded", "2.0 Succeeded", "3.0 NotExecuted(limit)"])
      const last = (yield* script.requests)[3]!.messages.at(-1)!
      assert.isTrue(last.role === "tool" && last.content[0]?.isFailure)
    }))

  it.effect("by name bounds that tool alone", () =>
    Effect.gen(function*() {
      const { end, ran } = yield* play([work(1), work(2), look(3), ok], { maxCallsPerRun: { work: 1 } })
      assert.strictEqual(end, "RunCompleted(stop)")
      assert.deepStrictEqual(ran, [1, 3])
    }))

  it.effect("of 0 runs none", () =>
    Effect.gen(function*() {
      const { end, ran } = yield* play([[work(1), look(2)], ok], { maxCallsPerRun: 0 })
      assert.deepStrictEqual([end, ran], ["RunCompleted(stop)", []])
    }))

  it.effect.each([1, 4])(
    "inside a message runs the first calls and no others, %i at once",
    (maxParallel) =>
      Effect.gen(function*() {
        const round = [work(1, "a"), look(2, "b"), work(3, "c"), work(4, "d"), look(5, "e")]
        const { end, outcomes, ran } = yield* play([round, ok], { maxParallel, maxCallsPerRun: { work: 2, "*": 3 } })
        assert.strictEqual(end, "RunCompleted(stop)")
        assert.deepStrictEqual(ran, [1, 2, 3])
        assert.sameMembers(outcomes, [
          "1.0 Succeeded",
          "1.1 Succeeded",
          "1.2 Succeeded",
          "1.3 NotExecuted(limit)",
          "1.4 NotExecuted(limit)"
        ])
      })
  )

  it.effect("keeps calls it does not let run from using up the limit on tool calls", () =>
    Effect.gen(function*() {
      const round = [work(1, "a"), work(2, "b"), look(3, "c")]
      const made = yield* TestAgent.make([round, ok])
      const toolPolicy = { maxCallsPerRun: { work: 1 } }
      yield* made.agent.run({ sessionId: "s", input: "go", toolPolicy, limits: { maxToolCalls: 2 } })
      const log = yield* made.store.log("s")
      assert.sameMembers(RunLog.outcomes(log), ["1.0 Succeeded", "1.1 NotExecuted(limit)", "1.2 Succeeded"])
      assert.strictEqual(RunLog.endOf(log), "RunCompleted(stop)")
    }))

  it.effect("does not count calls that never started, and reports unknown tools as unknown", () =>
    Effect.gen(function*() {
      const nope = ScriptedModel.call("nope", {})
      const { ran, outcomes } = yield* play([nope, [nope, work(1, "a")], nope, ok], { maxCallsPerRun: 1 })
      assert.deepStrictEqual(ran, [1])
      assert.deepStrictEqual(outcomes, ["1.0 UnknownTool", "2.0 UnknownTool", "2.1 Succeeded", "3.0 UnknownTool"])
    }))

  it.effect("asks nobody about a call that may not run", () =>
    Effect.gen(function*() {
      let asked = 0
      const ask = () =>
        Effect.sync(() => {
          asked++
          return { approved: true } as const
        })
      const toolPolicy = { maxCallsPerRun: 1, requireApprovalByDefault: true }
      const { ran } = yield* Effect.provideService(
        play([[work(1, "a"), work(2, "b")], ok], toolPolicy),
        Approver,
        { ask }
      )
      assert.deepStrictEqual([asked, ran], [1, [1]])
    }))

  it.effect("of the agent and of the run combine: the smaller applies to each tool", () =>
    Effect.gen(function*() {
      const round = [work(1, "a"), work(2, "b"), look(3, "c"), look(4, "d")]
      const { ran } = yield* play([round, ok], { maxCallsPerRun: { work: 9, look: 1 } }, {
        agent: { toolPolicy: { maxCallsPerRun: { work: 1, look: 9 } } }
      })
      assert.deepStrictEqual(ran, [1, 3])
    }))

  it.effect("is not reset by resuming, but starts afresh with the next run", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([work(1), look(2), work(3), ok, work(4), ok])
      const input = { sessionId: "s", input: "go", toolPolicy: { maxCallsPerRun: { work: 1 } } }
      yield* agent.run({ ...input, limits: { maxTurns: 2 } })
      yield* Stream.runDrain(agent.resume({ sessionId: "s", limits: { maxTurns: 9 } }))
      yield* agent.run(input)
      const outcomes = RunLog.outcomes(yield* store.log("s"))
      assert.deepStrictEqual(outcomes, [
        "1.0 Succeeded",
        "2.0 NotExecuted(limit)",
        "3.0 NotExecuted(limit)",
        "1.0 Succeeded"
      ])
    }))

  it.effect("counts each call once over a crash after any write", () =>
    Effect.gen(function*() {
      const turns = [[look(1, "a"), look(2, "b")], look(3), ok]
      const toolPolicy = { maxCallsPerRun: 2 }
      const whole = yield* play(turns, toolPolicy)
      for (let kept = 1; kept < whole.store.appends.length; kept++) {
        const store = yield* TestStore.make()
        yield* Effect.scoped(Effect.gen(function*() {
          const session = yield* store.service.open("s", { runId: "run", create: true })
          for (const events of whole.store.appends.slice(0, kept)) yield* session.append(events)
        }))
        const asked = (yield* store.log("s")).filter(({ _tag }) => _tag === "AssistantMessage").length
        const { agent } = yield* TestAgent.make(turns.slice(asked), { store })
        const events = yield* Stream.runCollect(agent.resume({ sessionId: "s" }))
        assert.strictEqual(RunLog.endOf(events), "RunCompleted(stop)", `after ${kept} writes`)
        const outcomes = RunLog.outcomes(yield* store.log("s"))
        assert.deepStrictEqual(outcomes, ["1.0 Succeeded", "1.1 Succeeded", "2.0 NotExecuted(limit)"])
      }
    }))

  it.effect.each<readonly [RunPolicy.ToolPolicy["maxCallsPerRun"], string]>([
    [-1, "toolPolicy.maxCallsPerRun must be a whole number of at least 0; it is -1"],
    [NaN, "it is NaN"],
    [1.5, "it is 1.5"],
    [{ work: -1 }, "toolPolicy.maxCallsPerRun.work must be"],
    [{ wrok: 1 }, "toolPolicy.maxCallsPerRun names \"wrok\", which is not a tool of this agent"]
  ])("of %o is refused by a run, and is a defect in an agent", ([maxCallsPerRun, message]) =>
    Effect.gen(function*() {
      const toolPolicy = { maxCallsPerRun: maxCallsPerRun! }
      const { exit, log } = yield* play([], toolPolicy)
      assert(Exit.isFailure(exit))
      const error = Cause.squash(exit.cause)
      assert(error instanceof RunError.NonRetryableError && error.reason._tag === "InvalidInput")
      assert.include(error.reason.message, message)
      assert.strictEqual(error.reason.field, "toolPolicy.maxCallsPerRun")
      assert.lengthOf(log, 0)
      const made = yield* Effect.exit(TestAgent.make([], { agent: { toolPolicy } }))
      assert.isTrue(Exit.isFailure(made) && Cause.hasDies(made.cause))
    }))
})
