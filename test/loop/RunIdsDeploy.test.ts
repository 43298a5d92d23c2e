/** The same request, by the same run id, of an agent that has changed since, and of another agent. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as Limits from "../../src/services/Limits.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Family from "../support/Family.ts"
import * as Gated from "../support/Gated.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const job = { runId: "job", input: "go" }

/** Ends the job, then asks an agent with other options over the same store. */
const askedAgain = Effect.fnUntraced(function*(
  before: NonNullable<TestAgent.Options["agent"]>,
  after: NonNullable<TestAgent.Options["agent"]>,
  first: Partial<Parameters<Agent.Client<string>["run"]>[0]> = {},
  again: typeof first = first
) {
  const { agent, store } = yield* TestAgent.make([ScriptedModel.text("done")], { agent: before })
  yield* agent.run({ ...job, ...first })
  const deployed = yield* TestAgent.make([], { store, agent: after })
  return yield* Effect.result(deployed.agent.run({ ...job, ...again }))
})

const textOf = (result: Effect.Success<ReturnType<typeof askedAgain>>) =>
  result._tag === "Success" ? result.success.text : result.failure.reason._tag

describe("the same request after a deploy", () => {
  it.effect("is replayed, whatever limits and tool policy the agent has now", () =>
    Effect.gen(function*() {
      const [few, many] = [{ limits: { maxTurns: 10 } }, { limits: { maxTurns: 12, maxCost: 1 } }]
      assert.strictEqual(textOf(yield* askedAgain(few, many)), "done")
      assert.strictEqual(textOf(yield* askedAgain({}, { toolPolicy: { maxParallel: 4 } })), "done")
      const given = { limits: { maxTurns: 3, maxErrors: Infinity }, toolPolicy: { maxParallel: 2 } }
      assert.strictEqual(textOf(yield* askedAgain(few, many, given)), "done")
    }))

  it.effect("is RunConflict if it sets a limit or a policy that the run does not have", () =>
    Effect.gen(function*() {
      const first = { limits: { maxTurns: 3 }, toolPolicy: { maxParallel: 2 } }
      for (
        const again of [
          { ...first, limits: { maxTurns: 4 } },
          { ...first, limits: { maxTokens: 9 } },
          { ...first, toolPolicy: { maxParallel: 3 } },
          { ...first, toolPolicy: { continueOnError: false } }
        ]
      ) {
        assert.strictEqual(textOf(yield* askedAgain({}, {}, first, again)), "RunConflict", JSON.stringify(again))
      }
    }))

  it.effect("continues the run whose process died", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const before = yield* TestAgent.make([[ScriptedModel.gate(gate)]], { agent: { limits: { maxTurns: 10 } } })
      yield* before.agent.start(job)
      yield* gate.started
      const store = yield* Family.leftBy(before.store)
      const after = yield* TestAgent.make([ScriptedModel.text("done")], { store, agent: { limits: { maxTurns: 12 } } })
      assert.strictEqual((yield* after.agent.run(job)).text, "done")
      // the run has the limits that it began with
      assert.strictEqual(RunLog.only(yield* store.log("job"), "RunStarted")[0]?.input.limits.maxTurns, 10)
    }))

  it.effect("attaches to the live run under another value of the setting Limits", () =>
    Effect.gen(function*() {
      const { agent, gate, input, run } = yield* Gated.start()
      const attached = yield* Effect.provideService(agent.start(input), Limits.Limits, { maxTurns: 12 })
      yield* gate.release
      assert.deepStrictEqual(yield* attached.result, yield* run.result)
    }))
})

const agentOf = Effect.fnUntraced(function*(name: string, store: TestStore.TestStore, turn: ScriptedModel.Turn) {
  const services = yield* Layer.build(Layer.mergeAll(Fiberloop.layer, store.layer, ScriptedModel.layer([turn])))
  return yield* Effect.provideContext(Agent.make({ name, instructions: `You argue ${name}.` }), services)
})

describe("the run of another agent", () => {
  it.effect("is not what a request with its id asks for, whether it is over or its process died", () =>
    Effect.gen(function*() {
      const ended = yield* TestStore.make()
      const first = yield* agentOf("app/Pro", ended, ScriptedModel.text("pro"))
      yield* first.run(job)
      const gate = yield* ScriptedModel.makeGate
      const live = yield* TestStore.make()
      const second = yield* agentOf("app/Pro", live, [ScriptedModel.gate(gate)])
      yield* second.start(job)
      yield* gate.started
      for (const store of [ended, yield* Family.leftBy(live)]) {
        const log = yield* store.log("job")
        const con = yield* agentOf("app/Con", store, ScriptedModel.text("con"))
        const error = yield* Effect.flip(con.run(job))
        assert.strictEqual(error.reason._tag, "RunConflict")
        assert.include(error.message, "\"app/Pro\"")
        assert.deepStrictEqual(yield* store.log("job"), log)
      }
    }))

  it.effect("is not attached to while it lives", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const gate = yield* ScriptedModel.makeGate
      const script = ScriptedModel.layer([[ScriptedModel.gate(gate)]])
      const services = yield* Layer.build(Layer.mergeAll(Fiberloop.layer, store.layer, script))
      const [pro, con] = yield* Effect.provideContext(
        Effect.all([
          Agent.make({ name: "app/Pro", instructions: "" }),
          Agent.make({ name: "app/Con", instructions: "" })
        ]),
        services
      )
      yield* pro.start(job)
      yield* gate.started
      assert.strictEqual((yield* Effect.flip(con.start(job))).reason._tag, "RunConflict")
    }))
})
