/** `ToolCall.runAgents`: an agent works for a call several times at once, and all the answers are the outcome. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Family from "../support/Family.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

const done: Family.Plan = {}
const buys: Family.Plan = { turns: [[{ by: "buy" }]] }

const answers = (concurrency?: number): RunAll => (agent, inputs) =>
  Effect.map(ToolCall.runAgents(agent, inputs, { concurrency }), (answers) => answers.join())

/** What each came to, whatever that is. */
const results: RunAll = (agent, inputs) =>
  Effect.map(
    ToolCall.runAgents(agent, inputs, { mode: "result" }),
    (all) => all.map((one) => Result.isSuccess(one) ? one.success : `no: ${one.failure}`).join("; ")
  )

type RunAll = (
  agent: Pick<Family.Client, "run">,
  inputs: ReadonlyArray<Input>
) => Effect.Effect<string, string, ToolCall>
type Input = Parameters<Family.Client["run"]>[0]

/** An agent whose call "1.0" runs it for each plan; deeper calls are those of `Family`. `peak`: how many ran at once. */
const having = Effect.fnUntraced(function*(plans: ReadonlyArray<Family.Plan>, runAll: RunAll = answers()) {
  let [now, peak] = [0, 0]
  const counted = (agent: Family.Client) => ({
    run: (input: Input) =>
      Effect.suspend(() => {
        peak = Math.max(peak, ++now)
        return Effect.ensuring(agent.run(input), Effect.sync(() => now--))
      })
  })
  const made = yield* Family.make({
    handler: (agent, plan, call) => {
      if (call.idempotencyKey !== "root//1.0") return Family.run(agent, plan, call)
      const inputs = plans.map((plan) => ({ input: JSON.stringify(plan), limits: plan.limits ?? {} }))
      return runAll(counted(agent), inputs).pipe(
        Effect.mapError((message) => ({ message })),
        Effect.provideService(ToolCall, call)
      )
    }
  })
  return { ...made, peak: () => peak }
})

type Made = Effect.Success<ReturnType<typeof having>>

const outcomeOf = Effect.fnUntraced(function*({ logs }: Made) {
  const found = yield* logs
  assert.deepStrictEqual(Family.violations(found), [])
  return RunLog.only(found.get("root")!, "ToolSettled")[0]?.outcome
})

const root: Family.Plan = { turns: [[{}]] }

const runsOf = ({ logs }: Made) => Effect.map(logs, (found) => [...found.keys()].sort())

const limited: Family.Plan = { turns: [[{}]], limits: { maxTurns: 1 } }

describe("an agent that works for a call several times", () => {
  it.effect("answers in order, in runs with the call's key and their index", () =>
    Effect.gen(function*() {
      const made = yield* having([{ input: 1 }, done, done])
      yield* made.root(root)
      assert.deepInclude(yield* outcomeOf(made), { _tag: "Succeeded", result: "done,done,done" })
      assert.deepStrictEqual(yield* runsOf(made), ["root", "root//1.0/0", "root//1.0/1", "root//1.0/2"])
    }))

  it.effect("does not run when there are no inputs", () =>
    Effect.gen(function*() {
      const made = yield* having([])
      yield* made.root(root)
      assert.deepInclude(yield* outcomeOf(made), { _tag: "Succeeded", result: "" })
    }))

  it.effect("has all its questions asked at once, and continues once all are answered", () =>
    Effect.gen(function*() {
      const made = yield* having([buys, done, buys], answers(2))
      const result = yield* made.root(root)
      assert.strictEqual(result._tag, "Suspended")
      const questions = yield* made.agent.approvals("root")
      assert.deepStrictEqual(questions.map(({ sessionId }) => sessionId), ["root//1.0/0", "root//1.0/2"])
      const [paused] = RunLog.only((yield* made.logs).get("root")!, "ToolPaused")
      assert.strictEqual(paused?.waitsFor.length, 2)
      assert.deepStrictEqual(paused?.beside, [{ sessionId: "root//1.0/1", runId: "root//1.0/1" }])

      const answer = ({ id: approvalId, sessionId }: typeof questions[number]) =>
        made.agent.decide({ sessionId, approvalId, approved: true })
      yield* answer(questions[0]!)
      assert.strictEqual((yield* made.agent.resumeRun({ sessionId: "root" }))._tag, "Suspended")
      yield* answer(questions[1]!)
      assert.strictEqual((yield* made.agent.resumeRun({ sessionId: "root" }))._tag, "Completed")
      assert.deepInclude(yield* outcomeOf(made), { _tag: "Succeeded", result: "done,done,done" })
      // two turns of the root and of each that bought something, one of what was bought, one of the one that asked for nothing
      assert.strictEqual(yield* made.requests, 2 + 2 * (2 + 1) + 1)
    }))

  it.effect("waits for people beside a run that fails, which the model reads once they have answered", () =>
    Effect.gen(function*() {
      const made = yield* having([limited, buys])
      assert.strictEqual((yield* made.root(root))._tag, "Suspended")
      const [question] = yield* made.agent.approvals("root")
      yield* made.agent.decide({ sessionId: question!.sessionId, approvalId: question!.id, approved: false })
      yield* made.agent.resumeRun({ sessionId: "root" })
      const outcome = yield* outcomeOf(made)
      assert.strictEqual(outcome?._tag, "Failed")
      assert.include(JSON.stringify(outcome), "limit")
    }))

  it.effect("fails with the first failure in order, once all have ended", () =>
    Effect.gen(function*() {
      const made = yield* having([done, limited, { turns: [[{}]], limits: { maxToolCalls: 0 } }, done])
      yield* made.root(root)
      const outcome = yield* outcomeOf(made)
      assert.strictEqual(outcome?._tag, "Failed")
      assert.include(JSON.stringify(outcome), "turns")
      const logs = yield* made.logs
      assert.deepStrictEqual(["0", "1", "2", "3"].map((at) => RunLog.endOf(logs.get(`root//1.0/${at}`)!)), [
        "RunCompleted(stop)",
        "RunLimited(turns)",
        "RunLimited(toolCalls)",
        "RunCompleted(stop)"
      ])
    }))

  it.effect("returns the answers it has, and why others are missing, when results are asked for", () =>
    Effect.gen(function*() {
      const made = yield* having([done, limited, done], results)
      yield* made.root(root)
      const outcome = yield* outcomeOf(made)
      assert.strictEqual(outcome?._tag, "Succeeded")
      assert.match(JSON.stringify(outcome), /"done; no: .*turns.*; done"/)
    }))

  it.effect("waits for people before it returns results", () =>
    Effect.gen(function*() {
      const made = yield* having([limited, buys, done], results)
      assert.strictEqual((yield* made.root(root))._tag, "Suspended")
      const [question] = yield* made.agent.approvals("root")
      yield* made.agent.decide({ sessionId: question!.sessionId, approvalId: question!.id, approved: true })
      yield* made.agent.resumeRun({ sessionId: "root" })
      assert.match(JSON.stringify(yield* outcomeOf(made)), /"no: .*turns.*; done; done"/)
    }))

  it.effect("reports what each run says, in order", () =>
    Effect.gen(function*() {
      const told: Array<ReadonlyArray<string>> = []
      const isTold = yield* Deferred.make<void>()
      const progress = (said: ReadonlyArray<string>) => {
        told.push(said)
        return said.every((one) => one.endsWith(".")) ? Deferred.succeed(isTold, undefined) : Effect.void
      }
      const below = yield* TestAgent.make([ScriptedModel.text("One."), ScriptedModel.text("Two.")])
      const { agent } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok")], {
        tool: () => {
          const runs = ToolCall.runAgents(below.agent, [{ input: "1" }, { input: "2" }], { concurrency: 1, progress })
          return Effect.map(runs, (said) => said.join())
        }
      })
      yield* agent.run({ sessionId: "s", input: "go" })
      yield* Deferred.await(isTold)
      assert.deepStrictEqual([told[0], told.at(-1)], [["One.", ""], ["One.", "Two."]])
    }))

  it.effect.each([[undefined, 4], [2, 2], [10, 6]])(
    "with concurrency %s runs %d at once",
    ([concurrency, peak]) =>
      Effect.gen(function*() {
        const made = yield* having(Array(6).fill(done), answers(concurrency))
        yield* made.root(root)
        assert.strictEqual((yield* outcomeOf(made))?._tag, "Succeeded")
        assert.strictEqual(made.peak(), peak)
      })
  )
})
