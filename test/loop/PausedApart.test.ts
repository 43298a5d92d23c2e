/** What a call claims to wait for may be anything: no run, a run that waits for itself, one whose log is gone or unreadable. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as ToolExecutorToolkit from "../../src/layers/ToolExecutorToolkit.ts"
import type * as Pointer from "../../src/run/Pointer.ts"
import * as RunError from "../../src/run/RunError.ts"
import type * as RunResult from "../../src/run/RunResult.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import { ToolExecutor } from "../../src/services/ToolExecutor.ts"
import * as SessionLines from "../../src/SessionLines.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Family from "../support/Family.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"
import * as Watch from "../support/Watch.ts"

/** A run that buys something, and the root, which asks for one. */
const buys: Family.Plan = { turns: [[{ by: "buy" }]] }
const one: Family.Plan = { turns: [[buys]] }
const child = "root//1.0"
const root: Pointer.Run = { sessionId: "root", runId: "root" }

const asked = (result: RunResult.RunResult) =>
  result._tag === "Suspended" ? result.approvals.map(({ id }) => id) : assert.fail(`it is ${result._tag}`)

const hello = (agent: Family.Client) => Effect.map(agent.run({ sessionId: "root", input: "{}" }), ({ _tag }) => _tag)

describe("a call that waits for what is not a run", () => {
  const notRuns: ReadonlyArray<readonly [string, unknown]> = [
    ["nothing", undefined],
    ["a text", "root"],
    ["a list of other things", [1, null, "x", { sessionId: "a" }, { sessionId: 1, runId: {} }]],
    ["ids that no session has", [{ sessionId: "", runId: "a\u0000" }, { sessionId: "x".repeat(201), runId: "x" }]]
  ]

  for (const [name, waitsFor] of notRuns) {
    it.effect(`by its executor's word, leaves a log that can be read: ${name}`, () =>
      Effect.gen(function*() {
        const store = yield* TestStore.make()
        const member = Family.agentOf()
        const execute = () => Effect.succeed({ waitsFor: waitsFor as ReadonlyArray<Pointer.Run> })
        const executor = Layer.succeed(ToolExecutor, { ...ToolExecutorToolkit.make, execute })
        const context = yield* Layer.build(Layer.provideMerge(member.layer, Layer.merge(store.layer, executor)))
        const agent = yield* Effect.provideContext(member.agent, context)
        assert.deepStrictEqual(asked(yield* agent.run({ runId: "root", input: JSON.stringify(one) })), [])
        const [paused] = RunLog.only(yield* store.log("root"), "ToolPaused")
        assert.deepStrictEqual(paused?.waitsFor, [])
        assert.strictEqual(yield* hello(agent), "Completed")
      }).pipe(Effect.scoped))
  }

  it.effect("by its handler's word, fails", () =>
    Effect.gen(function*() {
      const made = yield* Family.make({ handler: () => ToolCall.pause({ sessionId: "root" } as Pointer.Run) })
      assert.strictEqual((yield* made.root(one))._tag, "Completed")
      const [settled] = RunLog.only((yield* made.logs).get("root")!, "ToolSettled")
      assert.strictEqual(settled?.outcome._tag, "Failed")
    }))

  it.effect("and for real runs too, waits for each of those once", () =>
    Effect.gen(function*() {
      const made = yield* Family.make({ handler: () => ToolCall.pause(root, { ...root }, "root" as never, root) })
      yield* made.root(one)
      const [paused] = RunLog.only((yield* made.logs).get("root")!, "ToolPaused")
      assert.deepStrictEqual(paused?.waitsFor, [root])
    }))
})

it.effect("a call that waits for a run does not go on when its tool is no longer offered", () =>
  Effect.gen(function*() {
    let begun = 0
    const tool = () => Effect.suspend(() => (begun++, ToolCall.pause({ sessionId: "x", runId: "x" })))
    const first = yield* TestAgent.make([TestAgent.work(1)], { tool })
    assert.strictEqual((yield* first.agent.run({ sessionId: "s", input: "go" }))._tag, "Suspended")
    const { agent, store } = yield* TestAgent.make([ScriptedModel.text("ok")], {
      store: first.store,
      tool,
      agent: { toolPolicy: { allowList: ["look"] } }
    })
    assert.strictEqual((yield* agent.resumeRun({ sessionId: "s" }))._tag, "Completed")
    assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), ["1.0 Interrupted"])
    assert.strictEqual(begun, 1)
  }))

it.effect("a call that paused took no more time than its pause says, if it is cut off", () =>
  Effect.gen(function*() {
    const { agent, store } = yield* TestAgent.make([[TestAgent.work(1, "a"), TestAgent.work(2, "b")]], {
      tool: ({ n }) => n === 1 ? ToolCall.pause({ sessionId: "x", runId: "x" }) : Effect.never,
      agent: { toolPolicy: { maxParallel: 2 } }
    })
    const run = yield* agent.start({ sessionId: "s", input: "go" })
    const watch = yield* Watch.make(run.events)
    yield* watch.until("ToolPaused")
    yield* TestClock.adjust("1 minute")
    yield* run.abort
    const settled = RunLog.only(yield* store.log("s"), "ToolSettled").map(({ callId, duration }) => [callId, duration])
    assert.deepStrictEqual(settled, [["1.0", 0], ["1.1", 60_000]])
  }))

/** Its handler has the run `x` work for the calls of the root, which may have begun without them. */
const sharing: Family.Handler = (agent, plan, call) =>
  call.sessionId !== "root"
    ? Family.run(agent, plan, call)
    : Effect.flatMap(
      agent.run({ runId: "x", input: JSON.stringify(plan) }),
      (result) => result._tag === "Suspended" ? ToolCall.pause(result) : Effect.succeed(result._tag)
    )

describe("a call that waits for a run it did not begin", () => {
  it.effect("resumes that run once it is answered", () =>
    Effect.gen(function*() {
      const { agent, root } = yield* Family.make({ handler: sharing })
      yield* agent.run({ runId: "x", input: JSON.stringify(buys) })
      const [question] = asked(yield* root(one))
      yield* agent.decide({ sessionId: "x", approvalId: question!, approved: true })
      assert.strictEqual((yield* agent.resumeRun({ sessionId: "root" }))._tag, "Completed")
    }))

  it.effect("leaves that run as it is before having paused for it", () =>
    Effect.gen(function*() {
      const { agent, root, store } = yield* Family.make({ handler: sharing })
      yield* agent.run({ runId: "x", input: JSON.stringify(buys) })
      yield* root(one)
      assert.deepStrictEqual(RunLog.only(yield* store.log("x"), "RunResumed"), [])
    }))
})

describe("a call that was allowed, and now waits", () => {
  it.effect("makes a later drive's cause only what was decided since", () =>
    Effect.gen(function*() {
      const { agent, root, store } = yield* Family.make()
      const [question] = asked(yield* root({ turns: [[{ ...buys, by: "buy" }]] }))
      yield* agent.decide({ sessionId: "root", approvalId: question!, approved: true })
      yield* agent.resumeRun({ sessionId: "root" })
      yield* agent.resumeRun({ sessionId: "root" })
      const causes = RunLog.only(yield* store.log("root"), "RunResumed").map(({ cause }) => cause)
      assert.deepStrictEqual(causes, ["approval", "resume"])
    }))
})

describe("a call that waits for a run that another run has followed", () => {
  it.effect("fails, because nobody can resume that run", () =>
    Effect.gen(function*() {
      const { agent, root, store } = yield* Family.make()
      yield* root(one)
      yield* agent.run({ sessionId: child, input: "{}" })
      assert.strictEqual((yield* agent.resumeRun({ sessionId: "root" }))._tag, "Completed")
      const [settled] = RunLog.only(yield* store.log("root"), "ToolSettled")
      assert.strictEqual(settled?.outcome._tag, "Failed")
    }))
})

describe("two calls that wait for one run", () => {
  it.effect("list each of its questions once, and not those of a run that follows it", () =>
    Effect.gen(function*() {
      const made = yield* Family.make({
        handler: (agent, plan, call) =>
          call.sessionId === "root"
            ? Effect.flatMap(
              agent.run({ runId: "shared", input: JSON.stringify(buys) }),
              (result) => result._tag === "Suspended" ? ToolCall.pause(result) : Effect.succeed("done")
            )
            : Family.run(agent, plan, call)
      })
      assert.deepStrictEqual(asked(yield* made.root({ turns: [[{}, {}]] })), ["shared/1.0"])
      yield* made.agent.run({ sessionId: "shared", runId: "next", input: JSON.stringify(buys) })
      assert.deepStrictEqual(yield* made.agent.approvals("root"), [])
      assert.strictEqual((yield* made.agent.approvals("shared")).length, 1)
    }))

  it.effect("count what it spent once, for the call that began it", () =>
    Effect.gen(function*() {
      const made = yield* Family.make({ handler: sharing })
      yield* made.root({ turns: [[buys, buys]] })
      const { agent, store } = yield* Family.make({ store: yield* Family.leftBy(made.store) })
      yield* agent.run({ sessionId: "root", input: "{}" })
      const settled = RunLog.only(yield* store.log("root"), "ToolSettled")
      assert.deepStrictEqual(settled.map(({ usage }) => usage), [{ inputTokens: 10, outputTokens: 5 }, undefined])
    }))
})

describe("a call whose process dies before it has paused", () => {
  /** What is left when the run below is suspended, and nothing after that is stored of the run around it. */
  const left = Effect.gen(function*() {
    const base = yield* TestStore.make()
    base.onAppend = ({ events, store }) =>
      events.some(({ _tag, runId }) => runId === "root" && (_tag === "ToolPaused" || _tag === "RunFailed"))
        ? Effect.fail(TestStore.unavailable)
        : store
    const before = yield* Family.make({ store: base })
    yield* Effect.exit(before.root(one))
    const made = yield* Family.make({ store: yield* Family.leftBy(base) })
    assert.deepStrictEqual(RunLog.only(yield* made.store.log("root"), "ToolPaused"), [])
    return made
  })

  it.effect("continues with the run below at once, if that was answered", () =>
    Effect.gen(function*() {
      const { agent } = yield* left
      const [question] = yield* agent.approvals(child)
      yield* agent.decide({ sessionId: child, approvalId: question!.id, approved: true })
      assert.strictEqual((yield* agent.resumeRun({ sessionId: "root" }))._tag, "Completed")
    }))

  it.effect("pauses then, if it was not", () =>
    Effect.gen(function*() {
      const { agent } = yield* left
      assert.deepStrictEqual(asked(yield* agent.resumeRun({ sessionId: "root" })), [`${child}/1.0`])
    }))
})

describe("a run below that died while continuing", () => {
  it.effect("continues where it was, even if its end was written meanwhile", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const before = yield* Family.make({
        answer: (request) =>
          request.metadata.sessionId === child && request.metadata.turn === 2
            ? [ScriptedModel.gate(gate)]
            : Family.answer(request)
      })
      yield* before.root(one)
      const [question] = yield* before.agent.approvals("root")
      yield* before.agent.decide({ sessionId: child, approvalId: question!.id, approved: true })
      yield* before.agent.resumeStart({ sessionId: "root" })
      yield* gate.started
      const { agent, store } = yield* Family.make({ store: yield* Family.leftBy(before.store) })
      yield* Effect.exit(agent.compact(child))
      const ends = RunLog.only(yield* store.log(child), "RunAborted").map(({ reason }) => reason)
      assert.deepStrictEqual(ends, ["crashed"])
      assert.strictEqual((yield* agent.resumeRun({ sessionId: "root" }))._tag, "Completed")
      assert.strictEqual(RunLog.only(yield* store.log(child), "RunCompleted").length, 1)
    }))
})

it.effect("what a run under an id of its own spent counts for the call that paused for it, whatever settles that call", () =>
  Effect.gen(function*() {
    const made = yield* Family.make({
      handler: (agent) =>
        Effect.flatMap(
          agent.run({ runId: "own", input: JSON.stringify(buys) }),
          (result) => result._tag === "Suspended" ? ToolCall.pause(result) : Effect.succeed("done")
        )
    })
    yield* made.root(one)
    const { agent, store } = yield* Family.make({ store: yield* Family.leftBy(made.store) })
    yield* agent.run({ sessionId: "root", input: "{}" })
    const [settled] = RunLog.only(yield* store.log("root"), "ToolSettled")
    assert.deepStrictEqual([settled?.outcome._tag, settled?.usage], [
      "Denied",
      { inputTokens: 10, outputTokens: 5 }
    ])
  }))

describe("what a run spent that was over when the call paused for another", () => {
  const left = Effect.gen(function*() {
    const made = yield* Family.make({
      handler: (agent, plan, call) =>
        call.sessionId !== "root" ? Family.run(agent, plan, call) : Effect.gen(function*() {
          yield* agent.run({ runId: "first", input: JSON.stringify({ input: 100 }) })
          const result = yield* agent.run({ runId: "second", input: JSON.stringify(buys) })
          return result._tag === "Suspended" ? yield* ToolCall.pause(result) : "done"
        })
    })
    yield* made.root(one)
    return yield* Family.make({ store: yield* Family.leftBy(made.store) })
  })

  it.effect("counts for the call, whatever settles it", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* left
      yield* agent.run({ sessionId: "root", input: "{}" })
      const [settled] = RunLog.only(yield* store.log("root"), "ToolSettled")
      assert.deepStrictEqual([settled?.outcome._tag, settled?.usage], [
        "Denied",
        { inputTokens: 110, outputTokens: 10 }
      ])
    }))

  it.effect("counts against the limits of a resumed run", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* left
      const result = yield* agent.resumeRun({ sessionId: "root", limits: { maxTokens: 100 } })
      assert.deepInclude(result, { _tag: "Limited", reason: "tokens" })
      assert.deepStrictEqual(RunLog.only(yield* store.log("root"), "ToolStarted").length, 1)
    }))
})

describe("a run that waits for itself", () => {
  it.effect("lists each of its questions once", () =>
    Effect.gen(function*() {
      const made = yield* Family.make({ handler: () => ToolCall.pause(root) })
      assert.deepStrictEqual(asked(yield* made.root({ turns: [[{}, { by: "buy" }]] })), ["root/1.1"])
    }))

  it.effect("and works for itself, by a foreign log, takes a new message", () =>
    Effect.gen(function*() {
      const made = yield* Family.make()
      yield* made.root(one)
      const lines = yield* Stream.runCollect(SessionLines.toLines("root")).pipe(Effect.provide(made.store.layer))
      const parent = JSON.stringify({ ...root, callId: "1.0" })
      const forged = lines.map((line) =>
        line.replaceAll(child, "root").replace(`"_tag":"RunStarted"`, `"_tag":"RunStarted","parent":${parent}`)
      )
      const store = yield* TestStore.make()
      yield* Effect.provideService(
        SessionLines.fromLines(Stream.fromIterable(forged)),
        SessionStore.SessionStore,
        store.service
      )
      const { agent } = yield* Family.make({ store })
      assert.strictEqual(yield* hello(agent), "Completed")
    }))
})

describe.each<readonly [string, Extract<SessionStore.StoreError, { readonly _tag: "NonRetryableError" }>]>([
  ["cannot be read", new RunError.NonRetryableError({ _tag: "StoreRefused", message: "a newer version wrote it" })],
  ["is removed while it is read", RunError.sessionNotFound(child)]
])("a run that waits for one below it whose log %s", (_, refused) => {
  const made = Effect.gen(function*() {
    const { store } = yield* Effect.tap(Family.make(), (made) => made.root(one))
    const { service } = store
    const closed: SessionStore.Store = {
      ...service,
      open: (id, options) => id === child ? Effect.fail(refused) : service.open(id, options),
      read: (id, range) => id === child ? Stream.fail(refused) : service.read(id, range),
      lastOf: (id, type, runId) =>
        id === child && refused.reason._tag === "StoreRefused" ? Effect.fail(refused) : service.lastOf(id, type, runId)
    }
    return yield* Family.make({ store: TestStore.over(closed) })
  })

  it.effect("has no known questions", () =>
    Effect.gen(function*() {
      const { agent } = yield* made
      assert.deepStrictEqual(yield* agent.approvals("root"), [])
    }))

  it.effect("fails its call when it is resumed", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* made
      assert.strictEqual((yield* agent.resumeRun({ sessionId: "root" }))._tag, "Completed")
      const [settled] = RunLog.only(yield* store.log("root"), "ToolSettled")
      assert.strictEqual(settled?.outcome._tag, "Failed")
    }))

  it.effect("takes a new message", () =>
    Effect.gen(function*() {
      const { agent } = yield* made
      assert.strictEqual(yield* hello(agent), "Completed")
    }))
})
