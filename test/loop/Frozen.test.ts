/** What is handed to foreign code is frozen, or a copy: nobody can write into the log, or into what runs. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Json } from "effect/Schema"
import * as Stream from "effect/Stream"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as Message from "../../src/run/Message.ts"
import * as Usage from "../../src/run/Usage.ts"
import * as ContextManager from "../../src/services/ContextManager.ts"
import type { Hook } from "../../src/services/Hooks.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Suspended from "../support/Suspended.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

/** Whether something is frozen with all that is in it. */
const isFrozen = (value: unknown): boolean =>
  typeof value !== "object" || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozen))

/** Writes where untyped code might. */
const write = (params: Json, n: number) => Object.assign(params as object, { n })

const earlier = { role: "assistant", content: [{ type: "text", text: "before" }] } as const

const asking = { toolkit: Approvals.kit }

describe("a write in place", () => {
  it.effect("by a hook after a yes does not change what runs, even with the log read afresh: the call is denied", () =>
    Effect.gen(function*() {
      const kept = yield* SessionStoreMemory.make
      // as it would be read in another process
      const store = TestStore.over({
        ...kept,
        read: (...args) => Stream.map(kept.read(...args), (event) => structuredClone(event))
      })
      let asked = 0
      const hook: Hook = {
        name: "rate",
        beforeToolCall: ({ params }) => Effect.sync(() => void (asked++ > 0 && write(params, 100)))
      }
      const made = yield* Suspended.make(TestAgent.work(1), { agent: { ...asking, hooks: [hook] }, store })
      yield* made.decide("1.0", { params: { n: 3 } })
      yield* made.resume()
      assert.deepStrictEqual(made.ran, [])
      assert.include((yield* made.read)[0], "the hook \"rate\" failed")
    }))

  it.effect("by an approver does not change its question, nor by a reader of events the call", () =>
    Effect.gen(function*() {
      const broken = Approvals.answering(({ params }) => {
        write(params, 999)
        return Approvals.yes
      })
      const made = yield* Suspended.make(TestAgent.work(1), { agent: asking, approver: broken })
      assert.deepStrictEqual([made.ran, RunLog.endOf(yield* made.log)], [[], "RunSuspended(approval)"])
      const read = yield* Suspended.before([TestAgent.work(1), ScriptedModel.text("ok")], {
        agent: asking,
        approver: Approvals.answering(() => Approvals.yes)
      })
      const refusals: Array<unknown> = []
      yield* Stream.runForEach(read.agent.stream(Suspended.go), (event) =>
        Effect.sync(() => {
          if (!("params" in event)) return
          try {
            write(event.params, 999)
          } catch (error) {
            refusals.push(error)
          }
        }))
      assert.deepStrictEqual(read.ran, [1])
      assert.isTrue(refusals.length > 0 && refusals.every((error) => error instanceof TypeError))
    }))

  it.effect("by a reader of an event changes neither what was asked nor what runs", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.before([TestAgent.work(1), ScriptedModel.text("ok")], { agent: asking })
      const refusals: Array<unknown> = []
      yield* Stream.runForEach(made.agent.stream(Suspended.go), (event) =>
        Effect.sync(() => {
          try {
            if (event._tag === "ApprovalRequested") Object.assign(event, { params: { n: 999 } })
          } catch (error) {
            refusals.push(error)
          }
        }))
      yield* made.decide("1.0")
      yield* made.resume()
      assert.deepStrictEqual(made.ran, [1])
      assert.instanceOf(refusals[0], TypeError)
    }))

  it.effect("by a model to its own message does not change the log", () =>
    Effect.gen(function*() {
      const params = { n: 1, of: { amount: 1 } }
      const made = yield* TestAgent.make([ScriptedModel.call("work", params), ScriptedModel.text("ok")])
      yield* made.agent.run({ sessionId: "s", input: "go" })
      params.of.amount = 5
      const [said] = RunLog.only(yield* made.store.log("s"), "AssistantMessage")
      assert.deepInclude(said?.message.content[0], { params: { n: 1, of: { amount: 1 } } })
    }))

  it.effect("by an approver does not change its question, whatever a model froze of it, nor what question it answers", () =>
    Effect.gen(function*() {
      const calls = [1, 2].map((n) => ScriptedModel.call("work", Object.freeze({ n, of: { amount: n } }), `${n}`))
      const made = yield* Suspended.before([calls, ScriptedModel.text("ok")], {
        agent: asking,
        approver: Approvals.answering((question) => {
          try {
            write((question.params as { readonly of: Json }).of, 999)
          } catch {
            // it continues, as sloppy code does
          }
          try {
            Object.assign(question, { approvalId: "r/1.1" })
          } catch {
            return Approvals.yes
          }
          return Approvals.yes
        })
      })
      yield* made.agent.run(Suspended.go)
      const log = yield* made.log
      assert.deepStrictEqual(RunLog.only(log, "ApprovalResolved").map(({ approvalId }) => approvalId), [
        "r/1.0",
        "r/1.1"
      ])
      assert.deepStrictEqual(RunLog.only(log, "ToolStarted").map(({ params }) => params), [
        { n: 1, of: { amount: 1 } },
        { n: 2, of: { amount: 2 } }
      ])
    }))

  it.effect("by a strategy to its replacement does not change the log, whatever it froze of that", () =>
    Effect.gen(function*() {
      const said = Message.user("go")
      const context = Layer.succeed(ContextManager.ContextManager, {
        plan: (view) => view.force === "manual" ? { _tag: "Compact", request: view } : { _tag: "Send" },
        compact: () =>
          Effect.succeed({ strategy: "all", upTo: 99, replacement: Object.freeze([said]), usage: Usage.zero })
      })
      const { agent, store } = yield* TestAgent.make([ScriptedModel.text("ok")], { context })
      yield* agent.run({ sessionId: "s", input: "go" })
      yield* agent.compact("s")
      Object.assign(said.content[0]!, { text: "else" })
      const [compacted] = RunLog.only(yield* store.log("s"), "ContextCompacted")
      assert.deepStrictEqual(compacted?.replacement, [Message.user("go")])
    }))

  it.effect("by an observer hides nothing from the next guard", () =>
    Effect.gen(function*() {
      const shown: Array<unknown> = []
      const observer: Hook = {
        name: "observer",
        kind: "observer",
        beforeModelCall: ({ tools }) => Effect.sync(() => void (tools as Array<string>).pop()),
        afterModelCall: (answer) => Effect.sync(() => void Object.assign(answer, { message: { content: [] } })),
        afterToolCall: ({ outcome }) => Effect.sync(() => void Object.assign(outcome, { result: "other" }))
      }
      const guard: Hook = {
        name: "guard",
        beforeModelCall: ({ tools }) => Effect.sync(() => ({ tools: tools.filter((name) => name !== "look") })),
        afterModelCall: ({ message }) => Effect.sync(() => void shown.push(message.content.length))
      }
      const { agent, script, store } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("so")], {
        agent: { hooks: [observer, guard] }
      })
      yield* agent.run(Suspended.go)
      assert.deepInclude(RunLog.only(yield* store.log("s"), "ToolSettled")[0]?.outcome, { result: "done 1" })
      const [request] = yield* script.requests
      assert.deepStrictEqual([request!.tools.map(({ name }) => name), shown], [["work", "again"], [1, 1]])
    }))

  it.effect("by prepareTurn does not change what the model is sent", () =>
    Effect.gen(function*() {
      const { agent, script } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok")], {
        agent: {
          prepareTurn: ({ last }) => {
            if (last?.role !== "tool") return undefined
            assert.throws(() => Object.assign(last.content[0]!, { result: "other" }), TypeError)
            return undefined
          }
        }
      })
      yield* agent.run(Suspended.go)
      assert.include(JSON.stringify((yield* script.requests)[1]!.messages), "done 1")
    }))

  it.effect("by a handler changes its own arguments, and nobody else's", () =>
    Effect.gen(function*() {
      const { agent, script, store } = yield* TestAgent.make([
        TestAgent.work(1),
        ScriptedModel.text("ok")
      ], {
        tool: (params) =>
          Effect.map(ToolCall, ({ data }) => {
            write(params as never, 5)
            try {
              write(data ?? null, 7)
            } catch {
              return `${params.n}, refused`
            }
            return `${params.n}`
          })
      })
      const events = yield* Stream.runCollect(agent.stream({ sessionId: "s", input: "go", data: { n: 1 } }))
      const log = yield* store.log("s")
      assert.deepStrictEqual<unknown>(RunLog.durable(events), log)
      assert.deepStrictEqual(RunLog.only(log, "ToolStarted").map(({ params }) => params), [{ n: 1 }])
      assert.deepStrictEqual(RunLog.only(log, "ToolSettled").map(({ outcome }) => outcome), [
        { _tag: "Succeeded", result: "5, refused" }
      ])
      const [, second] = yield* script.requests
      assert.include(JSON.stringify(second!.messages), "{\"n\":1}")
    }))
})

it.effect("what events say, and what hooks are given, is deeply frozen, even from an earlier drive", () =>
  Effect.gen(function*() {
    const seen: Array<unknown> = []
    const see = (...values: ReadonlyArray<unknown>) => Effect.sync(() => void seen.push(...values))
    const hook: Hook = {
      name: "all",
      beforeModelCall: ({ data, messages }) => see(data, messages),
      afterModelCall: ({ message }) => see(message),
      beforeToolCall: ({ data, params }) => see(data, params),
      afterToolCall: ({ outcome, params }) => see(outcome, params)
    }
    const made = yield* Suspended.before([[ScriptedModel.text("so"), TestAgent.work(1)], ScriptedModel.text("ok")], {
      agent: { ...asking, hooks: [hook] }
    })
    const data = { of: ["ann"] }
    const first = yield* Stream.runCollect(made.agent.stream({ ...Suspended.go, history: [earlier], data }))
    yield* made.decide("1.0", { params: { n: 3 } })
    const second = yield* made.resume()
    assert.deepStrictEqual(made.ran, [3])
    for (const event of [...RunLog.durable(first), ...RunLog.durable(second)]) {
      assert.isTrue(isFrozen(event), event._tag)
    }
    assert.isAtLeast(seen.length, 6)
    for (const value of seen) assert.isTrue(isFrozen(value), JSON.stringify(value))
  }))
