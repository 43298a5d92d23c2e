/** A call whose handler waits for people's answers to a run that works for it: the run around it waits and continues too. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import type * as RunResult from "../../src/run/RunResult.ts"
import { Approver } from "../../src/services/Approver.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as Family from "../support/Family.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestStore from "../support/TestStore.ts"

const buys: Family.Plan = { turns: [[{ by: "buy" }]] }

/** The root asks for a run that buys something. */
const one: Family.Plan = { turns: [[buys]] }
const child = "root//1.0"

type Made = Effect.Success<ReturnType<typeof Family.make>>

const suspended = (result: RunResult.RunResult): ReadonlyArray<RunResult.Approval> =>
  result._tag === "Suspended" ? result.approvals : assert.fail(`it is ${result._tag}`)

const decide = ({ agent }: Made, { id, sessionId }: RunResult.Approval, approved = true) =>
  agent.decide({ sessionId, approvalId: id, approved })

const decideAll = (made: Made, approved = true) =>
  Effect.flatMap(made.agent.approvals("root"), Effect.forEach((question) => decide(made, question, approved)))

const resume = ({ agent }: Made) => agent.resumeRun({ sessionId: "root" })

/** What a log says of its calls, drives and ends. */
const steps = (logs: ReadonlyMap<string, ReadonlyArray<RunEvent.Durable>>, sessionId = "root") =>
  (logs.get(sessionId) ?? []).flatMap((event): ReadonlyArray<string> => {
    if (event._tag === "ToolSettled") return [`${event.outcome._tag} ${event.callId}`]
    if (event._tag === "ToolStarted" || event._tag === "ToolPaused") return [`${event._tag} ${event.callId}`]
    return event._tag === "RunStarted" || event._tag === "RunResumed" || RunEvent.isEnd(event) ? [event._tag] : []
  })

const checked = (made: Made, mayBeOpen = false) =>
  Effect.map(made.logs, (logs) => {
    assert.deepStrictEqual(Family.violations(logs, mayBeOpen), [])
    return logs
  })

describe("a call whose handler waits for a run below it", () => {
  it.effect("suspends the run around it, which lists what is asked there", () =>
    Effect.gen(function*() {
      const made = yield* Family.make()
      const result = yield* made.root(one)
      const [question, ...more] = suspended(result)
      assert.deepStrictEqual(more, [])
      assert.deepInclude(question, {
        sessionId: child,
        agent: "test/Member",
        id: `${child}/1.0`,
        callId: "1.0",
        tool: "buy"
      })
      assert.deepStrictEqual(yield* made.agent.approvals("root"), [question!])
      assert.include(result.explain, "waits for a person")
      const logs = yield* checked(made)
      assert.deepStrictEqual(steps(logs), ["RunStarted", "ToolStarted 1.0", "ToolPaused 1.0", "RunSuspended"])
      const [paused] = RunLog.only(logs.get("root")!, "ToolPaused")
      assert.deepStrictEqual(paused?.waitsFor, [{ sessionId: child, runId: child }])
    }))

  it.effect("continues with that run once it is answered: one outcome, and nothing is done twice", () =>
    Effect.gen(function*() {
      const calls: Array<string> = []
      const made = yield* Family.make({
        handler: (agent, plan, call) => {
          calls.push(`${call.idempotencyKey} ${call.attempt}`)
          return Family.run(agent, plan, call)
        }
      })
      yield* made.root(one)
      yield* decideAll(made)
      const result = yield* resume(made)
      assert.deepInclude(result, { _tag: "Completed", text: "done", turns: 2 })
      assert.deepStrictEqual(calls, [`${child} 1`, `${child} 2`, "root//1.0//1.0 1"])
      const logs = yield* checked(made)
      assert.deepStrictEqual(steps(logs).slice(4), ["RunResumed", "ToolStarted 1.0", "Succeeded 1.0", "RunCompleted"])
      assert.deepStrictEqual(steps(logs, child), [
        "RunStarted",
        "RunSuspended",
        "RunResumed",
        "ToolStarted 1.0",
        "Succeeded 1.0",
        "RunCompleted"
      ])
      // two turns of the root, two of the child, one of what it bought
      assert.deepStrictEqual(result.usage, { inputTokens: 50, outputTokens: 25 })
      const [settled] = RunLog.only(logs.get("root")!, "ToolSettled")
      assert.deepStrictEqual(settled?.usage, { inputTokens: 30, outputTokens: 15 })
    }))

  it.effect("continues after a no as well", () =>
    Effect.gen(function*() {
      const made = yield* Family.make()
      yield* made.root(one)
      yield* decideAll(made, false)
      assert.strictEqual((yield* resume(made))._tag, "Completed")
      assert.include(steps(yield* checked(made), child), "Denied 1.0")
    }))

  it.effect("has answers sent to the root refused with the session that asks", () =>
    Effect.gen(function*() {
      const made = yield* Family.make()
      const [question] = suspended(yield* made.root(one))
      const decide = (approvalId: string) =>
        Effect.flip(made.agent.decide({ sessionId: "root", approvalId, approved: true }))
      const { reason } = yield* decide(question!.id)
      assert.deepInclude(reason, { _tag: "InvalidInput", field: "sessionId" })
      assert.include(reason.message, `belongs to session "${child}"`)
      assert.strictEqual((yield* decide("another")).reason._tag, "ApprovalNotOpen")
    }))

  it.effect("waits again when it is resumed without an answer, and calls no model", () =>
    Effect.gen(function*() {
      const made = yield* Family.make()
      const [question] = suspended(yield* made.root(one))
      const requests = yield* made.requests
      assert.deepStrictEqual(suspended(yield* resume(made)), [question!])
      assert.strictEqual(yield* made.requests, requests)
      yield* decideAll(made)
      assert.strictEqual((yield* resume(made))._tag, "Completed")
      yield* checked(made)
    }))

  it.effect("is explained as answered once everything asked below it is", () =>
    Effect.gen(function*() {
      const made = yield* Family.make()
      yield* made.root(one)
      yield* decideAll(made)
      const again = yield* made.root(one)
      assert.deepStrictEqual(suspended(again), [])
      assert.include(again.explain, "No question of the run is open any more")
    }))

  it.effect("pauses without asking the store about the run around it, which might not answer", () =>
    Effect.gen(function*() {
      const base = yield* SessionStoreMemory.make
      const read: Array<string> = []
      const made = yield* Family.make({
        store: TestStore.over({
          ...base,
          info: (id) => Effect.andThen(Effect.sync(() => void read.push(id)), base.info(id)),
          read: (id, range) => Stream.suspend(() => (read.push(id), base.read(id, range)))
        })
      })
      assert.strictEqual(suspended(yield* made.root(one)).length, 1)
      assert.notInclude(read, "root")
    }))

  it.effect("waits with every run around it, however deep", () =>
    Effect.gen(function*() {
      const made = yield* Family.make()
      const depth = 9
      const deep = Array.from({ length: depth }).reduce<Family.Plan>((plan) => ({ turns: [[plan]] }), buys)
      const [question] = suspended(yield* made.root(deep))
      assert.isAtMost(question!.sessionId.length, 200)
      yield* decideAll(made)
      const result = yield* resume(made)
      assert.strictEqual(result._tag, "Completed")
      const logs = yield* checked(made)
      assert.strictEqual(logs.size, depth + 2)
      // two turns of each, and one of what was bought
      assert.strictEqual(result.usage.inputTokens, ((depth + 1) * 2 + 1) * 10)
    }))

  it.effect("may be one of several: the answered ones continue, and the others wait", () =>
    Effect.gen(function*() {
      const made = yield* Family.make()
      const questions = suspended(yield* made.root({ turns: [[buys, {}, buys, { by: "buy" }]] }))
      assert.deepStrictEqual(questions.map(({ sessionId }) => sessionId), [child, "root//1.2", "root"])
      yield* decide(made, questions[1]!)
      assert.deepStrictEqual(suspended(yield* resume(made)), [questions[0]!, questions[2]!])
      yield* decideAll(made)
      assert.strictEqual((yield* resume(made))._tag, "Completed")
      const outcomes = steps(yield* checked(made)).filter((step) => step.startsWith("Succeeded"))
      assert.deepStrictEqual(outcomes.slice(0, 2), ["Succeeded 1.1", "Succeeded 1.2"])
      assert.deepStrictEqual(outcomes.slice(2).sort(), ["Succeeded 1.0", "Succeeded 1.3"])
    }))

  it.effect("holds up the calls after it when calls run one by one", () =>
    Effect.gen(function*() {
      const made = yield* Family.make({ agent: { toolPolicy: { maxParallel: 1 } } })
      yield* made.root({ turns: [[buys, {}]] })
      assert.notInclude(steps(yield* made.logs), "ToolStarted 1.1")
      yield* decideAll(made)
      assert.strictEqual((yield* resume(made))._tag, "Completed")
      const outcomes = steps(yield* checked(made)).filter((step) => step.startsWith("Succeeded"))
      assert.deepStrictEqual(outcomes, ["Succeeded 1.0", "Succeeded 1.1"])
    }))

  it.effect("runs again whatever its tool declares: its handler said that it may", () =>
    Effect.gen(function*() {
      const made = yield* Family.make()
      yield* made.root({ turns: [[{ ...buys, by: "order" }]] })
      yield* decideAll(made)
      assert.strictEqual((yield* resume(made))._tag, "Completed")
      assert.include(steps(yield* checked(made)), "Succeeded 1.0")
    }))

  it.effect("counts once against limits on tool calls", () =>
    Effect.gen(function*() {
      const made = yield* Family.make({ agent: { toolPolicy: { maxCallsPerRun: { ask: 1 } } } })
      yield* made.root({ ...one, limits: { maxToolCalls: 1 } })
      yield* resume(made)
      yield* decideAll(made)
      assert.strictEqual((yield* resume(made))._tag, "Completed")
    }))

  it.effect("is denied by a new message to the session, and the run it waited for stays as it is, and asks nobody", () =>
    Effect.gen(function*() {
      const made = yield* Family.make()
      yield* made.root(one)
      const before = yield* made.store.log(child)
      const result = yield* made.agent.run({ sessionId: "root", input: "{}" })
      assert.strictEqual(result._tag, "Completed")
      assert.include(steps(yield* checked(made)), "Denied 1.0")
      assert.deepStrictEqual(yield* made.agent.approvals("root"), [])
      assert.deepStrictEqual(yield* made.agent.approvals(child), [])
      assert.deepStrictEqual(yield* made.store.log(child), before)
    }))

  it.effect("passes on the data that the run around it is resumed with", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const made = yield* Family.make({
        handler: (agent, plan, call) => {
          seen.push(call.data)
          const { data, idempotencyKey: runId } = call
          return Effect.flatMap(
            agent.run({ runId, input: JSON.stringify(plan), data }),
            (result) => result._tag === "Suspended" ? ToolCall.pause(result) : Effect.succeed(result._tag)
          )
        }
      })
      yield* made.agent.run({ runId: "root", input: JSON.stringify(one), data: "old" })
      yield* resume(made)
      yield* decideAll(made)
      const result = yield* made.agent.resumeRun({ sessionId: "root", data: "new" })
      assert.strictEqual(result._tag, "Completed")
      assert.deepStrictEqual(seen, ["old", "old", "new", "new"])
      const given = RunLog.only((yield* checked(made)).get(child)!, "RunResumed").map(({ data }) => data)
      assert.deepStrictEqual(given, [undefined, "new"])
    }))

  it.effect("fails when it asks for that run with another input", () =>
    Effect.gen(function*() {
      const made = yield* Family.make({
        handler: (agent, plan, { attempt, idempotencyKey: runId }) =>
          Effect.flatMap(
            agent.run({ runId, input: JSON.stringify(attempt === 1 ? plan : {}) }),
            (result) => result._tag === "Suspended" ? ToolCall.pause(result) : Effect.succeed(result._tag)
          )
      })
      yield* made.root(one)
      yield* decideAll(made)
      yield* resume(made)
      assert.include(steps(yield* made.logs), "Failed 1.0")
    }))

  it.effect("gets the result of a run that was resumed by hand meanwhile", () =>
    Effect.gen(function*() {
      const made = yield* Family.make()
      yield* made.root(one)
      yield* decideAll(made)
      yield* made.agent.resumeRun({ sessionId: child })
      assert.strictEqual((yield* resume(made))._tag, "Completed")
      assert.strictEqual(RunLog.only((yield* checked(made)).get(child)!, "RunResumed").length, 1)
    }))

  it.effect("has an outcome when its handler swallows the pause", () =>
    Effect.gen(function*() {
      const made = yield* Family.make({
        handler: (agent, plan, call) => Effect.catchCause(Family.run(agent, plan, call), () => Effect.succeed("later"))
      })
      assert.strictEqual((yield* made.root(one))._tag, "Completed")
      assert.include(steps(yield* made.logs), "Succeeded 1.0")
    }))

  it.effect("does not pause when an approver here answers", () =>
    Effect.gen(function*() {
      const made = yield* Family.make()
      const result = yield* Effect.provideService(made.root(one), Approver, Approvals.answering(() => Approvals.yes))
      assert.strictEqual(result._tag, "Completed")
      assert.notInclude(steps(yield* checked(made)), "ToolPaused 1.0")
    }))

  it.effect("may wait for several runs of its own at once", () =>
    Effect.gen(function*() {
      const made = yield* Family.make({
        handler: (agent, plan, call) =>
          call.sessionId !== "root"
            ? Family.run(agent, plan, call)
            : Effect.gen(function*() {
              const results = yield* Effect.forEach(
                ["a", "b"],
                (name) => agent.run({ runId: name, input: JSON.stringify(buys) }),
                { concurrency: 2 }
              )
              const [first, ...rest] = results.filter(({ _tag }) => _tag === "Suspended")
              return first === undefined ? "both" : yield* ToolCall.pause(first, ...rest)
            })
      })
      const questions = suspended(yield* made.root(one))
      assert.deepStrictEqual(questions.map(({ sessionId }) => sessionId), ["a", "b"])
      yield* decide(made, questions[0]!)
      assert.deepStrictEqual(suspended(yield* resume(made)), [questions[1]!])
      yield* decideAll(made)
      const result = yield* resume(made)
      assert.strictEqual(result._tag, "Completed")
      // two turns of the root; and for each run two, and one of what it bought
      assert.strictEqual(result.usage.inputTokens, 80)
      yield* checked(made)
    }))
})

describe("events", () => {
  it.effect("say that the call paused, and that the run waits for people", () =>
    Effect.gen(function*() {
      const made = yield* Family.make()
      const events = yield* Stream.runCollect(made.agent.stream({ runId: "root", input: JSON.stringify(one) }))
      const said = events.flatMap((event) =>
        event._tag === "StatusChanged" ? [event.to] : event._tag === "ToolPaused" ? [event._tag] : []
      )
      assert.deepStrictEqual(said.slice(-4), ["tool_running", "ToolPaused", "awaiting_human", "suspended"])
    }))
})

describe("a process that dies while a paused call was continuing", () => {
  const dead = Effect.fnUntraced(function*(by: "ask" | "order") {
    const gate = yield* ScriptedModel.makeGate
    const made = yield* Family.make({
      answer: (request) =>
        request.metadata.sessionId === child && request.metadata.turn === 2
          ? [ScriptedModel.gate(gate)]
          : Family.answer(request)
    })
    yield* made.root({ turns: [[{ ...buys, by }]] })
    yield* decideAll(made)
    yield* made.agent.resumeStart({ sessionId: "root" })
    yield* gate.started
    return yield* Family.make({ store: yield* Family.leftBy(made.store) })
  })

  it.effect("leaves a call that continues again if its tool allows it", () =>
    Effect.gen(function*() {
      const made = yield* dead("ask")
      const result = yield* resume(made)
      assert.strictEqual(result._tag, "Completed")
      assert.strictEqual(result.usage.inputTokens, 50)
      yield* checked(made)
    }))

  it.effect("leaves a call with an unknown outcome if its tool does not allow it", () =>
    Effect.gen(function*() {
      const made = yield* dead("order")
      yield* resume(made)
      assert.include(steps(yield* made.logs), "OutcomeUnknown 1.0")
    }))
})
