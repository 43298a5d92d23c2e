/** Guarantee 7, shared with sub-agents: what a run spends while working for a call counts for the calling run. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Agent from "../../src/Agent.ts"
import type { Run } from "../../src/Run.ts"
import * as RunStats from "../../src/run/RunStats.ts"
import * as Usage from "../../src/run/Usage.ts"
import * as Prices from "../../src/services/Prices.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Family from "../support/Family.ts"
import * as Logs from "../support/Logs.ts"
import * as Measured from "../support/Measured.ts"
import { type Dice, dice } from "../support/Odd.ts"
import * as RunLog from "../support/RunLog.ts"

const parentOf = (log: Parameters<typeof RunLog.only>[0] | undefined) =>
  RunLog.only(log ?? [], "RunStarted").map(({ parent }) => parent)

const usagesOf = (log: Parameters<typeof RunLog.only>[0] | undefined) =>
  RunLog.only(log ?? [], "ToolSettled").map(({ usage }) => usage)

const input = JSON.stringify({})
const one = { inputTokens: 10, outputTokens: 5 }

describe("a run that works for a call", () => {
  it.effect("names the call, and its total is in the call's outcome and in the totals around it, two deep", () =>
    Effect.gen(function*() {
      const { logs, root } = yield* Family.make()
      const result = yield* root({ turns: [[{ turns: [[{}]] }]] })
      const found = yield* logs
      const [child, grandchild] = ["root//1.0", "root//1.0//1.0"]
      assert.deepStrictEqual(parentOf(found.get("root")), [undefined])
      assert.deepStrictEqual(parentOf(found.get(child)), [{ sessionId: "root", runId: "root", callId: "1.0" }])
      assert.deepStrictEqual(parentOf(found.get(grandchild)), [{ sessionId: child, runId: child, callId: "1.0" }])
      assert.deepStrictEqual(usagesOf(found.get(child)), [one])
      assert.deepStrictEqual(usagesOf(found.get("root")), [{ inputTokens: 30, outputTokens: 15 }])
      assert.deepStrictEqual(result.usage, { inputTokens: 50, outputTokens: 25 })
      assert.deepStrictEqual(Family.violations(found), [])
    }))

  it.effect("counts together with all that work for the call at once, whether streamed, run or started", () =>
    Effect.gen(function*() {
      const { logs, root } = yield* Family.make({
        handler: (agent) =>
          Effect.all([
            agent.run({ input }),
            Stream.runDrain(agent.stream({ input })),
            Effect.flatMap(agent.start({ input }), (run) => run.result)
          ], { concurrency: 3 }).pipe(Effect.as("all done"))
      })
      const result = yield* root({ turns: [[{}]] })
      assert.deepStrictEqual(usagesOf((yield* logs).get("root")), [{ inputTokens: 30, outputTokens: 15 }])
      assert.deepStrictEqual(result.usage, { inputTokens: 50, outputTokens: 25 })
    }))

  it.effect("counts once when it is asked for again, whether attached to or replayed", () =>
    Effect.gen(function*() {
      const { logs, root } = yield* Family.make({
        handler: (agent) => {
          const run = agent.run({ runId: "one", input })
          return Effect.as(Effect.andThen(Effect.all([run, run], { concurrency: 2 }), run), "done")
        }
      })
      yield* root({ turns: [[{}]] })
      assert.deepStrictEqual(usagesOf((yield* logs).get("root")), [one])
    }))

  it.effect("counts with all its drives", () =>
    Effect.gen(function*() {
      const { logs, root } = yield* Family.make({
        handler: (agent, plan, { sessionId }) =>
          sessionId !== "root" ? Effect.succeed("done") : Effect.andThen(
            agent.run({ sessionId: "child", input: JSON.stringify(plan), limits: { maxTurns: 1 } }),
            Effect.as(agent.resumeRun({ sessionId: "child", limits: { maxTurns: 5 } }), "done")
          )
      })
      yield* root({ turns: [[{ turns: [[{}]] }]] })
      const found = yield* logs
      assert.strictEqual(RunLog.only(found.get("child")!, "RunResumed").length, 1)
      assert.deepStrictEqual(usagesOf(found.get("root")), [Family.totalOf(found.get("child")!)])
    }))

  it.effect("counts even if it failed, was limited or was aborted", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { logs, root } = yield* Family.make({
        answer: (request) => {
          const { first } = Family.planOf(request)
          if (first === undefined || request.metadata.turn === 1) return Family.answer(request)
          return first === "dies" ? [ScriptedModel.die("oh")] : [ScriptedModel.gate(gate)]
        },
        handler: (agent, plan, call) =>
          plan.first === "hangs"
            ? Effect.gen(function*() {
              const run = yield* agent.start({ input: JSON.stringify(plan) })
              yield* gate.started
              yield* run.abort
              return "aborted"
            })
            : Family.run(agent, plan, call)
      })
      const turns = [[{}]]
      yield* root({
        turns: [[{ turns, first: "dies" }, { turns, first: "hangs" }, { turns: [[{}]], limits: { maxTokens: 1 } }]]
      })
      const found = yield* logs
      const ends = Array.from(found.values(), RunLog.endOf)
      assert.includeMembers(ends, ["RunFailed(Unknown)", "RunAborted(requested)", "RunLimited(tokens)"])
      assert.deepStrictEqual(Family.violations(found), [])
    }))

  it.effect("and was aborted is not resumed when it is asked for again", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      let asks = 0
      const { logs, root } = yield* Family.make({
        answer: (request) =>
          Family.planOf(request).first === "hangs" && asks++ === 0
            ? [ScriptedModel.gate(gate)]
            : Family.answer(request),
        handler: (agent, plan) =>
          Effect.gen(function*() {
            const asked = { runId: "child", input: JSON.stringify(plan) }
            const run = yield* agent.start(asked)
            yield* gate.started
            yield* run.abort
            return (yield* agent.run(asked))._tag
          })
      })
      yield* root({ turns: [[{ first: "hangs" }]] })
      const found = yield* logs
      const [settled] = RunLog.only(found.get("root")!, "ToolSettled")
      assert.deepStrictEqual(settled?.outcome, { _tag: "Succeeded", result: "Aborted" })
      assert.deepStrictEqual(RunLog.only(found.get("child")!, "RunResumed"), [])
    }))

  it.effect("does not belong to the call when another run or nobody began it for one", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, logs, root } = yield* Family.make({
        answer: (request) =>
          request.metadata.sessionId === "live"
            ? [ScriptedModel.gate(gate), ...Family.answer(request)]
            : Family.answer(request),
        handler: (agent) =>
          Effect.all([
            agent.run({ runId: "told", input }),
            agent.run({ runId: "live", input }),
            agent.resumeRun({ sessionId: "limited", limits: { maxTurns: 5 } })
          ], { concurrency: 3 }).pipe(Effect.as("done"))
      })
      yield* agent.run({ runId: "told", input })
      yield* agent.run({ sessionId: "limited", input: JSON.stringify({ turns: [[{}]] }), limits: { maxTurns: 1 } })
      yield* agent.start({ runId: "live", input })
      yield* gate.started
      const fiber = yield* Effect.forkChild(root({ turns: [[{}]] }))
      yield* gate.release
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(usagesOf((yield* logs).get("root")), [undefined])
    }))

  it.effect("counts with what it has spent when its call is over, and is on its own from then on", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      let child: Run<string> | undefined
      const { logs, root } = yield* Family.make({
        answer: (request) =>
          request.metadata.sessionId === "child" && request.metadata.turn === 2
            ? [ScriptedModel.gate(gate), ...Family.answer(request)]
            : Family.answer(request),
        handler: (agent, plan, { sessionId }) =>
          sessionId !== "root" ? Effect.succeed("done") : Effect.gen(function*() {
            child = yield* agent.start({ sessionId: "child", input: JSON.stringify(plan) })
            yield* gate.started
            return "on its way"
          })
      })
      const result = yield* root({ turns: [[{ turns: [[{}], [{}]] }]], limits: { maxTokens: 45 } })
      assert.deepStrictEqual(usagesOf((yield* logs).get("root")), [one])
      assert.strictEqual(Usage.total(result.usage), 45)
      yield* gate.release
      const ended = yield* child!.result
      // more than the run around it had left
      assert.deepStrictEqual([ended._tag, Usage.total(ended.usage)], ["Completed", 45])
    }))

  it.effect("does not belong to a call when it is asked for without its context", () =>
    Effect.gen(function*() {
      const { logs, root } = yield* Family.make({
        handler: (agent) =>
          agent.run({ sessionId: "own", input }).pipe(
            Effect.as("done"),
            Effect.updateContext((context: Context.Context<never>) => Context.omit(ToolCall)(context))
          )
      })
      const result = yield* root({ turns: [[{}]] })
      assert.deepStrictEqual(parentOf((yield* logs).get("own")), [undefined])
      assert.deepStrictEqual(result.usage, { inputTokens: 20, outputTokens: 10 })
    }))

  it.effect("does not belong to a call that is over, even if its handler's code is still running", () =>
    Effect.gen(function*() {
      const settled = yield* Deferred.make<void>()
      let later: Fiber.Fiber<unknown, unknown> | undefined
      const { logs, root } = yield* Family.make({
        handler: (agent) =>
          Effect.gen(function*() {
            const afterwards = Effect.andThen(Deferred.await(settled), agent.run({ sessionId: "later", input }))
            later = yield* Effect.forkDetach(afterwards)
            return "done"
          })
      })
      yield* root({ turns: [[{}]], limits: { maxTokens: 30 } })
      yield* Deferred.succeed(settled, undefined)
      yield* Fiber.join(later!)
      assert.deepStrictEqual(parentOf((yield* logs).get("later")), [undefined])
    }))

  it.effect.each(["ask", "order"] as const)(
    "counts when its call by %s takes too long",
    (by) =>
      Effect.gen(function*() {
        const gate = yield* ScriptedModel.makeGate
        const { logs, root } = yield* Family.make({
          agent: { timeouts: { tool: "1 second" } },
          answer: (request) =>
            request.metadata.sessionId !== "root" && request.metadata.turn === 2
              ? [ScriptedModel.gate(gate)]
              : Family.answer(request),
          handler: (agent, plan, call) =>
            call.sessionId === "root" ? Family.run(agent, plan, call) : Effect.succeed("done")
        })
        const fiber = yield* Effect.forkChild(root({ turns: [[{ by, turns: [[{}]] }]] }))
        yield* gate.started
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(fiber)
        const found = yield* logs
        assert.deepStrictEqual(RunLog.outcomes(found.get("root")!), ["1.0 TimedOut"])
        assert.deepStrictEqual(usagesOf(found.get("root")), [one])
      })
  )

  it.effect("counts when the calling run is aborted, even two deep", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, logs } = yield* Family.make({
        answer: (request) =>
          Family.planOf(request).first === "hangs" ? [ScriptedModel.gate(gate)] : Family.answer(request)
      })
      const plan: Family.Plan = { turns: [[{ by: "order", turns: [[{}], [{ first: "hangs" }]] }]] }
      const run = yield* agent.start({ runId: "root", input: JSON.stringify(plan) })
      yield* gate.started
      yield* run.abort
      const found = yield* logs
      assert.deepStrictEqual(RunLog.outcomes(found.get("root")!), ["1.0 Interrupted"])
      assert.deepStrictEqual(usagesOf(found.get("root")), [{ inputTokens: 30, outputTokens: 15 }])
      assert.deepStrictEqual(Family.violations(found), [])
    }))

  it.effect("may be run by a hook below the call, but not by a hook of a run that works for none", () =>
    Effect.gen(function*() {
      const child = "root//1.0"
      let client: Family.Client | undefined
      const { agent, logs, root } = yield* Family.make({
        agent: {
          hooks: [{
            name: "asks",
            afterModelCall: ({ sessionId, turn }) =>
              turn === 1 && (sessionId === "root" || sessionId === child)
                ? Effect.asVoid(client!.run({ sessionId: `${sessionId} helped`, input }))
                : Effect.void
          }]
        }
      })
      client = agent
      yield* root({ turns: [[{}]] })
      const found = yield* logs
      assert.deepStrictEqual(parentOf(found.get("root helped")), [undefined])
      assert.deepStrictEqual(parentOf(found.get(`${child} helped`)), parentOf(found.get(child)))
      assert.deepStrictEqual(usagesOf(found.get("root")), [{ inputTokens: 20, outputTokens: 10 }])
    }))

  it.effect("is not one of an agent that was made in a handler and is asked elsewhere", () =>
    Effect.gen(function*() {
      let made: Family.Client | undefined
      let services = Context.empty() as Context.Context<Agent.Requires<{}, never>>
      const family = yield* Family.make({
        handler: () =>
          Effect.gen(function*() {
            const here = yield* Effect.context<never>()
            made = yield* Effect.provideContext(
              Agent.make({ instructions: "Be brief." }),
              Context.merge(services, here)
            )
            return "made"
          })
      })
      services = family.services
      const { logs, root } = family
      yield* root({ turns: [[{}]] })
      yield* made!.run({ sessionId: "later", input })
      assert.deepStrictEqual(parentOf((yield* logs).get("later")), [undefined])
    }))

  it.effect("is counted by metrics once, as its own", () =>
    Effect.gen(function*() {
      const measured = Measured.make()
      const { root } = yield* Family.make()
      yield* root({ turns: [[{ turns: [[{}]] }]] }).pipe(
        Effect.provideService(Metric.MetricRegistry, measured.registry),
        Effect.provideService(Prices.Prices, Prices.table({ scripted: { input: 1_000_000, output: 0 } }))
      )
      // five model calls
      const [cost] = yield* measured.read(/^fiberloop\.cost$/)
      assert.match(cost!, / 50$/)
      assert.isTrue((yield* measured.read(/^gen_ai\.client\.token\.usage$/)).some((line) => line.endsWith(" 50/5")))
    }))

  it.effect("is counted by statistics over many runs with its own log", () =>
    Effect.gen(function*() {
      const { logs, root } = yield* Family.make()
      yield* root({ turns: [[{}, {}]] })
      const stats = Array.from((yield* logs).values()).reduce(
        (stats, log) => RunStats.endSession(log.reduce(RunStats.evolve, stats)),
        RunStats.make()
      )
      const { tokens } = RunStats.summarize(stats)
      assert.deepStrictEqual([tokens.input, tokens.output], [40, 20])
    }))
})

/** A tree of runs, at most three deep. */
const planOf = (die: Dice, depth = 3): Family.Plan => ({
  input: die.int(20),
  by: die.pick(["ask", "order"] as const),
  limits: die.pick([{}, {}, {}, { maxTokens: 1 + die.int(120) }, { maxTurns: 1 + die.int(2) }]),
  turns: Array.from(
    { length: depth === 0 ? 0 : die.int(3) },
    () => Array.from({ length: 1 + die.int(3) }, () => planOf(die, depth - 1))
  )
})

it.effect.prop(
  "in any tree of runs, totals are the runs' own and those of the runs below them",
  [Logs.seed],
  ([seed]) =>
    Effect.gen(function*() {
      const { logs, root } = yield* Family.make()
      const result = yield* root(planOf(dice(seed)))
      const found = yield* logs
      assert.deepStrictEqual(Family.violations(found), [])
      const all = Array.from(found.values()).reduce((sum, log) => Usage.add(sum, Family.ownOf(log)), Usage.zero)
      assert.strictEqual(Usage.total(result.usage), Usage.total(all))
    }).pipe(Effect.scoped),
  { arbitrary: { runs: 40, seed: "trees" }, timeout: 60_000 }
)
