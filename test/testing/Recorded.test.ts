/** A recorded session as a test: its model's answers again, and what is refused because the log does not say it. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type * as Agent from "../../src/Agent.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as ModelFallback from "../../src/layers/ModelFallback.ts"
import * as ToolExecutorToolkit from "../../src/layers/ToolExecutorToolkit.ts"
import * as Message from "../../src/run/Message.ts"
import * as RunError from "../../src/run/RunError.ts"
import type * as Hooks from "../../src/services/Hooks.ts"
import * as Model from "../../src/services/Model.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as SessionLines from "../../src/SessionLines.ts"
import * as Recorded from "../../src/testing/Recorded.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Family from "../support/Family.ts"
import * as Replayed from "../support/Replayed.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const { call, finish, parts, reasoning, text } = ScriptedModel
const { look, work } = TestAgent

const overloaded = new RunError.RetryableError<RunError.ProviderReason>({ _tag: "Overloaded", message: "busy" })
const overflow = new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag: "ContextOverflow", message: "long" })
const noKey = new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag: "Authentication", message: "no key" })
const immediately = { retry: RetryPolicy.make({ base: 0, cap: 0, maxRetries: 2 }) }
const once = { retry: RetryPolicy.make({ maxRetries: 0 }) }

const failsAndResumes = (agent: Agent.Client<string>) =>
  Effect.gen(function*() {
    yield* Effect.flip(agent.run({ sessionId: "recorded", runId: "r", input: "Go." }))
    yield* agent.resumeRun({ sessionId: "recorded" })
  })

const textsOf = ({ results }: Replayed.Replay) =>
  results.map((exit) => Exit.isSuccess(exit) ? exit.value.text : "failed")
const failuresOf = ({ results }: Replayed.Replay) => results.map(Replayed.failureOf)

describe("the recorded model", () => {
  it.effect("says the same parts, with the same ids, finish and usage", () =>
    Effect.gen(function*() {
      const events = yield* Replayed.record([
        [
          reasoning("Hm.", { scripted: { signature: "s" } }),
          parts({ type: "text-delta", block: "a", delta: "Let me " }, {
            type: "text-delta",
            block: "b",
            delta: "look."
          }),
          parts(
            { type: "tool-call", id: "srv_1", name: "web", params: { q: 1 }, providerExecuted: true },
            { type: "tool-result", id: "srv_1", name: "web", result: ["found"], isFailure: false },
            { type: "file", mediaType: "image/png", data: "aGk=" }
          ),
          work(1, "toolu_1"),
          look(2, "toolu_2"),
          call("nope", "{ not JSON", "toolu_3"),
          finish("tool-calls", { inputTokens: 7, outputTokens: 3, cachedInputTokens: 2 })
        ],
        [text("Done."), finish("other", { inputTokens: 1, outputTokens: 1 })]
      ])
      const replay = yield* Replayed.replay(events)
      assert.strictEqual(RunLog.only(events, "AssistantMessage")[0]!.message.content.length, 9)
      assert.deepStrictEqual(Replayed.facts(replay.log), Replayed.facts(events))
      assert.strictEqual(replay.problem, "")
    }))

  it.effect("is described by the model of the log, or as the test says", () =>
    Effect.gen(function*() {
      const events = yield* Replayed.record([text("Hi.")], { info: { provider: "p", name: "m" } })
      const models = Effect.fnUntraced(function*(recorded?: Recorded.ModelOptions) {
        const { log } = yield* Replayed.replay(events, recorded === undefined ? {} : { recorded })
        return RunLog.only(log, "AssistantMessage").map(({ model }) => Message.modelName(model))
      })
      assert.deepStrictEqual(yield* models(), ["p/m"])
      assert.deepStrictEqual(yield* models({ info: { provider: "p", name: "other" } }), ["p/other"])
    }))

  it.effect("answers each run of a session by its own turns", () =>
    Effect.gen(function*() {
      const events = yield* Replayed.record(
        [work(1), text("First."), text("Second.")],
        {},
        (agent) =>
          Effect.forEach(["a", "b"], (runId) => agent.run({ sessionId: "recorded", runId, input: `I am ${runId}.` }))
      )
      const replay = yield* Replayed.replay(events)
      assert.deepStrictEqual(textsOf(replay), ["First.", "Second."])
      assert.strictEqual(replay.problem, "")
    }))

  it.effect("answers a run that came after one that was cut off, on a fork of the session", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const turns = [ScriptedModel.gate(gate), work(1), text("Done.")]
      const events = yield* Replayed.record(turns, {}, (agent) =>
        Effect.gen(function*() {
          const run = yield* agent.start({ sessionId: "recorded", runId: "a", input: "Go." })
          yield* gate.started
          yield* run.abort
          yield* agent.run({ sessionId: "recorded", runId: "b", input: "Go on." })
        }))
      const store = yield* TestStore.make()
      yield* Effect.provide(SessionLines.add({ sessionId: "recorded", events: events as TestStore.Batch }), store.layer)
      const end = RunLog.only(events, "RunAborted")[0]!
      yield* store.service.fork("recorded", { to: "again", at: end.seq })
      const model = Recorded.model(events)
      const { agent } = yield* TestAgent.make([], { store, model, agent: { hooks: [Recorded.outcomes(events)] } })
      const result = yield* agent.run({ ...Recorded.inputs(events)[1]!, sessionId: "again" })
      assert.strictEqual(result.text, "Done.")
    }))

  it.effect("answers an agent below a call from that agent's own session", () =>
    Effect.gen(function*() {
      const { root, store } = yield* Family.make()
      yield* root({ turns: [[{ turns: [[{}], [{}]] }]] })
      const logs = yield* Family.logsOf(store.service)
      assert.strictEqual(logs.size, 4)
      for (const events of logs.values()) {
        const outcomes = Recorded.outcomes(events)
        const member = Family.agentOf({ agent: { hooks: [outcomes] }, model: Recorded.model(events) })
        const again = yield* TestStore.make()
        yield* Effect.flatMap(member.agent, (agent) =>
          Effect.forEach(Recorded.inputs(events), (input) => agent.run({ ...input, sessionId: "again" }))).pipe(
            Effect.provide(Layer.provide(member.layer, [again.layer, ToolExecutorToolkit.layer]))
          )
        assert.deepStrictEqual(Replayed.facts(yield* again.log("again")), Replayed.facts(events))
        assert.deepStrictEqual(yield* Effect.all([outcomes.unrecorded, outcomes.unmade]), [[], []])
      }
    }))

  it.effect("answers the same run in two sessions, from its beginning in each", () =>
    Effect.gen(function*() {
      const events = yield* Replayed.record([ScriptedModel.fail(noKey), text("Done.")], {}, failsAndResumes)
      const { agent } = yield* TestAgent.make([], { model: Recorded.model(events) })
      for (const sessionId of ["s", "t"]) {
        yield* Effect.flip(agent.run({ ...Recorded.inputs(events)[0]!, sessionId }))
      }
      assert.strictEqual((yield* agent.resumeRun({ sessionId: "s" })).text, "Done.")
    }))

  it.effect("tells the agent again that its answer does not fit the schema", () =>
    Effect.gen(function*() {
      const output = { agent: { output: Schema.Struct({ n: Schema.Int }) } } as unknown as TestAgent.Options
      const events = yield* Replayed.record([text("one"), text(`{"n":1}`)], output)
      const replay = yield* Replayed.replay(events, output)
      assert.strictEqual(RunLog.only(replay.log, "NoticeAdded").length, 1)
      assert.deepStrictEqual(Replayed.facts(replay.log), Replayed.facts(events))
    }))

  it.effect("has the context made smaller where it was, given the window", () =>
    Effect.gen(function*() {
      const info = { provider: "p", name: "m", contextWindow: 100_000 }
      const context = ContextWindow.layer
      const events = yield* Replayed.record(
        [text("One."), text("Two."), ScriptedModel.fail(overflow), text("Three.")],
        { info, context },
        (agent) =>
          Effect.forEach(["a", "b", "c"], (runId) =>
            agent.run({ sessionId: "recorded", runId, input: `I am ${runId}. `.repeat(100) }))
      )
      const replay = yield* Replayed.replay(events, { recorded: { info }, context })
      assert.strictEqual(RunLog.only(events, "ContextCompacted").length, 1)
      assert.deepStrictEqual(Replayed.facts(replay.log), Replayed.facts(events))
      assert.deepStrictEqual([textsOf(replay), replay.problem], [["One.", "Two.", "Three."], ""])
    }))
})

describe("attempts that failed", () => {
  it.effect("are left out where a retry made up for them, and nothing waits", () =>
    Effect.gen(function*() {
      const events = yield* Replayed.record([ScriptedModel.fail(overloaded), text("Done.")], { agent: immediately })
      assert.strictEqual(RunLog.only(events, "AttemptDiscarded").length, 1)
      const replay = yield* Replayed.replay(events)
      assert.deepStrictEqual(textsOf(replay), ["Done."])
      assert.deepStrictEqual(RunLog.only(replay.log, "AttemptDiscarded"), [])
    }))

  it.effect("are left out where another model took over", () =>
    Effect.gen(function*() {
      const model = ModelFallback.layer([
        ScriptedModel.layer([ScriptedModel.fail(noKey)], { info: { provider: "p", name: "first" } }),
        ScriptedModel.layer([[reasoning("Hm."), work(1)], text("Done.")], { info: { provider: "p", name: "second" } })
      ])
      const events = yield* Replayed.record([], { model })
      assert.strictEqual(RunLog.only(events, "ModelSwitched").length, 1)
      const replay = yield* Replayed.replay(events)
      assert.deepStrictEqual([textsOf(replay), replay.problem], [["Done."], ""])
    }))

  it.effect("fail again where the call failed for good, and cost the same", () =>
    Effect.gen(function*() {
      const spent = parts({ type: "response", usage: { inputTokens: 5, outputTokens: 0 } })
      const events = yield* Replayed.record([[spent, ScriptedModel.fail(noKey)]])
      const replay = yield* Replayed.replay(events)
      assert.deepStrictEqual([failuresOf(replay), replay.problem], [["no key"], ""])
      const [now, then] = [replay.log, events].map((log) => RunLog.only(log, "AttemptDiscarded").map((_) => _.usage))
      assert.deepStrictEqual(now, then)
    }))

  it.effect("fail at every try of a call that no retry made up for", () =>
    Effect.gen(function*() {
      const events = yield* Replayed.record([ScriptedModel.fail(overloaded)], { agent: once })
      const replay = yield* Replayed.replay(events, { agent: immediately })
      const { error } = RunLog.only(replay.log, "RunFailed")[0]!
      assert.deepInclude(error.reason, { _tag: "RetriesExhausted", attempts: 3 })
    }))

  it.effect("are made again for a model that said nothing, twice", () =>
    Effect.gen(function*() {
      const events = yield* Replayed.record([finish("stop"), finish("stop")], { agent: immediately })
      const replay = yield* Replayed.replay(events, { agent: immediately })
      const [now, then] = [replay.log, events].map((log) => RunLog.only(log, "AttemptDiscarded").map((_) => _.error))
      assert.deepStrictEqual([now, replay.problem], [then, ""])
      assert.deepStrictEqual(Replayed.facts(replay.log), Replayed.facts(events))
    }))

  it.effect("fail only once where the last failure was final, and nothing waits", () =>
    Effect.gen(function*() {
      const events = yield* Replayed.record([ScriptedModel.fail(overloaded), ScriptedModel.fail(noKey)], {
        agent: immediately
      })
      assert.strictEqual(RunLog.only(events, "AttemptDiscarded").length, 2)
      const replay = yield* Replayed.replay(events)
      assert.deepStrictEqual([failuresOf(replay), replay.problem], [["no key"], ""])
    }))

  it.effect("fail as the last model did, where another one had taken over", () =>
    Effect.gen(function*() {
      const model = ModelFallback.layer([
        ScriptedModel.layer([ScriptedModel.fail(noKey)], { info: { provider: "p", name: "first" } }),
        ScriptedModel.layer([ScriptedModel.fail(overloaded)], { info: { provider: "p", name: "second" } })
      ])
      const events = yield* Replayed.record([], { model, agent: once })
      const replay = yield* Replayed.replay(events, { agent: once })
      const [now, then] = [replay.log, events].map((log) => RunLog.only(log, "RunFailed").map(({ error }) => error))
      assert.deepStrictEqual(now, then)
    }))

  it.effect("fail once before the answer that a resumed run got", () =>
    Effect.gen(function*() {
      const events = yield* Replayed.record([ScriptedModel.fail(noKey), text("Done.")], {}, failsAndResumes)
      const { agent } = yield* TestAgent.make([], { model: Recorded.model(events) })
      yield* Effect.flip(agent.run({ ...Recorded.inputs(events)[0]!, sessionId: "again" }))
      assert.strictEqual((yield* agent.resumeRun({ sessionId: "again" })).text, "Done.")
    }))
})

describe("the recorded model refuses", () => {
  const twoTurns = Replayed.record([work(1), text("Done.")])

  it.effect("a run that the recording does not have", () =>
    Effect.gen(function*() {
      const replay = yield* Replayed.replay(yield* twoTurns, { inputs: [{ input: "Go.", runId: "mine" }] })
      assert.match(replay.problem, /^Recorded\.model: the recording has no run "mine": .* Recorded\.inputs/)
      assert.deepStrictEqual(failuresOf(replay), [replay.problem])
    }))

  it.effect("two runs that it does not have, and tells of the first when the scope closes", () =>
    Effect.gen(function*() {
      const inputs = ["mine", "yours"].map((runId) => ({ input: "Go.", runId }))
      const replay = yield* Replayed.replay(yield* twoTurns, { inputs })
      const [mine, yours] = failuresOf(replay)
      assert.include(mine, `the recording has no run "mine"`)
      assert.include(yours, `the recording has no run "yours"`)
      assert.strictEqual(replay.problem, mine)
    }))

  it.effect("a conversation that is not the recorded one, and shows where", () =>
    Effect.gen(function*() {
      const events = yield* twoTurns
      const replay = yield* Replayed.replay(events, { hooks: [], tool: ({ n }) => Effect.succeed(`new ${n}`) })
      assert.include(replay.problem, `turn 2 of run "r" asks another thing`)
      assert.match(
        replay.problem,
        /message 3 of the conversation is\n {2}tool .*"new 1".*\nand was\n {2}tool .*"done 1"/
      )
      assert.deepStrictEqual(failuresOf(replay), [replay.problem])
    }))

  it.effect("a long conversation, and shows the part that is another one", () =>
    Effect.gen(function*() {
      const say = (what: string) => () => Effect.succeed(`${"a".repeat(3_000)}${what}${"b".repeat(3_000)}`)
      const events = yield* Replayed.record([work(1), text("Done.")], { tool: say("left") })
      const { problem } = yield* Replayed.replay(events, { hooks: [], tool: say("right") })
      assert.match(problem, /is\n {2}\.\.\.a{200}rightb+\.\.\.\nand was\n {2}\.\.\.a{200}leftb+\.\.\.\n/)
    }))

  it.effect("a conversation that goes on without what people sent to the run, unless the test sends it", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const turns = [[ScriptedModel.gate(gate), work(1)], text("Done.")]
      const events = yield* Replayed.record(turns, {}, (agent) =>
        Effect.gen(function*() {
          const run = yield* agent.start({ sessionId: "recorded", runId: "r", input: "Go." })
          yield* gate.started
          yield* run.queue("steer", "Be brief.")
          yield* gate.release
          yield* run.result
        }))
      const { problem } = yield* Replayed.replay(events)
      assert.match(problem, /message 4 of the conversation is\n {2}not there\nand was\n .*Be brief/)
      assert.include(problem, "What people sent, decided or cut off then is not done again.")

      const steered = yield* Deferred.make<void>()
      const waits: Hooks.Hook = { name: "waits", afterModelCall: () => Deferred.await(steered) }
      const hooks = [waits, Recorded.outcomes(events)]
      const { agent } = yield* TestAgent.make([], { model: Recorded.model(events), agent: { hooks } })
      const run = yield* agent.start({ ...Recorded.inputs(events)[0]!, sessionId: "again" })
      yield* run.queue("steer", "Be brief.")
      yield* Deferred.succeed(steered, undefined)
      assert.strictEqual((yield* run.result).text, "Done.")
    }))

  it.effect("a turn in which the recorded run was cut off", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const events = yield* Replayed.record([work(1), ScriptedModel.gate(gate)], {}, (agent) =>
        Effect.gen(function*() {
          const run = yield* agent.start({ sessionId: "recorded", runId: "r", input: "Go." })
          yield* gate.started
          yield* run.abort
        }))
      const { problem } = yield* Replayed.replay(events)
      assert.strictEqual(
        problem,
        "Recorded.model: run \"r\" got no answer in its turn 2 when it was recorded: it ended with RunAborted (requested)"
      )
    }))

  it.effect("a turn that a retry was to follow when the recording ends", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const events = yield* Replayed.record(
        [ScriptedModel.fail(overloaded), ScriptedModel.gate(gate)],
        { agent: immediately },
        (agent) =>
          Effect.gen(function*() {
            const run = yield* agent.start({ sessionId: "recorded", runId: "r", input: "Go." })
            yield* gate.started
            yield* run.abort
          })
      )
      assert.strictEqual(RunLog.only(events, "AttemptDiscarded").length, 1)
      const replay = yield* Replayed.replay(events)
      assert.include(replay.problem, `run "r" got no answer in its turn 1`)
    }))

  it.effect("a run that ends earlier than the recorded one", () =>
    Effect.gen(function*() {
      const events = yield* twoTurns
      const replay = yield* Replayed.replay(events, { agent: { limits: { maxTurns: 1 } } })
      assert.include(replay.problem, `run "r" ended after turn 1, and took 2 when it was recorded`)
      assert.deepStrictEqual(failuresOf(replay), [""])
    }))

  it.effect("what a context strategy asks", () =>
    Effect.gen(function*() {
      const events = yield* twoTurns
      const exit = yield* Effect.gen(function*() {
        const model = yield* Model.Model
        yield* Effect.exit(Stream.runDrain(model.stream({
          messages: [Message.user("Summarise.")],
          tools: [],
          toolChoice: "none",
          metadata: { sessionId: "s", runId: "r", turn: 1, attempt: 0 }
        })))
      }).pipe(Effect.provide(Recorded.model(events)), Effect.exit)
      assert.include(Replayed.failureOf(exit), "give the strategy a model of its own")
    }))

  it.effect("an illegal request, as every scripted model does", () =>
    Effect.gen(function*() {
      const events = yield* twoTurns
      const exit = yield* Effect.gen(function*() {
        const model = yield* Model.Model
        yield* Effect.exit(Stream.runDrain(model.stream({
          messages: [],
          tools: [],
          toolChoice: "none",
          metadata: { sessionId: "s", runId: "r", turn: 1, attempt: 1 }
        })))
      }).pipe(Effect.provide(Recorded.model(events)), Effect.exit)
      assert.include(Replayed.failureOf(exit), "illegal request")
    }))
})

describe("with `any` request the recorded model", () => {
  const adds: Hooks.Hook = {
    name: "adds",
    beforeModelCall: ({ messages }) => Effect.succeed({ messages: [...messages, Message.user("It is noon.")] })
  }

  it.effect("answers what a hook changed, which it refuses otherwise", () =>
    Effect.gen(function*() {
      const events = yield* Replayed.record([work(1), text("Done.")], { agent: { hooks: [adds] } })
      const any = yield* Replayed.replay(events, { agent: { hooks: [adds] }, recorded: { requests: "any" } })
      assert.deepStrictEqual([textsOf(any), any.problem], [["Done."], ""])
      const same = yield* Replayed.replay(events, { agent: { hooks: [adds] } })
      assert.include(same.problem, `give { requests: "any" }`)
    }))

  it.effect("lets a run end earlier", () =>
    Effect.gen(function*() {
      const events = yield* Replayed.record([work(1), text("Done.")])
      const replay = yield* Replayed.replay(events, {
        agent: { limits: { maxTurns: 1 } },
        recorded: { requests: "any" }
      })
      assert.strictEqual(replay.problem, "")
    }))

  it.effect("still refuses a turn that has no answer", () =>
    Effect.gen(function*() {
      const events = (yield* Replayed.record([work(1), text("Done.")])).filter((event) =>
        event._tag !== "AssistantMessage" || event.turn < 2
      )
      const replay = yield* Replayed.replay(events, { recorded: { requests: "any" } })
      assert.include(replay.problem, `run "r" got no answer in its turn 2`)
    }))
})

describe("the inputs of a recording", () => {
  it.effect("are what callers gave, with the runs' ids, and without limits and policies, which may be the agent's", () =>
    Effect.gen(function*() {
      const given = {
        input: "Go.",
        history: [{ role: "user", content: "Hi." }, { role: "assistant", content: "Hello." }],
        instructions: "Be kind.",
        allowedTools: ["work"],
        toolOrder: ["work"],
        data: { user: 7 }
      } as const
      const events = yield* Replayed.record([text("Done."), text("Again.")], {}, (agent) =>
        Effect.gen(function*() {
          yield* agent.run({ ...given, sessionId: "recorded", runId: "a", limits: { maxTurns: 3 } })
          yield* agent.run({ sessionId: "recorded", runId: "b", input: "More." })
        }))
      assert.deepStrictEqual<unknown>(Recorded.inputs(events), [
        {
          ...given,
          runId: "a",
          input: [Message.user("Go.")],
          history: [Message.user("Hi."), { role: "assistant", content: [Message.text("Hello.")] }]
        },
        { runId: "b", input: [Message.user("More.")] }
      ])
      const replay = yield* Replayed.replay(events)
      assert.deepStrictEqual([textsOf(replay), replay.problem], [["Done.", "Again."], ""])
    }))
})
