/** Guarantee 7, shared with sub-agents: a run's limits on tokens and cost also hold the runs that work for its calls. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as RunResult from "../../src/run/RunResult.ts"
import * as Usage from "../../src/run/Usage.ts"
import * as ContextManager from "../../src/services/ContextManager.ts"
import * as Prices from "../../src/services/Prices.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Family from "../support/Family.ts"
import * as Overloaded from "../support/Overloaded.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestStore from "../support/TestStore.ts"

/** A scripted call is 10 tokens in and 5 out: 25 of the unit. */
const prices = Prices.table({ "scripted/scripted": { input: 1_000_000, output: 3_000_000 } })
const priced = Effect.provideService(Prices.Prices, prices)

const child = "root//1.0"

/** This many turns with one run each, which only answers. */
const turns = (n: number): ReadonlyArray<ReadonlyArray<Family.Plan>> => Array.from({ length: n }, () => [{}])

describe("a limit on tokens", () => {
  it.effect("ends a run that works for a call before its next model call, and names the run whose limit it is", () =>
    Effect.gen(function*() {
      const { logs, requests, root } = yield* Family.make({
        handler: (agent, plan, call) =>
          call.sessionId === "root" ? Family.run(agent, plan, call) : Effect.succeed("done")
      })
      const result = yield* root({ turns: [[{ turns: turns(9) }]], limits: { maxTokens: 40 } })
      const found = yield* logs
      assert.strictEqual(yield* requests, 3)
      const [limited] = RunLog.only(found.get(child)!, "RunLimited")
      assert.deepStrictEqual([limited?.reason, limited?.around], ["tokens", { sessionId: "root", runId: "root" }])
      assert.strictEqual(
        RunResult.explain(limited!),
        `The run stopped at the limit of tokens of run "root", which it is part of, after 2 turns and 2 tool calls; ` +
          `resume run "root" with a higher maxTokens to go on.`
      )
      assert.deepStrictEqual([result._tag, Usage.total(result.usage)], ["Limited", 45])
      assert.isFalse("around" in result)
      assert.deepStrictEqual(Family.violations(found), [])
    }))

  it.effect("holds runs at any depth, whichever run around them has it", () =>
    Effect.gen(function*() {
      const { logs, requests, root } = yield* Family.make()
      yield* root({
        turns: [[{ limits: { maxTokens: 1_000 }, turns: [[{ turns: turns(9) }]] }]],
        limits: { maxTokens: 60 }
      })
      const found = yield* logs
      const limited = Array.from(found).sort(([a], [b]) => a.length - b.length)
        .flatMap(([, log]) => RunLog.only(log, "RunLimited"))
      // four calls: of the root, of those below it, and of the first that works for the deepest
      assert.strictEqual(yield* requests, 4)
      assert.deepStrictEqual(limited.map(({ around }) => around?.runId), [undefined, "root", "root"])
      assert.deepStrictEqual(Family.violations(found), [])
    }))

  it.effect("is overshot by at most one call of each concurrent run", () =>
    Effect.gen(function*() {
      const { logs, root } = yield* Family.make()
      const four = Array.from({ length: 4 }, (): Family.Plan => ({ turns: turns(9) }))
      const result = yield* root({ turns: [four], limits: { maxTokens: 200 } })
      assert.strictEqual(result._tag, "Limited")
      assert.isAtLeast(Usage.total(result.usage), 200)
      assert.isAtMost(Usage.total(result.usage), 200 + 4 * 15)
      assert.deepStrictEqual(Family.violations(yield* logs), [])
    }))

  it.effect("lets no other call of a round run once the runs at work have reached it", () =>
    Effect.gen(function*() {
      const { logs, root } = yield* Family.make({ agent: { toolPolicy: { maxParallel: 1 } } })
      yield* root({ turns: [[{ turns: turns(1) }, {}]], limits: { maxTokens: 50 } })
      assert.deepStrictEqual(RunLog.outcomes((yield* logs).get("root")!), ["1.0 Succeeded", "1.1 NotExecuted(limit)"])
    }))

  it.effect("lets no other call of a round run, even while one is still at work", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { logs, root } = yield* Family.make({
        agent: { toolPolicy: { maxParallel: 2 } },
        answer: (request) =>
          request.metadata.sessionId === child && request.metadata.turn === 2
            ? [ScriptedModel.gate(gate), ...Family.answer(request)]
            : Family.answer(request),
        handler: (agent, plan, call) =>
          call.sessionId !== "root"
            ? Effect.succeed("done")
            : call.callId === "1.0"
            ? Family.run(agent, plan, call)
            : Effect.andThen(gate.started, Effect.ensuring(Family.run(agent, plan, call), isOver))
      })
      const isOver = Effect.forkDetach(Effect.andThen(Effect.yieldNow, gate.release))
      yield* root({ turns: [[{ turns: turns(1) }, {}, {}]], limits: { maxTokens: 45 } })
      const outcomes = RunLog.outcomes((yield* logs).get("root")!)
      assert.deepStrictEqual(outcomes, ["1.1 Succeeded", "1.0 Succeeded", "1.2 NotExecuted(limit)"])
    }))

  it.effect("makes a run's answer its last once reached, even with a follow-up queued", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const queued = Deferred.makeUnsafe<void>()
      const store = yield* TestStore.make(({ events, store }) =>
        events.some(({ _tag }) => _tag === "InputQueued")
          ? Effect.tap(store, () => Deferred.succeed(queued, undefined))
          : store
      )
      const { logs, root } = yield* Family.make({
        store,
        answer: (request) =>
          request.metadata.sessionId === child
            ? [ScriptedModel.gate(gate), ...Family.answer(request)]
            : Family.answer(request),
        handler: (agent, plan, { idempotencyKey }) =>
          Effect.gen(function*() {
            const run = yield* agent.start({ runId: idempotencyKey, input: JSON.stringify(plan) })
            yield* gate.started
            yield* Effect.forkChild(Effect.exit(run.queue("followUp", "{}")))
            yield* Deferred.await(queued)
            yield* gate.release
            return (yield* run.result)._tag
          })
      })
      yield* root({ turns: [[{}]], limits: { maxTokens: 30 } })
      assert.strictEqual(RunLog.endOf((yield* logs).get(child)!), "RunCompleted(stop)")
    }))

  it.effect("counts the cost of a discarded attempt as soon as it has failed", () =>
    Effect.gen(function*() {
      const { logs, requests, root } = yield* Family.make({
        agent: { retry: RetryPolicy.make({ base: 0 }) },
        answer: (request) =>
          request.metadata.sessionId === "root"
            ? Family.answer(request)
            : [
              ScriptedModel.parts({ type: "response", usage: { inputTokens: 30, outputTokens: 0 } }),
              Overloaded.fail()
            ]
      })
      yield* root({ turns: [[{}]], limits: { maxTokens: 40 } })
      const [discarded] = RunLog.only((yield* logs).get(child)!, "AttemptDiscarded")
      assert.strictEqual(discarded?.usage.inputTokens, 30)
      assert.strictEqual(yield* requests, 2)
      assert.strictEqual(RunLog.endOf((yield* logs).get(child)!), "RunLimited(tokens)")
    }))

  it.effect("reaches the compaction strategy of a run below, along with what that has spent so far", () =>
    Effect.gen(function*() {
      const mayAsk: Array<boolean> = []
      const { logs, root } = yield* Family.make({
        context: Layer.succeed(ContextManager.ContextManager, {
          plan: (view) =>
            view.inARow === 0 && view.metadata.sessionId === child
              ? { _tag: "Compact", request: view }
              : { _tag: "Send" },
          compact: ({ ledger }) =>
            Effect.suspend(() => {
              for (const inputTokens of [0, 30, 30]) {
                ledger.note({ inputTokens, outputTokens: 0 })
                mayAsk.push(ledger.mayAsk())
              }
              return Effect.fail(new ContextManager.CompactionError({ message: "no" }))
            })
        })
      })
      const result = yield* root({ turns: [[{}]], limits: { maxTokens: 60 } })
      assert.deepStrictEqual(mayAsk, [true, true, false])
      assert.deepStrictEqual([result._tag, Usage.total(result.usage)], ["Limited", 75])
      assert.strictEqual(RunLog.endOf((yield* logs).get(child)!), "RunLimited(tokens)")
    }))

  it.effect("lets the run continue once lifted, and counts what was spent below it once", () =>
    Effect.gen(function*() {
      const { agent, logs, root } = yield* Family.make()
      const plan: Family.Plan = { turns: [[{ turns: turns(2) }], [{}]], limits: { maxTokens: 40 } }
      assert.strictEqual((yield* root(plan))._tag, "Limited")
      const again = yield* agent.resumeRun({ sessionId: "root" })
      assert.deepStrictEqual([again._tag, Usage.total(again.usage)], ["Limited", 45])
      const result = yield* agent.resumeRun({ sessionId: "root", limits: { maxTokens: 1_000 } })
      assert.deepStrictEqual([result._tag, Usage.total(result.usage)], ["Completed", 45 + 3 * 15])
      assert.deepStrictEqual(Family.violations(yield* logs), [])
    }))

  it.effect("on a run below holds that run, and not the caller", () =>
    Effect.gen(function*() {
      const { logs, root } = yield* Family.make()
      const result = yield* root({ turns: [[{ turns: turns(9), limits: { maxTokens: 20 } }]] })
      assert.strictEqual(result._tag, "Completed")
      const [limited] = RunLog.only((yield* logs).get(child)!, "RunLimited")
      assert.deepStrictEqual([limited?.reason, limited?.around], ["tokens", undefined])
    }))
})

it.effect("turns, calls and errors are limited for each run separately", () =>
  Effect.gen(function*() {
    const { logs, root } = yield* Family.make()
    const limits = { maxTurns: 2, maxToolCalls: 2, maxToolRounds: 1, maxErrors: 0 }
    const result = yield* root({ turns: [[{ turns: turns(1), limits: {} }, { turns: turns(1), limits: {} }]], limits })
    assert.deepStrictEqual([result._tag, result.turns], ["Completed", 2])
    assert.deepStrictEqual(Family.violations(yield* logs), [])
  }))

it.effect("a time limit interrupts what works for a call, and counts what it spent", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    const { logs, root } = yield* Family.make({
      answer: (request) =>
        request.metadata.sessionId === child && request.metadata.turn === 2
          ? [ScriptedModel.gate(gate)]
          : Family.answer(request)
    })
    const fiber = yield* Effect.forkChild(
      root({ turns: [[{ turns: turns(1) }]], limits: { maxDuration: "5 seconds" } })
    )
    yield* gate.started
    yield* TestClock.adjust("5 seconds")
    const result = yield* Fiber.join(fiber)
    assert.strictEqual(result._tag === "Limited" ? result.reason : result._tag, "duration")
    assert.strictEqual(Usage.total(result.usage), 45)
    assert.strictEqual(RunLog.endOf((yield* logs).get(child)!), "RunAborted(consumer)")
    assert.deepStrictEqual(Family.violations(yield* logs), [])
  }))

describe("a limit on cost", () => {
  it.effect("is shared as a limit on tokens is", () =>
    Effect.gen(function*() {
      const { logs, requests, root } = yield* Family.make({
        handler: (agent, plan, call) =>
          call.sessionId === "root" ? Family.run(agent, plan, call) : Effect.succeed("done")
      })
      const result = yield* root({ turns: [[{ turns: turns(9) }]], limits: { maxCost: 75 } })
      assert.deepStrictEqual([result._tag, result.usage.cost], ["Limited", 75])
      assert.strictEqual(yield* requests, 3)
      const [limited] = RunLog.only((yield* logs).get(child)!, "RunLimited")
      assert.deepStrictEqual([limited?.reason, limited?.around?.runId], ["cost", "root"])
      assert.include(RunResult.explain(limited!), `resume run "root" with a higher maxCost`)
      assert.deepStrictEqual(Family.violations(yield* logs), [])
    }).pipe(priced))

  it.effect("refuses a run below whose model has no price, before anything of it is written", () =>
    Effect.gen(function*() {
      let said = ""
      const { agent, logs, root } = yield* Family.make({
        handler: (agent, plan) =>
          agent.run({ sessionId: "helper", input: JSON.stringify(plan) }).pipe(
            Effect.as("done"),
            Effect.provideService(Prices.Prices, () => undefined),
            Effect.tapError((error) => Effect.sync(() => (said = error.message)))
          )
      })
      yield* agent.run({ sessionId: "helper", input: "{}" })
      const before = (yield* logs).get("helper")
      yield* root({ turns: [[{}]], limits: { maxCost: 1_000 } })
      assert.deepStrictEqual((yield* logs).get("helper"), before)
      assert.strictEqual(RunLog.only((yield* logs).get("root")!, "ToolSettled")[0]?.usage, undefined)
      assert.include(said, `limits.maxCost of run "root", which this run is part of, needs the price`)
      assert.include(said, `"scripted/scripted"`)
    }).pipe(priced))
})
