/** Hooks around a model call: what they leave is sent, and what they do not let pass is not acted on. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Message from "../../src/run/Message.ts"
import * as RunError from "../../src/run/RunError.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import type { Hook } from "../../src/services/Hooks.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const go = { sessionId: "s", runId: "r", input: "go" }
const busy = ScriptedModel.fail(
  new RunError.RetryableError<RunError.ProviderReason>({ _tag: "Overloaded", message: "busy" })
)

/** An agent with one hook, and its requests as they went out. */
const hooked = Effect.fnUntraced(function*(
  hook: Omit<Hook, "name">,
  turns: ReadonlyArray<ScriptedModel.Turn> = [TestAgent.work(1), ScriptedModel.text("ok")],
  options: TestAgent.Options = {}
) {
  return yield* TestAgent.make(turns, { ...options, agent: { ...options.agent, hooks: [{ name: "h", ...hook }] } })
})

const digests = (made: TestAgent.TestAgent) =>
  Effect.map(made.store.log("s"), (log) => RunLog.only(log, "TurnStarted").map((event) => event.inputDigest))

describe("messages of a hook", () => {
  const masked: Hook["beforeModelCall"] = ({ messages }) =>
    Effect.succeed({ messages: JSON.parse(JSON.stringify(messages).replaceAll("4111", "****")) })

  it.effect("are sent, and leave the transcript and the log unchanged", () =>
    Effect.gen(function*() {
      const { agent, script, store } = yield* hooked({ beforeModelCall: masked })
      yield* agent.run({ ...go, input: "pay with 4111" })
      const [, second] = yield* script.requests
      assert.deepStrictEqual(second!.messages[1], Message.user("pay with ****"))
      const log = yield* store.log("s")
      assert.deepStrictEqual(Transcript.messages(Transcript.fromLog(log))[0], Message.user("pay with 4111"))
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("are made of what is sent, also where nothing waits for an answer and the model is told to go on", () =>
    Effect.gen(function*() {
      const seen: Array<ReadonlyArray<Message.Message>> = []
      const { agent, script } = yield* hooked(
        { beforeModelCall: ({ messages }) => Effect.sync(() => void seen.push(messages)) },
        [[ScriptedModel.text("half"), ScriptedModel.finish("length")], ScriptedModel.text("whole")]
      )
      assert.strictEqual((yield* agent.run(go))._tag, "Limited")
      assert.strictEqual((yield* agent.resumeRun({ sessionId: "s" }))._tag, "Completed")
      assert.deepStrictEqual(seen, (yield* script.requests).map(({ messages }) => messages))
      assert.deepStrictEqual(seen[1]!.map(({ role }) => role), ["system", "user", "assistant", "user"])
    }))

  it.effect("are asked for once a turn: every attempt sends the same messages", () =>
    Effect.gen(function*() {
      let asked = 0
      const { agent, script } = yield* hooked(
        { beforeModelCall: () => Effect.sync(() => ({ messages: [Message.user(`ask ${++asked}`)] })) },
        [busy, busy, ScriptedModel.text("ok")],
        { agent: { retry: RetryPolicy.make({ base: 0 }) } }
      )
      yield* agent.run(go)
      const requests = yield* script.requests
      assert.deepStrictEqual(requests.map((request) => request.messages), Array(3).fill([Message.user("ask 1")]))
    }))

  it.effect("do not have the reasoning that the hook before left out, whoever knows it", () =>
    Effect.gen(function*() {
      let answer: Message.AssistantMessage | undefined
      const leavesOut: Hook = {
        name: "leaves out",
        beforeModelCall: ({ messages }) =>
          Effect.succeed({
            messages: messages.map((message) =>
              message.role !== "assistant"
                ? message
                : { role: "assistant", content: message.content.filter(({ type }) => type !== "reasoning") }
            )
          })
      }
      const givesBack: Hook = {
        name: "gives back",
        afterModelCall: ({ message }) => Effect.sync(() => void (answer = message)),
        beforeModelCall: ({ messages }) =>
          Effect.sync(() => ({
            messages: messages.map((message) => message.role === "assistant" ? answer! : message)
          }))
      }
      for (const [hooks, isSent] of [[[givesBack], true], [[leavesOut, givesBack], false]] as const) {
        const turns = [[ScriptedModel.reasoning("hm"), TestAgent.work(1)], ScriptedModel.text("ok")]
        const { agent, script } = yield* TestAgent.make(turns, { agent: { hooks } })
        yield* agent.run(go)
        const [, second] = yield* script.requests
        assert.strictEqual(JSON.stringify(second!.messages).includes("hm"), isSent)
      }
    }))

  it.effect("are covered by the digest of what is sent, which stays the same when nothing changed", () =>
    Effect.gen(function*() {
      const said = (text: string | undefined) =>
        Effect.flatMap(
          hooked({
            beforeModelCall: () => Effect.succeed(text === undefined ? undefined : { messages: [Message.user(text)] })
          }),
          (made) => Effect.andThen(made.agent.run(go), digests(made))
        )
      const plain = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok")])
      yield* plain.agent.run(go)
      const [as] = yield* digests(plain)
      assert.deepStrictEqual(yield* said(undefined), [as!, as!])
      const [a, again] = yield* said("a")
      assert.strictEqual(a, again)
      assert.notStrictEqual(a, as)
      assert.notStrictEqual((yield* said("b"))[0], a)
    }))
})

describe("tools that a hook leaves out", () => {
  const only = (...names: ReadonlyArray<string>): Omit<Hook, "name"> => ({
    beforeModelCall: ({ turn }) => Effect.succeed(turn === 1 ? { tools: names } : undefined)
  })

  it.effect("are not offered in that turn, and calls of them are unknown", () =>
    Effect.gen(function*() {
      const { agent, script, store } = yield* hooked(only("look"), [
        [TestAgent.work(1, "a"), TestAgent.look(2, "b")],
        TestAgent.work(3),
        ScriptedModel.text("ok")
      ])
      yield* agent.run(go)
      const offered = (yield* script.requests).map((request) => request.tools.map((tool) => tool.name))
      assert.deepStrictEqual(offered, [["look"], ["work", "look", "again"], ["work", "look", "again"]])
      const settled = RunLog.only(yield* store.log("s"), "ToolSettled").map((event) => event.outcome)
      assert.deepStrictEqual(settled, [
        { _tag: "UnknownTool", available: ["look"] },
        { _tag: "Succeeded", result: "done 2" },
        { _tag: "Succeeded", result: "done 3" }
      ])
    }))

  it.effect("stay unknown in a drive that takes up the turn", () =>
    Effect.gen(function*() {
      const asking = { agent: { toolPolicy: { requireApprovalByDefault: true } } }
      const first = yield* hooked(only("look"), [[TestAgent.look(1, "a"), TestAgent.work(2, "b")]], asking)
      assert.strictEqual((yield* first.agent.run(go))._tag, "Suspended")
      const second = yield* TestAgent.make([ScriptedModel.text("ok")], { ...asking, store: first.store })
      yield* Stream.runDrain(Approvals.by(
        Approvals.answering(() => Approvals.yes),
        second.agent.resume({ sessionId: "s" })
      ))
      assert.deepStrictEqual(RunLog.outcomes(yield* first.store.log("s")), ["1.1 UnknownTool", "1.0 Succeeded"])
    }))

  it.effect("may be all tools: then the tool choice is none", () =>
    Effect.gen(function*() {
      const { agent, script } = yield* hooked(only(), [ScriptedModel.text("ok")])
      yield* agent.run(go)
      const [request] = yield* script.requests
      assert.deepInclude(request, { toolChoice: "none", tools: [] })
    }))

  it.effect("are never added to: a name that is not offered adds none", () =>
    Effect.gen(function*() {
      const { agent, script } = yield* hooked(only("again", "rm_rf"), [ScriptedModel.text("ok")])
      yield* agent.run({ ...go, allowedTools: ["look", "again"] })
      assert.deepStrictEqual((yield* script.requests)[0]!.tools.map((tool) => tool.name), ["again"])
    }))
})

describe("a run that a guard blocks", () => {
  const no = () => Effect.fail("no")

  it.effect("before the call sends nothing, and continues when it is resumed and the guard allows it", () =>
    Effect.gen(function*() {
      let isClosed = true
      const made = yield* hooked(
        { beforeModelCall: () => Effect.suspend(() => isClosed ? Effect.fail("no") : Effect.void) },
        [ScriptedModel.text("ok")]
      )
      const error = yield* Effect.flip(made.agent.run(go))
      assert.deepInclude(error.reason, { _tag: "HookBlocked", hook: "h" })
      assert.deepStrictEqual(yield* made.script.requests, [])
      const log = yield* made.store.log("s")
      assert.deepStrictEqual(RunLog.tags(log), ["RunStarted", "RunFailed"])
      isClosed = false
      const events = yield* Stream.runCollect(made.agent.resume({ sessionId: "s" }))
      assert.strictEqual(RunLog.endOf(events), "RunCompleted(stop)")
    }))

  for (const point of ["beforeModelCall", "afterModelCall"] as const) {
    it.effect(`at ${point} fails with what the guard failed with as its cause, which nothing else has`, () =>
      Effect.gen(function*() {
        const why = { _tag: "OffTopic", topic: "SECRET-7" }
        const { agent, store } = yield* hooked({ [point]: () => Effect.fail(why) })
        const error = yield* Effect.flip(agent.run(go))
        assert.strictEqual(error.cause, why)
        assert.strictEqual(error.message, `the hook "h" refused (${point}), so the run cannot go on`)
        assert.notInclude(JSON.stringify([error, yield* store.log("s")]), "SECRET-7")
      }))

    it.effect(`at ${point} by a defect fails without a cause: its words are nobody's to read`, () =>
      Effect.gen(function*() {
        const { agent } = yield* hooked({ [point]: () => Effect.die(new Error("SECRET-7")) })
        const error = yield* Effect.flip(agent.run(go))
        assert.isUndefined(error.cause)
        assert.strictEqual(error.message, `the hook "h" failed (${point}), so the run cannot go on`)
      }))
  }

  it.effect("after the answer runs none of its calls, though the answer is stored", () =>
    Effect.gen(function*() {
      let ran = 0
      const { agent, store } = yield* hooked(
        { afterModelCall: no },
        [[TestAgent.work(1, "a"), TestAgent.work(2, "b")]],
        { tool: () => Effect.sync(() => `${++ran}`) }
      )
      const events: Array<string> = []
      yield* agent.stream(go).pipe(
        Stream.runForEach((event) => Effect.sync(() => events.push(...RunLog.moves([event])))),
        Effect.exit
      )
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 NotExecuted(failed)", "1.1 NotExecuted(failed)"])
      assert.strictEqual(RunLog.endOf(log), "RunFailed(HookBlocked)")
      assert.strictEqual(events.at(-1), "streaming>failed")
      assert.deepStrictEqual(RunLog.violations(log), [])
      assert.strictEqual(ran, 0)
    }))

  it.effect("does not get past it by resuming: the answer is shown to the guard again", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* hooked({ afterModelCall: no }, [ScriptedModel.text("SECRET PLAN")])
      yield* Effect.exit(agent.run(go))
      const events: Array<string> = []
      const exit = yield* agent.resume({ sessionId: "s" }).pipe(
        Stream.runForEach((event) => Effect.sync(() => events.push(...RunLog.moves([event])))),
        Effect.flip
      )
      assert.strictEqual(exit.reason._tag, "HookBlocked")
      assert.strictEqual(events.at(-1), "tool_running>failed")
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
    }))
})

describe("an answer", () => {
  it.effect("is in the store before a hook sees it", () =>
    Effect.gen(function*() {
      const heads: Array<string> = []
      const store = yield* TestStore.make()
      const { agent } = yield* hooked(
        { afterModelCall: () => Effect.map(store.log("s"), (log) => void heads.push(RunLog.endOf(log))) },
        undefined,
        { store }
      )
      yield* agent.run(go)
      assert.deepStrictEqual(heads, ["AssistantMessage", "AssistantMessage"])
    }))

  it.effect("whose drive died at the guard is shown to it again, unchanged, before a call runs", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const reached = yield* Deferred.make<void>()
      const dead = yield* TestStore.make()
      const first = yield* hooked(
        {
          afterModelCall: (answer) =>
            Effect.andThen(
              Effect.sync(() => seen.push(answer)),
              Effect.andThen(Deferred.succeed(reached, undefined), Effect.never)
            )
        },
        [[ScriptedModel.text("see"), TestAgent.work(1)]],
        { store: dead }
      )
      yield* first.agent.start(go)
      yield* Deferred.await(reached)
      // what a process that dies now leaves
      const store = yield* TestStore.make()
      yield* Effect.scoped(Effect.flatMap(
        store.service.open("s", { runId: "r", create: true }),
        (session) => Effect.forEach(dead.appends, session.append)
      ))
      const second = yield* hooked(
        { afterModelCall: (answer) => Effect.sync(() => void seen.push(answer)) },
        [ScriptedModel.text("ok")],
        { store }
      )
      yield* Stream.runDrain(second.agent.resume({ sessionId: "s" }))
      assert.deepStrictEqual(seen[1], seen[0])
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), ["1.0 Succeeded"])
    }))

  it.effect("whose calls were already let through is not shown again", () =>
    Effect.gen(function*() {
      const seen: Array<number> = []
      const { agent } = yield* hooked(
        { afterModelCall: ({ turn }) => Effect.sync(() => void seen.push(turn)) },
        undefined,
        { agent: { toolPolicy: { requireApprovalByDefault: true } } }
      )
      assert.strictEqual((yield* agent.run(go))._tag, "Suspended")
      yield* Stream.runDrain(agent.resume({ sessionId: "s" }))
      assert.deepStrictEqual(seen, [1])
    }))
})
