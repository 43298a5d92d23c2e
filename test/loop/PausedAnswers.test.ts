/** An answer that its provider pauses in, as in a long search of its own: the model goes on with it, whatever happens between. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as ModelFallback from "../../src/layers/ModelFallback.ts"
import type * as Message from "../../src/run/Message.ts"
import type { Hook } from "../../src/services/Hooks.ts"
import type * as Model from "../../src/services/Model.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Overflows from "../support/Overflows.ts"
import * as Overloaded from "../support/Overloaded.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Shrinking from "../support/Shrinking.ts"
import * as Steering from "../support/Steering.ts"
import * as TestAgent from "../support/TestAgent.ts"

const go = { sessionId: "s", runId: "r", input: "go" }
const pause = ScriptedModel.finish("pause")

const searches = (id: string) =>
  ScriptedModel.parts({ type: "tool-call", id, name: "web_search", params: { query: id }, providerExecuted: true })
const finds = (id: string, result = `found ${id}`) =>
  ScriptedModel.parts({ type: "tool-result", id, name: "web_search", result, isFailure: false })

/** What kinds of parts a message has, with the ids of calls and results. */
const shapeOf = (message: Message.Message | undefined): ReadonlyArray<string> =>
  message === undefined || typeof message.content === "string"
    ? []
    : message.content.map((part) => "id" in part ? `${part.type} ${part.id}` : part.type)

const lastOf = (request: Model.ModelRequest | undefined) => request?.messages.at(-1)

const first = [ScriptedModel.text("Let me look."), searches("srv_1"), pause]
const rest = [finds("srv_1"), ScriptedModel.text("42")]

/** An agent whose model pauses and then fails; another one takes over, and is `asked`. */
const takenOver = Effect.fnUntraced(function*(...turns: ReadonlyArray<ScriptedModel.Turn>) {
  const other = yield* Layer.build(ScriptedModel.layer(turns, { info: { provider: "scripted", name: "other" } }))
  const paused = ScriptedModel.layer([first, Overloaded.fail()])
  const model = ModelFallback.layer([paused, Layer.succeedContext(other)])
  const made = yield* TestAgent.make([], { model, agent: { retry: RetryPolicy.make({ maxRetries: 0 }) } })
  return { ...made, asked: Context.get(other, ScriptedModel.Script).requests }
})

describe("an answer that its provider pauses in", () => {
  it.effect("is sent back as it is, and goes on", () =>
    Effect.gen(function*() {
      const { agent, script, store } = yield* TestAgent.make([first, rest, ScriptedModel.text("bye")])
      const result = yield* agent.run(go)
      assert.deepStrictEqual([result._tag, result.text], ["Completed", "42"])
      const log = yield* store.log("s")
      assert.deepStrictEqual(Steering.decisions(log), ["Continue pause", "Complete stop"])
      assert.deepStrictEqual(RunLog.only(log, "NoticeAdded"), [])
      assert.deepStrictEqual(RunLog.violations(log), [])
      yield* agent.run({ ...go, runId: "r2", input: "and?" })
      const [asked, again, later] = yield* script.requests
      assert.deepStrictEqual(again?.messages.slice(0, -1), asked?.messages)
      assert.deepStrictEqual(shapeOf(lastOf(again)), ["text", "tool-call srv_1"])
      assert.deepStrictEqual([asked?.continues, again?.continues, later?.continues], [undefined, true, undefined])
      // one message, whose call has its result, as if it had never been paused
      assert.deepStrictEqual(Steering.roles(later), ["user", "assistant", "user"])
      assert.deepStrictEqual(shapeOf(later?.messages[2]), [
        "text",
        "tool-call srv_1",
        "tool-result srv_1",
        "text"
      ])
    }))

  it.effect("goes on with an id that it has used, and with results in another order than its calls", () =>
    Effect.gen(function*() {
      const { agent, script, store } = yield* TestAgent.make([
        [searches("srv_1"), pause],
        [
          searches("srv_1"),
          finds("srv_1"),
          searches("srv_2"),
          finds("srv_2"),
          finds("srv_1"),
          ScriptedModel.text("42")
        ],
        ScriptedModel.text("bye")
      ])
      yield* agent.run(go)
      yield* agent.run({ ...go, runId: "r2", input: "and?" })
      const shape = shapeOf((yield* script.requests).at(-1)?.messages[2])
      const [again] = shape.flatMap((part) => part.startsWith("tool-call p") ? [part.slice("tool-call ".length)] : [])
      assert.deepStrictEqual(shape, [
        "tool-call srv_1",
        `tool-call ${again}`,
        "tool-result srv_1",
        "tool-call srv_2",
        "tool-result srv_2",
        `tool-result ${again}`,
        "text"
      ])
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
    }))

  it.effect("may pause again, also before it says anything, and begin calls of ours in the end", () =>
    Effect.gen(function*() {
      const { agent, script, store } = yield* TestAgent.make([
        [ScriptedModel.reasoning("hm", { anthropic: { signature: "s1" } }), searches("srv_1"), pause],
        [finds("srv_1"), pause],
        [searches("srv_2"), pause],
        [finds("srv_2"), ScriptedModel.text("so"), TestAgent.work(1)],
        ScriptedModel.text("42")
      ])
      assert.strictEqual((yield* agent.run(go)).text, "42")
      const requests = yield* script.requests
      assert.lengthOf(requests, 5)
      const message = [
        "reasoning",
        "tool-call srv_1",
        "tool-result srv_1",
        "tool-call srv_2",
        "tool-result srv_2",
        "text"
      ]
      assert.deepStrictEqual(requests.slice(1, 4).map((request) => shapeOf(lastOf(request))), [
        message.slice(0, 2),
        message.slice(0, 3),
        message.slice(0, 4)
      ])
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.outcomes(log), ["4.0 Succeeded"])
      assert.deepStrictEqual(shapeOf(requests[4]?.messages[2]).slice(0, -1), message)
      assert.deepStrictEqual(Steering.roles(requests[4]), ["user", "assistant", "tool"])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("goes on before follow-ups are read", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, script, store } = yield* TestAgent.make([
        [ScriptedModel.text("Let me look."), searches("srv_1"), ScriptedModel.gate(gate), pause],
        rest,
        ScriptedModel.text("bye")
      ])
      const run = yield* agent.start(go)
      yield* gate.started
      const fiber = yield* Steering.say(run, "followUp", "thanks")
      yield* gate.release
      yield* Fiber.join(fiber)
      assert.strictEqual((yield* run.result).text, "bye")
      const requests = yield* script.requests
      assert.deepStrictEqual(requests.map(Steering.said), [["go"], ["go"], ["go", "thanks"]])
      assert.deepStrictEqual(Steering.decisions(yield* store.log("s")), [
        "Continue pause",
        "Continue followUp",
        "Complete stop"
      ])
    }))

  it.effect("is over when a person steers meanwhile: the search that has no result is left out", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, script, store } = yield* TestAgent.make([
        [ScriptedModel.text("Let me look."), searches("srv_1"), ScriptedModel.gate(gate), pause],
        ScriptedModel.text("ok")
      ])
      const run = yield* agent.start(go)
      yield* gate.started
      const fiber = yield* Steering.say(run, "steer", "no need")
      yield* gate.release
      yield* Fiber.join(fiber)
      assert.strictEqual((yield* run.result).text, "ok")
      const [, second] = yield* script.requests
      assert.deepStrictEqual(Steering.roles(second), ["user", "assistant", "user"])
      assert.deepStrictEqual(shapeOf(second?.messages[2]), ["text"])
      assert.strictEqual(second?.continues, undefined)
      assert.deepStrictEqual(Steering.decisions(yield* store.log("s")), ["Continue steer", "Complete stop"])
    }))

  it.effect("goes on first where the steer comes while it goes on", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, script, store } = yield* TestAgent.make([
        first,
        [...rest, ScriptedModel.gate(gate)],
        ScriptedModel.text("short")
      ])
      const run = yield* agent.start(go)
      yield* gate.started
      const fiber = yield* Steering.say(run, "steer", "shorter")
      yield* gate.release
      yield* Fiber.join(fiber)
      assert.strictEqual((yield* run.result).text, "short")
      const [, , third] = yield* script.requests
      assert.deepStrictEqual(Steering.roles(third), ["user", "assistant", "user"])
      assert.lengthOf(shapeOf(third?.messages[2]), 4)
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
    }))

  it.effect("is tried again with the same request where going on fails", () =>
    Effect.gen(function*() {
      const retry = RetryPolicy.make({ base: 0, maxRetries: 1 })
      const { agent, script } = yield* TestAgent.make([first, Overloaded.fail(), rest], { agent: { retry } })
      assert.strictEqual((yield* agent.run(go)).text, "42")
      const [, failed, tried] = yield* script.requests
      assert.deepStrictEqual(tried?.messages, failed?.messages)
      assert.strictEqual(tried?.continues, true)
    }))

  it.effect("is no answer to go on with for another model", () =>
    Effect.gen(function*() {
      const { agent, asked, store } = yield* takenOver(ScriptedModel.text("42"))
      assert.strictEqual((yield* agent.run(go)).text, "42")
      const [first] = yield* asked
      assert.deepStrictEqual(Steering.said(first), ["go", "Go on."])
      assert.deepStrictEqual(shapeOf(first?.messages[2]), ["text"])
      assert.strictEqual(first?.continues, undefined)
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
    }))

  it.effect("goes on where a hook changes what was said before it, and not where a hook changes it", () =>
    Effect.gen(function*() {
      const change = (from: string, to: string): Hook => ({
        name: "changes",
        beforeModelCall: ({ messages }) =>
          Effect.sync(() => ({ messages: JSON.parse(JSON.stringify(messages).replaceAll(from, to)) }))
      })
      const asked = Effect.fnUntraced(function*(hook: Hook) {
        const { agent, script, store } = yield* TestAgent.make([first, rest], { agent: { hooks: [hook] } })
        assert.strictEqual((yield* agent.run(go)).text, "42")
        assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
        const [, again] = yield* script.requests
        return { said: Steering.said(again), shape: shapeOf(again?.messages[2]), continues: again?.continues }
      })
      assert.deepStrictEqual(yield* asked(change("go", "start")), {
        said: ["start"],
        shape: ["text", "tool-call srv_1"],
        continues: true
      })
      assert.deepStrictEqual(yield* asked(change("Let me look.", "Hm.")), {
        said: ["go", "Go on."],
        shape: ["text"],
        continues: undefined
      })
    }))

  it.effect("stays apart from the answer of another model, which was told to go on", () =>
    Effect.gen(function*() {
      const thinks = ScriptedModel.reasoning("hm", { anthropic: { signature: "s1" } })
      const { agent, asked, store } = yield* takenOver([thinks, TestAgent.work(1)], ScriptedModel.text("42"))
      assert.strictEqual((yield* agent.run(go)).text, "42")
      const [before, later] = yield* asked
      assert.deepStrictEqual(later?.messages.slice(0, before?.messages.length), before?.messages)
      // providers refuse a message with calls whose reasoning is not at its beginning
      assert.strictEqual(shapeOf(later?.messages.at(-2))[0], "reasoning")
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
    }))

  it.effect("ends the run where a limit allows no further turn, and goes on after it is resumed with more", () =>
    Effect.gen(function*() {
      const { agent, script, store } = yield* TestAgent.make([first, ScriptedModel.text("42")], {
        agent: { limits: { maxTurns: 1 } }
      })
      assert.strictEqual((yield* agent.run(go))._tag, "Limited")
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunLimited(turns)")
      assert.strictEqual((yield* agent.resumeRun({ sessionId: "s", limits: { maxTurns: 2 } })).text, "42")
      const [, second] = yield* script.requests
      assert.deepStrictEqual(Steering.roles(second), ["user", "assistant", "user"])
      assert.deepStrictEqual(shapeOf(second?.messages[2]), ["text"])
    }))

  it.effect("goes on in the process that takes up the run, wherever the one before died", () =>
    Effect.gen(function*() {
      const whole = yield* TestAgent.make([first, rest])
      yield* whole.agent.run(go)
      const writes = whole.store.appends
      const [, expected] = yield* whole.script.requests
      for (let n = 2; n < writes.length; n++) {
        const store = yield* Steering.left(writes.slice(0, n))
        const { agent, script } = yield* TestAgent.make((request) => request.continues === true ? rest : first, {
          store
        })
        assert.strictEqual((yield* agent.resumeRun({ sessionId: "s" })).text, "42", `after write ${n}`)
        const asked = (yield* script.requests).at(-1)
        assert.deepStrictEqual(asked?.messages, expected?.messages, `after write ${n}`)
        const log = yield* store.log("s")
        assert.deepStrictEqual(RunLog.violations(log), [])
      }
    }))

  it.effect("is a message like others to a compaction, after which the model begins anew", () =>
    Effect.gen(function*() {
      const { agent, script, store } = yield* TestAgent.make(
        [first, Overflows.overflow, ScriptedModel.text("42")],
        { context: Shrinking.layer() }
      )
      assert.strictEqual((yield* agent.run({ ...go, history: Shrinking.history(4) })).text, "42")
      const [, , third] = yield* script.requests
      assert.deepStrictEqual(Steering.roles(third).at(-1), "user")
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
    }))
})
