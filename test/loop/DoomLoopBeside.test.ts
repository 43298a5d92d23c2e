/** Loops beside a run's other features: what counts as the same call when hooks, people and steering are involved. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Hook } from "../../src/services/Hooks.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Steering from "../support/Steering.ts"
import * as Suspended from "../support/Suspended.ts"
import * as TestAgent from "../support/TestAgent.ts"

const { work } = TestAgent
const again = (n: number) => Array.from({ length: n }, () => work(1))
const ok = ScriptedModel.text("ok")

const play = Effect.fnUntraced(function*(
  turns: ReadonlyArray<ScriptedModel.Turn>,
  options: Parameters<typeof Approvals.make>[1] = {}
) {
  const made = yield* Approvals.make(turns, { ...options, agent: { toolkit: TestAgent.kit, ...options.agent } })
  yield* made.agent.run(Suspended.go)
  const log = yield* made.store.log("s")
  assert.deepStrictEqual(RunLog.violations(log), [])
  return { ...made, log, end: RunLog.endOf(log) }
})

const hook = (beforeToolCall: NonNullable<Hook["beforeToolCall"]>): TestAgent.Options["agent"] => ({
  hooks: [{ name: "hook", beforeToolCall }]
})

describe("a call that hooks change", () => {
  it.effect("is the same call if the model's was, even if each ran with other arguments", () =>
    Effect.gen(function*() {
      let n = 0
      const agent = hook(() => Effect.sync(() => ({ _tag: "Change", params: { n: ++n } })))
      const { end, log, ran } = yield* play(again(4), { agent: { ...agent }, tool: () => Effect.succeed("done") })
      assert.deepStrictEqual(ran, [1, 2, 3, 4])
      assert.strictEqual(end, "RunLimited(doomLoop)")
      assert.deepStrictEqual(RunLog.only(log, "RunLimited")[0]!.loop?.calls.map(({ params }) => params), [`{"n":1}`])
    }))

  it.effect("is a different call if the model's was, even if all ran with the same arguments", () =>
    Effect.gen(function*() {
      const agent = hook(() => Effect.succeed({ _tag: "Change", params: { n: 0 } }))
      const { end } = yield* play([work(1), work(2), work(3), work(4), ok], { agent: { ...agent } })
      assert.strictEqual(end, "RunCompleted(stop)")
    }))

  it.effect("is the same call if a hook denies or answers it each time", () =>
    Effect.gen(function*() {
      for (const word of [{ _tag: "Deny", reason: "no" }, { _tag: "Answer", result: "known" }] as const) {
        const { end, ran } = yield* play(again(4), { agent: { ...hook(() => Effect.succeed(word)) } })
        assert.strictEqual(end, "RunLimited(doomLoop)")
        assert.deepStrictEqual(ran, [])
      }
    }))
})

describe("a call that a person edits", () => {
  const asking = { toolkit: Approvals.kit }

  it.effect("is no loop when each edit is different, which the model reads with the result", () =>
    Effect.gen(function*() {
      let n = 1
      const approver = Approvals.answering(() => ({ approved: true, params: { n: ++n } }))
      const tool = () => Effect.succeed("done")
      const { end, script } = yield* play([...again(4), ok], { approver, agent: asking, tool })
      assert.strictEqual(end, "RunCompleted(stop)")
      const read = (yield* script.requests).at(-1)!.messages
        .flatMap((message) => message.role === "tool" ? message.content.map(({ result }) => result) : [])
      const edited = [2, 3, 4, 5].map((n) => ({ note: "Ran with edited arguments.", arguments: { n }, result: "done" }))
      assert.deepStrictEqual<unknown>(read, edited)
    }))

  it.effect("is a loop when each edit is the same", () =>
    Effect.gen(function*() {
      const approver = Approvals.answering(() => ({ approved: true, params: { n: 9 } }))
      const { end, ran } = yield* play(again(4), { approver, agent: asking })
      assert.deepStrictEqual(ran, [9, 9, 9, 9])
      assert.strictEqual(end, "RunLimited(doomLoop)")
    }))

  it.effect("is no loop when each no has a different reason", () =>
    Effect.gen(function*() {
      let n = 0
      const approver = Approvals.answering(() => Approvals.no(`reason ${++n}`))
      const { end } = yield* play([...again(4), ok], { approver, agent: asking })
      assert.strictEqual(end, "RunCompleted(stop)")
    }))

  it.effect("is a loop across suspensions, with a yes from elsewhere each time", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.before(again(4))
      yield* made.agent.run(Suspended.go)
      for (const turn of [1, 2, 3, 4]) {
        yield* made.decide(`${turn}.0`)
        yield* made.resume()
      }
      assert.deepStrictEqual(made.ran, [1, 1, 1, 1])
      assert.strictEqual(RunLog.endOf(yield* made.log), "RunLimited(doomLoop)")
    }))
})

describe("a loop that is steered", () => {
  it.effect("continues with what was said, even if it would have ended the run", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const made = yield* TestAgent.make([...again(3), [work(1), ScriptedModel.gate(gate)], ok])
      const run = yield* made.agent.start(Suspended.go)
      yield* gate.started
      const told = yield* Steering.say(run, "steer", "do something else")
      yield* gate.release
      yield* run.result
      const log = yield* made.store.log("s")
      assert.deepInclude(yield* Fiber.join(told), { _tag: "Delivered", turn: 5 })
      assert.strictEqual(RunLog.endOf(log), "RunCompleted(stop)")
      assert.include(Steering.said((yield* made.script.requests).at(-1)).join(), "do something else")
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("ends the run when only a follow-up waits", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const made = yield* TestAgent.make([...again(3), [work(1), ScriptedModel.gate(gate)], ok])
      const run = yield* made.agent.start(Suspended.go)
      yield* gate.started
      const told = yield* Steering.say(run, "followUp", "and then?")
      yield* gate.release
      yield* run.result
      assert.deepInclude(yield* Fiber.join(told), { _tag: "NotDelivered", reason: "limited" })
      assert.strictEqual(RunLog.endOf(yield* made.store.log("s")), "RunLimited(doomLoop)")
    }))
})

it.effect("the agent's stop condition is asked before a loop ends the run", () =>
  Effect.gen(function*() {
    const stopWhen = ({ turn }: { readonly turn: number }) => turn === 4
    assert.strictEqual((yield* play(again(4), { agent: { stopWhen } })).end, "RunCompleted(stopWhen)")
  }))
