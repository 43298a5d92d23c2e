/** Hooks beside a run's other features: steering, prepared turns, and limits on how often tools may be called. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type * as Message from "../../src/run/Message.ts"
import * as ContextManager from "../../src/services/ContextManager.ts"
import type { Hook } from "../../src/services/Hooks.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Overflows from "../support/Overflows.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Steering from "../support/Steering.ts"
import * as TestAgent from "../support/TestAgent.ts"

const go = { sessionId: "s", runId: "r", input: "go" }
const ok = ScriptedModel.text("ok")

/** Waits before the n-th turn's model call, or its tool calls, until the test lets it continue. */
const waiting = (
  point: "beforeModelCall" | "beforeToolCall",
  at: number,
  then: Effect.Effect<void, string> = Effect.void
) => {
  const reached = Deferred.makeUnsafe<void>()
  const released = Deferred.makeUnsafe<void>()
  const hook: Hook = {
    name: "slow",
    [point]: ({ turn }: { readonly turn: number }) =>
      turn === at
        ? Deferred.succeed(reached, undefined).pipe(Effect.andThen(Deferred.await(released)), Effect.andThen(then))
        : Effect.void
  }
  return { hook, reached: Deferred.await(reached), release: Deferred.succeed(released, undefined) }
}

/** Says something to a run that waits at its hook, and lets the run continue. */
const steered = Effect.fnUntraced(function*(
  slow: ReturnType<typeof waiting>,
  turns: ReadonlyArray<ScriptedModel.Turn>
) {
  const made = yield* TestAgent.make(turns, { agent: { hooks: [slow.hook] } })
  const run = yield* made.agent.start(go)
  yield* slow.reached
  const told = yield* Steering.say(run, "steer", "hurry")
  yield* slow.release
  yield* Effect.exit(run.result)
  const log = yield* made.store.log("s")
  assert.deepStrictEqual(RunLog.violations(log), [])
  return { ...made, log, told: yield* Fiber.join(told), requests: yield* made.script.requests }
})

describe("what is said to a run", () => {
  it.effect("while a hook looks at a model call goes with the next call, so nothing is sent that no hook saw", () =>
    Effect.gen(function*() {
      const { log, requests, told } = yield* steered(waiting("beforeModelCall", 1), [ok, ok])
      assert.deepInclude(told, { _tag: "Delivered", turn: 2 })
      assert.deepStrictEqual(requests.map(Steering.said), [["go"], ["go", "hurry"]])
      assert.deepStrictEqual(Steering.decisions(log), ["Continue steer", "Complete stop"])
    }))

  it.effect("while a hook looks at a tool call goes after the round", () =>
    Effect.gen(function*() {
      const { log, told } = yield* steered(waiting("beforeToolCall", 1), [TestAgent.work(1), ok])
      assert.deepInclude(told, { _tag: "Delivered", turn: 2 })
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded"])
    }))

  it.effect("while a guard looks that then blocks the run is not delivered, because the run failed", () =>
    Effect.gen(function*() {
      const { log, told } = yield* steered(waiting("beforeModelCall", 1, Effect.fail("no")), [])
      assert.strictEqual(RunLog.endOf(log), "RunFailed(HookBlocked)")
      assert.deepInclude(told, { _tag: "NotDelivered", reason: "failed" })
      assert.deepStrictEqual(Steering.received(log), [])
    }))

  it.effect("before a turn that a guard blocks is not delivered, and not sent by the next drive", () =>
    Effect.gen(function*() {
      const slow = waiting("beforeModelCall", 2, Effect.fail("no"))
      const made = yield* Steering.held([ScriptedModel.text("a")], [ok], { agent: { hooks: [slow.hook] } })
      const told = yield* Steering.say(made.run, "steer", "hurry")
      yield* made.gate.release
      yield* slow.release
      yield* Effect.exit(made.run.result)
      assert.deepInclude(yield* Fiber.join(told), { _tag: "NotDelivered", reason: "failed" })
      const later = yield* TestAgent.make([ok], { store: made.store })
      yield* Stream.runDrain(later.agent.resume({ sessionId: "s" }))
      assert.notInclude(Steering.said((yield* later.script.requests)[0]).join(), "hurry")
      const log = yield* made.store.log("s")
      assert.deepStrictEqual(Steering.received(log), [])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("before a turn that is aborted while a hook looks at it is not delivered", () =>
    Effect.gen(function*() {
      const slow = waiting("beforeModelCall", 2)
      const made = yield* Steering.held([ScriptedModel.text("a")], [], { agent: { hooks: [slow.hook] } })
      const told = yield* Steering.say(made.run, "steer", "hurry")
      yield* made.gate.release
      yield* slow.reached
      yield* made.run.abort
      assert.deepInclude(yield* Fiber.join(told), { _tag: "NotDelivered", reason: "aborted" })
      const log = yield* made.store.log("s")
      assert.deepStrictEqual(Steering.received(log), [])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("is shown to the hooks of its turn, and is received in the write that begins that", () =>
    Effect.gen(function*() {
      const shown: Array<ReadonlyArray<Message.Message>> = []
      const hook: Hook = {
        name: "sees",
        beforeModelCall: ({ messages }) => Effect.sync(() => void shown.push(messages))
      }
      const made = yield* Steering.held([ScriptedModel.text("a")], [ok], { agent: { hooks: [hook] } })
      yield* Steering.say(made.run, "steer", "hurry")
      yield* Steering.say(made.run, "steer", "please")
      yield* made.gate.release
      yield* made.run.result
      assert.deepStrictEqual(shown, (yield* made.script.requests).map(({ messages }) => messages))
      assert.deepStrictEqual(Steering.said((yield* made.script.requests)[1]), ["go", "hurry+please"])
      const write = made.store.appends.find((events) => events.some(({ _tag }) => _tag === "InputReceived"))
      assert.deepStrictEqual(RunLog.tags(write ?? []), ["InputReceived", "InputReceived", "TurnStarted"])
    }))

  it.effect("and waits while the process dies at a hook is sent once by the next drive", () =>
    Effect.gen(function*() {
      const slow = waiting("beforeModelCall", 2)
      const made = yield* Steering.held([ScriptedModel.text("a")], [], { agent: { hooks: [slow.hook] } })
      yield* Steering.say(made.run, "steer", "hurry")
      yield* made.gate.release
      yield* slow.reached
      const store = yield* Steering.left(made.store.appends)
      const later = yield* TestAgent.make([ok], { store })
      yield* Stream.runDrain(later.agent.resume({ sessionId: "s" }))
      assert.deepStrictEqual((yield* later.script.requests).map(Steering.said), [["go", "hurry"]])
      const log = yield* store.log("s")
      assert.deepStrictEqual(Steering.received(log), ["steer: hurry"])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("counts once in the size of what hooks made of it", () =>
    Effect.gen(function*() {
      const sizesWith = Effect.fnUntraced(function*(hooks: ReadonlyArray<Hook>) {
        const sizes: Array<number> = []
        const context = Layer.succeed(ContextManager.ContextManager, {
          plan: ({ size }) => {
            sizes.push(size.tokens)
            return ContextManager.send
          },
          compact: () => Effect.die("nothing is to be compacted")
        })
        const made = yield* Steering.held([ScriptedModel.text("a")], [ok], { context, agent: { hooks } })
        yield* Steering.say(made.run, "steer", "hurry ".repeat(100))
        yield* made.gate.release
        yield* made.run.result
        return sizes
      })
      const sizes = yield* sizesWith([{ name: "looks", beforeModelCall: () => Effect.void }])
      assert.lengthOf(sizes, 2)
      assert.deepStrictEqual(sizes, yield* sizesWith([]))
    }))
})

it.effect("a steer that waits counts in the size of what was too much, whether hooks saw that or not", () =>
  Effect.gen(function*() {
    const sizes: Array<number> = []
    const context = Layer.succeed(ContextManager.ContextManager, {
      plan: ({ force, size }) => {
        if (force === "overflow") sizes.push(size.tokens)
        return ContextManager.send
      },
      compact: () => Effect.die("nothing is to be compacted")
    })
    const looks: Hook = { name: "looks", beforeModelCall: () => Effect.void }
    for (const hooks of [[], [looks]]) {
      const gate = yield* ScriptedModel.makeGate
      const { agent } = yield* TestAgent.make([[ScriptedModel.gate(gate), Overflows.overflow]], {
        context,
        agent: { hooks }
      })
      const run = yield* agent.start(go)
      yield* gate.started
      yield* Steering.say(run, "steer", "hurry ".repeat(100))
      yield* gate.release
      yield* Effect.exit(run.result)
    }
    assert.lengthOf(sizes, 2)
    assert.strictEqual(sizes[1], sizes[0])
  }))

describe("a turn that is prepared and then cut by a hook", () => {
  const narrowed = (quota?: number) =>
    Effect.gen(function*() {
      const cut: Hook = {
        name: "cut",
        beforeModelCall: ({ tools, turn }) =>
          Effect.succeed(turn === 1 ? { tools: tools.filter((name) => name !== "work") } : {})
      }
      const made = yield* TestAgent.make([[TestAgent.work(1, "a"), TestAgent.look(2, "b")], TestAgent.work(3), ok], {
        agent: {
          hooks: [cut],
          prepareTurn: ({ turn }) => turn === 1 ? { tools: ["work", "look"], toolChoice: { tool: "work" } } : undefined,
          ...(quota === undefined ? {} : { toolPolicy: { maxCallsPerRun: quota } })
        }
      })
      yield* made.agent.run(go)
      const log = yield* made.store.log("s")
      assert.deepStrictEqual(RunLog.violations(log), [])
      return { log, requests: yield* made.script.requests }
    })

  it.effect("offers the tools that both leave, requires no tool that is left out, and is in the log", () =>
    Effect.gen(function*() {
      const { log, requests } = yield* narrowed()
      assert.deepStrictEqual(requests[0]!.tools.map(({ name }) => name), ["look"])
      assert.strictEqual(requests[0]!.toolChoice, "auto")
      assert.deepStrictEqual(RunLog.only(log, "TurnStarted").map(({ tools }) => tools), [
        ["look"],
        undefined,
        undefined
      ])
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 UnknownTool", "1.1 Succeeded", "2.0 Succeeded"])
    }))

  it.effect("has a digest that covers whether a tool must be called", () =>
    Effect.gen(function*() {
      const rude: Hook = {
        name: "rude",
        beforeModelCall: ({ messages }) =>
          Effect.succeed({ messages: messages.map((_) => _.role === "system" ? { ..._, content: "Be rude." } : _) })
      }
      const digestOf = Effect.fnUntraced(function*(toolChoice: "auto" | "required") {
        const made = yield* TestAgent.make([ok], { agent: { hooks: [rude], prepareTurn: () => ({ toolChoice }) } })
        yield* made.agent.run(go)
        return RunLog.only(yield* made.store.log("s"), "TurnStarted")[0]!.inputDigest
      })
      assert.notStrictEqual(yield* digestOf("required"), yield* digestOf("auto"))
    }))

  it.effect("does not count calls of tools that it does not offer against how often tools may be called", () =>
    Effect.gen(function*() {
      const { log } = yield* narrowed(2)
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 UnknownTool", "1.1 Succeeded", "2.0 Succeeded"])
      const once = yield* narrowed(1)
      assert.deepStrictEqual(RunLog.outcomes(once.log), ["1.0 UnknownTool", "1.1 Succeeded", "2.0 NotExecuted(limit)"])
    }))
})
