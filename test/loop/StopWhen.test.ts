/** An agent's own conditions: after a turn, and before its tools run. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import type * as Agent from "../../src/Agent.ts"
import * as StopWhen from "../../src/services/StopWhen.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Steering from "../support/Steering.ts"
import * as TestAgent from "../support/TestAgent.ts"
import { unreadable } from "../support/Unreadable.ts"
import * as Watch from "../support/Watch.ts"

const go = { sessionId: "s", runId: "r", input: "go", data: { tenant: 7 } }
type Options = Partial<Agent.Options<typeof TestAgent.kit.tools, string>>

/** Runs to the end and returns the log. */
const logOf = Effect.fnUntraced(function*(
  turns: ReadonlyArray<ScriptedModel.Turn>,
  agent: Options,
  input: Partial<Parameters<Agent.Client<string>["run"]>[0]> = {}
) {
  const made = yield* TestAgent.make(turns, { agent })
  const exit = yield* Effect.exit(made.agent.run({ ...go, ...input }))
  return { ...made, exit, log: yield* made.store.log("s") }
})

describe("stopWhen", () => {
  it.effect("completes the run after the turn for which it holds, with that turn's tools settled", () =>
    Effect.gen(function*() {
      const { log } = yield* logOf([TestAgent.look(1), TestAgent.work(2)], { stopWhen: StopWhen.toolCalled("work") })
      assert.strictEqual(RunLog.endOf(log), "RunCompleted(stopWhen)")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded", "2.0 Succeeded"])
      assert.deepStrictEqual(Steering.decisions(log), ["Continue toolCalls", "Complete stopWhen"])
    }))

  it.effect("takes no time of tools after an answer without calls", () =>
    Effect.gen(function*() {
      const asked = yield* Deferred.make<void>()
      const { agent, store } = yield* TestAgent.make([ScriptedModel.text("done")], {
        agent: {
          stopWhen: () =>
            Deferred.succeed(asked, undefined).pipe(Effect.andThen(Effect.sleep("5 seconds")), Effect.as(false))
        }
      })
      const running = yield* Effect.forkChild(agent.run(go))
      yield* Deferred.await(asked)
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(running)
      assert.deepStrictEqual(RunLog.only(yield* store.log("s"), "TurnFinished").map(({ latency }) => latency.tools), [
        0
      ])
    }))

  it.effect("sees the settled message, its calls in order with their outcomes, what was used up, and the data", () =>
    Effect.gen(function*() {
      const seen: Array<StopWhen.Turn> = []
      const later = yield* Deferred.make<void>()
      const { agent, store } = yield* TestAgent.make(
        [[TestAgent.work(1, "a"), TestAgent.work(2, "b")], ScriptedModel.text("done")],
        {
          agent: {
            toolPolicy: { maxParallel: 2 },
            stopWhen: (turn) => {
              seen.push(turn)
              return false
            }
          },
          tool: ({ n }) => n === 1 ? Effect.andThen(Deferred.await(later), Effect.fail("no")) : Effect.succeed("ok")
        }
      )
      const run = yield* agent.start(go)
      const watch = yield* Watch.make(run.events)
      yield* watch.until("ToolSettled")
      yield* Deferred.succeed(later, undefined)
      yield* run.result
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), ["1.1 Succeeded", "1.0 Failed"])
      const [one, two] = seen
      assert.deepStrictEqual(
        one?.calls.map(({ callId, outcome, params, tool }) => [callId, tool, params, outcome._tag]),
        [["1.0", "work", { n: 1 }, "Failed"], ["1.1", "work", { n: 2 }, "Succeeded"]]
      )
      assert.deepStrictEqual([one?.turn, one?.finishReason, one?.sessionId, one?.runId], [1, "tool-calls", "s", "r"])
      assert.deepStrictEqual([one?.totals.turns, one?.totals.toolCalls, one?.totals.errors], [1, 2, 1])
      assert.deepStrictEqual(one?.data, { tenant: 7 })
      assert.deepStrictEqual(two?.message.content, [{ type: "text", text: "done" }])
      assert.deepStrictEqual([two?.turn, two?.calls, two?.totals.turns], [2, [], 2])
    }))

  it.effect("may be an effect, without delaying what is settled", () =>
    Effect.gen(function*() {
      const asked = yield* Deferred.make<void>()
      const answer = yield* Deferred.make<boolean>()
      const { agent, store } = yield* TestAgent.make([TestAgent.work(1)], {
        agent: { stopWhen: () => Effect.andThen(Deferred.succeed(asked, undefined), Deferred.await(answer)) }
      })
      const run = yield* agent.start(go)
      yield* Deferred.await(asked)
      assert.strictEqual((yield* store.log("s")).at(-1)?._tag, "ToolSettled")
      yield* Deferred.succeed(answer, true)
      yield* run.result
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunCompleted(stopWhen)")
    }))

  it.effect("costs no write when it answers at once", () =>
    Effect.gen(function*() {
      const { store } = yield* logOf([ScriptedModel.text("done")], { stopWhen: () => false })
      assert.strictEqual(store.appends.length, 3)
    }))

  it.effect("comes after a forced compaction, and is not asked about it", () =>
    Effect.gen(function*() {
      let asked = 0
      const { log } = yield* logOf(
        [[ScriptedModel.text("half"), ScriptedModel.finish("length")], ScriptedModel.text("done")],
        {
          stopWhen: () => {
            asked++
            return true
          }
        },
        {
          history: Array.from({ length: 8 }, (_, i) => ({ role: i % 2 === 0 ? "user" : "assistant", content: `${i}` }))
        }
      )
      assert.deepStrictEqual(Steering.decisions(log), ["Compact length", "Complete stopWhen"])
      assert.strictEqual(asked, 1)
    }))

  it.effect("takes precedence over a limit that cut the round short", () =>
    Effect.gen(function*() {
      const { log } = yield* logOf(
        [[TestAgent.work(1, "a"), TestAgent.work(2, "b")]],
        { stopWhen: ({ calls }) => calls.some(({ outcome }) => outcome._tag === "Succeeded") },
        { limits: { maxToolCalls: 1 } }
      )
      assert.strictEqual(RunLog.endOf(log), "RunCompleted(stopWhen)")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded", "1.1 NotExecuted(limit)"])
    }))

  it.effect("fails a run with an output schema whose text does not fit it", () =>
    Effect.gen(function*() {
      const output = Schema.Struct({ n: Schema.Finite }) as never
      const stopWhen = () => true
      const { log } = yield* logOf([TestAgent.work(1)], { output, stopWhen })
      assert.strictEqual(RunLog.endOf(log), "RunFailed(InvalidOutput)")
      const fits = yield* logOf([[ScriptedModel.text("{\"n\":1}"), TestAgent.work(1)]], { output, stopWhen })
      assert.strictEqual(RunLog.endOf(fits.log), "RunCompleted(stopWhen)")
    }))

  it.effect("sees the outcomes of a drive that died too", () =>
    Effect.gen(function*() {
      const { store } = yield* logOf([[TestAgent.work(1, "a"), TestAgent.look(2, "b")], ScriptedModel.text("done")], {})
      const n = store.appends.findIndex((events) => events.some(({ _tag }) => _tag === "ToolSettled"))
      const dead = yield* Steering.left(store.appends.slice(0, n + 1))
      const seen: Array<string> = []
      const later = yield* TestAgent.make([], {
        store: dead,
        agent: {
          stopWhen: ({ calls }) => {
            seen.push(...calls.map(({ callId, outcome }) => `${callId} ${outcome._tag}`))
            return true
          }
        }
      })
      yield* Stream.runDrain(later.agent.resume({ sessionId: "s" }))
      assert.deepStrictEqual(seen, ["1.0 Succeeded", "1.1 Succeeded"])
      assert.strictEqual(RunLog.endOf(yield* dead.log("s")), "RunCompleted(stopWhen)")
    }))
})

describe("stopBefore", () => {
  it.effect("completes the run with none of the calls run", () =>
    Effect.gen(function*() {
      const ran: Array<number> = []
      const { agent, store } = yield* TestAgent.make([
        TestAgent.look(1),
        [TestAgent.look(2, "a"), TestAgent.work(3, "b")]
      ], {
        agent: { stopBefore: StopWhen.toolCalled("work"), toolPolicy: { maxParallel: 2 } },
        tool: ({ n }) => Effect.sync(() => `${ran.push(n)}`)
      })
      const result = yield* agent.run(go)
      assert.strictEqual(result._tag, "Completed")
      assert.deepStrictEqual(ran, [1])
      const log = yield* store.log("s")
      assert.strictEqual(RunLog.endOf(log), "RunCompleted(stopBefore)")
      assert.deepStrictEqual(RunLog.outcomes(log), [
        "1.0 Succeeded",
        "2.0 NotExecuted(stopped)",
        "2.1 NotExecuted(stopped)"
      ])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("sees the calls with their arguments, and is not asked about a message without any", () =>
    Effect.gen(function*() {
      const seen: Array<StopWhen.Round> = []
      yield* logOf([[TestAgent.look(1, "a"), TestAgent.work(2, "b")], ScriptedModel.text("done")], {
        stopBefore: (round) => {
          seen.push(round)
          return false
        }
      })
      assert.strictEqual(seen.length, 1)
      assert.deepStrictEqual(seen[0]?.calls, [
        { callId: "1.0", tool: "look", params: { n: 1 } },
        { callId: "1.1", tool: "work", params: { n: 2 } }
      ])
      assert.deepStrictEqual([seen[0]?.turn, seen[0]?.totals.toolCalls, seen[0]?.data], [1, 0, { tenant: 7 }])
    }))

  it.effect("is asked before a person is, and about calls that a limit would cut", () =>
    Effect.gen(function*() {
      const stopBefore = () => true
      const asking = yield* logOf([TestAgent.work(1)], { stopBefore, toolPolicy: { requireApprovalByDefault: true } })
      assert.deepStrictEqual(RunLog.only(asking.log, "ApprovalRequested"), [])
      assert.strictEqual(RunLog.endOf(asking.log), "RunCompleted(stopBefore)")
      const last = yield* logOf([TestAgent.work(1)], { stopBefore }, { limits: { maxTurns: 1 } })
      assert.strictEqual(RunLog.endOf(last.log), "RunCompleted(stopBefore)")
    }))

  it.effect("is not asked about calls that were cut off", () =>
    Effect.gen(function*() {
      const { log } = yield* logOf([[TestAgent.work(1), ScriptedModel.finish("content-filter")]], {
        stopBefore: () => true
      })
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 NotExecuted(truncated)"])
      assert.strictEqual(RunLog.endOf(log), "RunCompleted(contentFilter)")
    }))

  it.effect("is not asked again about a round that has begun", () =>
    Effect.gen(function*() {
      let asked = 0
      const stopBefore = () => ++asked > 1
      const turns = [TestAgent.work(1), ScriptedModel.text("done")]
      const agent = { stopBefore, toolPolicy: { requireApprovalByDefault: true } }
      const { exit, store } = yield* logOf(turns, agent)
      assert.strictEqual(exit._tag === "Success" && exit.value._tag, "Suspended")
      const later = yield* TestAgent.make([ScriptedModel.text("done")], { store, agent })
      const approver = Approvals.answering(() => Approvals.yes)
      yield* Stream.runDrain(Approvals.by(approver, later.agent.resume({ sessionId: "s" })))
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), ["1.0 Succeeded"])
      assert.strictEqual(asked, 1)
    }))

  it.effect("is asked by the next drive when the one before died with nothing begun", () =>
    Effect.gen(function*() {
      const asked = yield* Deferred.make<void>()
      const first = yield* TestAgent.make([TestAgent.work(1)], {
        agent: { stopBefore: () => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never) }
      })
      yield* first.agent.start(go)
      yield* Deferred.await(asked)
      const dead = yield* Steering.left(first.store.appends)
      const later = yield* TestAgent.make([], { store: dead, agent: { stopBefore: () => true } })
      yield* Stream.runDrain(later.agent.resume({ sessionId: "s" }))
      assert.strictEqual(RunLog.endOf(yield* dead.log("s")), "RunCompleted(stopBefore)")
    }))
})

describe("a condition that breaks never lets the run continue:", () => {
  const broken: Record<string, () => boolean | Effect.Effect<boolean, unknown>> = {
    "one that throws": () => {
      throw new Error("bug")
    },
    "one that fails": () => Effect.fail("no"),
    "one that dies": () => Effect.die(new Error("bug")),
    "one that interrupts itself": () => Effect.interrupt,
    "one that answers something else": () => Promise.resolve(false) as never,
    "one that answers with a revoked proxy": unreadable["a revoked proxy"]!
  }
  const ran: Array<number> = []
  for (const [name, condition] of Object.entries(broken)) {
    for (const rule of ["stopWhen", "stopBefore"] as const) {
      it.effect(`${name}, as ${rule}`, () =>
        Effect.gen(function*() {
          ran.length = 0
          const { agent, store } = yield* TestAgent.make([TestAgent.work(1)], {
            agent: { [rule]: condition },
            tool: ({ n }) => Effect.sync(() => `${ran.push(n)}`)
          })
          const error = yield* Effect.flip(agent.run(go))
          assert.strictEqual(error.reason._tag === "HookBlocked" && error.reason.hook, rule)
          const log = yield* store.log("s")
          assert.deepStrictEqual(RunLog.outcomes(log), [
            rule === "stopWhen" ? "1.0 Succeeded" : "1.0 NotExecuted(failed)"
          ])
          assert.deepStrictEqual(ran, rule === "stopWhen" ? [1] : [])
          assert.deepStrictEqual(RunLog.violations(log), [])
          // once mended, the run continues
          const later = yield* TestAgent.make([ScriptedModel.text("done")], { store })
          yield* Stream.runDrain(later.agent.resume({ sessionId: "s" }))
          assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunCompleted(stop)")
        }))
    }
  }

  it.effect("one that takes longer than a tool may", () =>
    Effect.gen(function*() {
      const asked = yield* Deferred.make<void>()
      const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], {
        agent: {
          timeouts: { tool: "10 seconds" },
          stopWhen: () => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never)
        }
      })
      const fiber = yield* Effect.forkChild(Effect.flip(agent.run(go)))
      yield* Deferred.await(asked)
      yield* TestClock.adjust("10 seconds")
      const error = yield* Fiber.join(fiber)
      assert.match(
        error.message,
        /stopWhen ended the run: it did not answer within 10000 ms, the limit of timeouts.tool/
      )
    }))
})
