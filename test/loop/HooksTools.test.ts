/** Hooks before a tool call: they change, deny or answer it, and everything after them goes by what they leave. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Digest from "../../src/loop/env/Digest.ts"
import * as Canonical from "../../src/run/Canonical.ts"
import * as Message from "../../src/run/Message.ts"
import type { Hook, ToolDecision } from "../../src/services/Hooks.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const go = { sessionId: "s", runId: "r", input: "go" }
const turns = [TestAgent.work(1), ScriptedModel.text("ok")]

const change = (params: Schema.Json): ToolDecision => ({ _tag: "Change", params })
const deny = (reason: string): ToolDecision => ({ _tag: "Deny", reason })
const answer = (result: Schema.Json): ToolDecision => ({ _tag: "Answer", result })

const deciding = (
  decide: (call: Parameters<NonNullable<Hook["beforeToolCall"]>>[0]) => ToolDecision | undefined
): Hook => ({
  name: "rule",
  beforeToolCall: (call) => Effect.sync(() => decide(call))
})

/** An agent whose tools need no permission unless `asks`, and what its calls came to. */
const play = Effect.fnUntraced(function*(
  hooks: ReadonlyArray<Hook>,
  options: {
    readonly turns?: ReadonlyArray<ScriptedModel.Turn>
    readonly approver?: ReturnType<typeof Approvals.answering>
    readonly asks?: boolean
    readonly maxParallel?: number
  } = {}
) {
  const { approver, asks = false, maxParallel = 1 } = options
  const made = yield* Approvals.make(options.turns ?? turns, {
    ...(approver === undefined ? {} : { approver }),
    agent: { hooks, toolPolicy: { maxParallel }, toolkit: asks ? Approvals.kit : TestAgent.kit }
  })
  const events = yield* Stream.runCollect(made.agent.stream(go))
  const log = yield* made.store.log("s")
  assert.deepStrictEqual(Approvals.violations(log), [])
  assert.deepStrictEqual(RunLog.durable(events), log)
  const last = (yield* made.script.requests).at(-1)?.messages.at(-1)
  const read = last?.role === "tool" ? last.content.map((part) => part.result) : []
  return { ...made, events, log, read, settled: RunLog.only(log, "ToolSettled") }
})

describe("a hook that changes arguments", () => {
  it.effect("makes the tool run with the new ones, and the intent store them", () =>
    Effect.gen(function*() {
      const { log, ran, read } = yield* play([deciding(() => change({ n: 7 }))])
      assert.deepStrictEqual(ran, [7])
      assert.deepStrictEqual(RunLog.only(log, "ToolStarted")[0]!.params, { n: 7 })
      assert.deepStrictEqual(read, ["done 7"])
    }))

  it.effect("leaves the model its own call", () =>
    Effect.gen(function*() {
      const { script } = yield* play([deciding(() => change({ n: 7 }))])
      const asked = (yield* script.requests)[1]!.messages.find((message) => message.role === "assistant")
      assert.deepStrictEqual(Message.toolCalls(asked!.content as never)[0]!.params, { n: 1 })
    }))

  it.effect("has a person asked about the new ones, digest included, and runs them after a yes", () =>
    Effect.gen(function*() {
      const questions: Array<unknown> = []
      const approver = Approvals.answering(({ digest, params }) => (questions.push([params, digest]), Approvals.yes))
      const { log, ran } = yield* play([deciding(() => change({ n: 7 }))], { asks: true, approver })
      const digest = yield* Digest.sha256(Canonical.canonical({ n: 7 }))
      assert.deepStrictEqual(questions, [[{ n: 7 }, digest]])
      assert.deepInclude(RunLog.only(log, "ApprovalRequested")[0], { params: { n: 7 }, digest })
      assert.deepStrictEqual(ran, [7])
    }))

  it.effect("makes the tool's approval rule see the new ones", () =>
    Effect.gen(function*() {
      const asked: Array<number> = []
      const rule = TestAgent.kit.tools.work.setNeedsApproval(({ n }) => (asked.push(n), false))
      const { agent } = yield* TestAgent.make(turns, {
        agent: { hooks: [deciding(() => change({ n: 7 }))], toolkit: Approvals.withWork(rule) }
      })
      yield* agent.run(go)
      assert.deepStrictEqual(asked, [7])
    }))

  it.effect("to ones the tool does not accept gets them refused as the model's would be", () =>
    Effect.gen(function*() {
      const { log, ran } = yield* play([deciding(() => change({ n: "seven" }))])
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 InvalidArguments"])
      assert.deepStrictEqual(ran, [])
    }))

  it.effect("to more than a store holds gets the call denied", () =>
    Effect.gen(function*() {
      const { ran, settled } = yield* play([
        deciding(() => change({ n: 1, more: "x".repeat(SessionStore.maxContentBytes) }))
      ])
      assert.deepStrictEqual(settled[0]!.outcome, {
        _tag: "Denied",
        reason: `the hook "rule" gave arguments that are too large, and without its word the call does not run`
      })
      assert.deepStrictEqual(ran, [])
    }))
})

describe("a hook that denies", () => {
  it.effect("settles the call with its reason, which the model reads, and nobody is asked; siblings run", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const { log, ran, read, settled } = yield* play(
        [deciding(({ params }) => (params as { n: number }).n === 1 ? deny("not on Sundays") : undefined)],
        { asks: true, approver, turns: [[TestAgent.work(1, "a"), TestAgent.look(2, "b")], ScriptedModel.text("ok")] }
      )
      assert.deepStrictEqual(settled[0], {
        ...settled[0]!,
        outcome: { _tag: "Denied", reason: "not on Sundays" },
        hook: "rule"
      })
      assert.deepStrictEqual(read, ["Denied: not on Sundays", "done 2"])
      assert.deepStrictEqual(approver.questions, [])
      assert.deepStrictEqual(ran, [2])
      assert.strictEqual(RunLog.endOf(log), "RunCompleted(stop)")
    }))

  it.effect("keeps later hooks from being asked, and its denial is no error", () =>
    Effect.gen(function*() {
      let asked = 0
      const { agent } = yield* TestAgent.make(turns, {
        agent: {
          hooks: [deciding(() => deny("no")), deciding(() => (asked++, undefined))],
          toolPolicy: { continueOnError: false }
        }
      })
      assert.strictEqual((yield* agent.run({ ...go, limits: { maxErrors: 0 } }))._tag, "Completed")
      assert.strictEqual(asked, 0)
    }))

  it.effect("may give any reason", () =>
    Effect.gen(function*() {
      for (const reason of ["", " ", "\0", "\uD800", "x".repeat(100_000)]) {
        const { settled } = yield* play([deciding(() => deny(reason))])
        assert.isAtMost(JSON.stringify(settled[0]!.outcome).length, 20_000)
      }
    }))
})

describe("a hook that answers", () => {
  it.effect("has its result replace the tool's, which does not run and which nobody is asked about", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const { log, ran, read, settled } = yield* play([deciding(() => answer({ cached: true }))], {
        asks: true,
        approver
      })
      assert.deepStrictEqual(settled[0]!.outcome, { _tag: "Succeeded", result: { cached: true } })
      assert.strictEqual(settled[0]!.hook, "rule")
      assert.deepStrictEqual(read, [{ cached: true }])
      assert.deepStrictEqual(RunLog.only(log, "ToolStarted"), [])
      assert.deepStrictEqual(approver.questions, [])
      assert.deepStrictEqual(ran, [])
      assert.strictEqual(Approvals.fold(log).totals.toolCalls, 0)
    }))

  it.effect("with more than a store holds leaves the outcome NotEncodable", () =>
    Effect.gen(function*() {
      const { settled } = yield* play([deciding(() => answer("x".repeat(SessionStore.maxContentBytes)))])
      assert.strictEqual(settled[0]!.outcome._tag, "NotEncodable")
    }))

  it.effect("has its answer seen by hooks that mask results", () =>
    Effect.gen(function*() {
      const masker: Hook = {
        name: "m",
        afterToolCall: ({ duration, outcome }) =>
          Effect.succeed({
            outcome: { _tag: "Succeeded", result: [duration, JSON.stringify(outcome).includes("4111")] }
          })
      }
      const { read } = yield* play([masker, deciding(() => answer("4111"))])
      assert.deepStrictEqual(read, [[0, true]])
    }))
})

describe("hooks see calls as they come", () => {
  it.effect("of unknown tools too, which stay unknown", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const { log } = yield* play([deciding(({ tool }) => (seen.push(tool), change({ n: 2 })))], {
        turns: [ScriptedModel.call("fly", {}), ScriptedModel.text("ok")]
      })
      assert.deepStrictEqual(seen, ["fly"])
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 UnknownTool"])
    }))

  it.effect("with malformed arguments, which they may repair", () =>
    Effect.gen(function*() {
      const { ran } = yield* play([deciding(({ params }) => params === "{\"n\": 3" ? change({ n: 3 }) : undefined)], {
        turns: [ScriptedModel.call("work", "{\"n\": 3"), ScriptedModel.text("ok")]
      })
      assert.deepStrictEqual(ran, [3])
    }))

  it.effect("but not those that a limit keeps from running, or that were cut off", () =>
    Effect.gen(function*() {
      let asked = 0
      const hook = deciding(() => (asked++, undefined))
      const one = yield* TestAgent.make([TestAgent.work(1)], { agent: { hooks: [hook] } })
      yield* one.agent.run({ ...go, limits: { maxTurns: 1 } })
      const two = yield* TestAgent.make([[TestAgent.work(1), ScriptedModel.finish("content-filter")]], {
        agent: { hooks: [hook] }
      })
      yield* two.agent.run(go)
      assert.strictEqual(asked, 0)
    }))
})

it.effect("an outcome is in the store before a hook sees the next call", () =>
  Effect.gen(function*() {
    const store = yield* TestStore.make()
    const stored: Array<ReadonlyArray<string>> = []
    const hook: Hook = {
      name: "looking",
      beforeToolCall: () => Effect.map(store.log("s"), (log) => void stored.push(RunLog.outcomes(log)))
    }
    const { agent } = yield* TestAgent.make([[TestAgent.work(1), TestAgent.work(2)], ScriptedModel.text("ok")], {
      store,
      agent: { hooks: [hook] }
    })
    yield* agent.run(go)
    assert.deepStrictEqual(stored, [[], ["1.0 Succeeded"]])
  }))

describe("in a parallel round", () => {
  const calls = [1, 2, 3].map((n) => TestAgent.work(n, `${n}`))

  it.effect("a call whose hook takes its time holds up no sibling", () =>
    Effect.gen(function*() {
      const others = yield* Deferred.make<void>()
      let done = 0
      const { agent, store } = yield* TestAgent.make([calls, ScriptedModel.text("ok")], {
        agent: {
          hooks: [{
            name: "h",
            beforeToolCall: ({ callId }) => callId === "1.0" ? Deferred.await(others) : Effect.void
          }],
          toolPolicy: { maxParallel: 3 }
        },
        tool: ({ n }) =>
          Effect.suspend(() =>
            ++done === 2 ? Effect.as(Deferred.succeed(others, undefined), `${n}`) : Effect.succeed(`${n}`)
          )
      })
      yield* agent.run(go)
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.only(log, "ToolStarted").map((event) => event.callId), ["1.1", "1.2", "1.0"])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("each call gets its own decision: one changed, one denied, one answered", () =>
    Effect.gen(function*() {
      const words = [change({ n: 9 }), deny("no"), answer("mine")]
      const { ran, read } = yield* play([deciding(({ callId }) => words[Number(callId.slice(2))])], {
        turns: [calls, ScriptedModel.text("ok")],
        maxParallel: 3
      })
      assert.deepStrictEqual(ran, [9])
      assert.deepStrictEqual(read, ["done 9", "Denied: no", "mine"])
    }))

  it.effect("no more than allowed run at once, and each intent is stored before its handler runs", () =>
    Effect.gen(function*() {
      let running = 0
      let most = 0
      const stored: Array<boolean> = []
      const store = yield* TestStore.make()
      const { agent } = yield* TestAgent.make([calls, ScriptedModel.text("ok")], {
        store,
        agent: { hooks: [{ name: "h", beforeToolCall: () => Effect.yieldNow }], toolPolicy: { maxParallel: 2 } },
        tool: ({ n }) =>
          Effect.gen(function*() {
            most = Math.max(most, ++running)
            const intents = RunLog.only(yield* store.log("s"), "ToolStarted")
            stored.push(intents.some((event) => event.callId === `1.${n - 1}`))
            yield* Effect.yieldNow
            running--
            return `${n}`
          })
      })
      yield* agent.run(go)
      assert.deepStrictEqual(stored, [true, true, true])
      assert.strictEqual(most, 2)
    }))
})
