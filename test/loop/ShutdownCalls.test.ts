/** The calls of a run whose process was shut down: they are what they would be if it had died, but for those that were interrupted for good. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import type * as Agent from "../../src/Agent.ts"
import * as Message from "../../src/run/Message.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as OpenCall from "../../src/run/state/OpenCall.ts"
import * as Approver from "../../src/services/Approver.ts"
import { type Hook, Hooks } from "../../src/services/Hooks.ts"
import * as Reconciler from "../../src/services/Reconciler.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as Family from "../support/Family.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Steering from "../support/Steering.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const go = { sessionId: "s", runId: "r", input: "go" }
const again = (n: number, id = `again ${n}`) => ScriptedModel.call("again", { n }, id)
const { look, work } = TestAgent
const shutDown = "RunAborted(shutdown)"

interface Options extends TestAgent.Options {
  readonly approver?: Approver.Approver
  /** the numbers that its handlers never end for */
  readonly stuck?: ReadonlyArray<number>
}

/** A process; `called` says what its handlers were called with, and `reached` waits until all that never end are at work. */
const start = Effect.fnUntraced(function*(
  turns: ReadonlyArray<ScriptedModel.Turn>,
  { approver, stuck = [], ...options }: Options = {}
) {
  const called: Array<string> = []
  let atWork = 0
  const reached = yield* Deferred.make<void>()
  const tool: TestAgent.Handler = ({ n }) =>
    Effect.gen(function*() {
      const { attempt, idempotencyKey } = yield* ToolCall
      called.push(`${n} by ${idempotencyKey}, try ${attempt}`)
      if (!stuck.includes(n)) return `done ${n}`
      if (++atWork === stuck.length) yield* Deferred.succeed(reached, undefined)
      return yield* Effect.never
    })
  const made = TestAgent.make(turns, { tool, ...options })
  const agent = approver === undefined ? made : Effect.provideService(made, Approver.Approver, approver)
  return { ...(yield* agent), called, reached: Deferred.await(reached) }
})

/** The store that a process leaves which is shut down while the handlers of `stuck` are at work. */
const leftBy = Effect.fnUntraced(function*(calls: ScriptedModel.Turn, options: Options) {
  const first = yield* start([calls], options)
  yield* first.agent.start(go)
  yield* first.reached
  yield* first.close
  const log = yield* first.store.log("s")
  assert.strictEqual(RunLog.endOf(log), shutDown)
  assert.deepStrictEqual(RunLog.violations(log), [])
  return { ...first, log }
})

const key = (callId: string) => OpenCall.idempotencyKey("s", "r", callId)

/** What comes of it in a process that recovers it. */
const recovered = Effect.fnUntraced(function*(
  store: TestStore.TestStore,
  options: Options = {}
) {
  const next = yield* start([ScriptedModel.text("all done"), ScriptedModel.text("hello")], { ...options, store })
  const { refused, runs } = yield* next.agent.recover()
  assert.deepStrictEqual(refused, [])
  assert.strictEqual(runs.length, 1)
  const result = yield* runs[0]!.result
  const log = yield* store.log("s")
  assert.deepStrictEqual(RunLog.violations(log), [])
  return { ...next, result, log }
})

/** What the model was told last of the calls. */
const told = (script: ScriptedModel.Script["Service"]) =>
  Effect.map(script.requests, (requests) => {
    const last = requests.at(-1)?.messages.findLast(({ role }) => role === "tool") as Message.ToolMessage | undefined
    return last?.content.map(({ result }) => result) ?? []
  })

describe("a shutdown that interrupts a call", () => {
  for (const [what, call] of [["idempotent", again(1)], ["read-only", look(1)]] as const) {
    it.effect(`has an ${what} one made again with the same key, and its model is told of nothing else`, () =>
      Effect.gen(function*() {
        const left = yield* leftBy(call, { stuck: [1] })
        assert.deepStrictEqual(RunLog.outcomes(left.log), [])
        const { called, log, result, script } = yield* recovered(left.store)
        assert.strictEqual(result._tag, "Completed")
        assert.deepStrictEqual(left.called, [`1 by ${key("1.0")}, try 1`])
        assert.deepStrictEqual(called, [`1 by ${key("1.0")}, try 2`])
        assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded"])
        assert.deepStrictEqual(yield* told(script), ["done 1"])
      }))
  }

  it.effect("does not repeat one that may not be repeated, of which the model is told", () =>
    Effect.gen(function*() {
      const left = yield* leftBy(work(1), { stuck: [1] })
      assert.deepStrictEqual(RunLog.outcomes(left.log), ["1.0 Interrupted"])
      const { called, log } = yield* recovered(left.store)
      assert.deepStrictEqual(called, [])
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Interrupted"])
    }))

  it.effect("leaves those that wait for their turn, which run then, once", () =>
    Effect.gen(function*() {
      const left = yield* leftBy([work(1, "a"), work(2, "b"), again(3)], { stuck: [1] })
      assert.deepStrictEqual(RunLog.outcomes(left.log), ["1.0 Interrupted"])
      const { called, log } = yield* recovered(left.store)
      assert.deepStrictEqual(called, [`2 by ${key("1.1")}, try 1`, `3 by ${key("1.2")}, try 1`])
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Interrupted", "1.1 Succeeded", "1.2 Succeeded"])
    }))

  it.effect("shows no hook an outcome that it does not have", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const hook: Hook = {
        name: "seen",
        afterToolCall: ({ callId, outcome }) => Effect.sync(() => void seen.push(`${callId} ${outcome._tag}`))
      }
      const left = yield* Effect.provideService(leftBy([again(1), work(2)], { stuck: [1] }), Hooks, [hook])
      assert.deepStrictEqual(seen, [])
      yield* Effect.provideService(recovered(left.store), Hooks, [hook])
      assert.deepStrictEqual(seen, ["1.0 Succeeded", "1.1 Succeeded"])
    }))

  it.effect("is taken up at once, however often it happens", () =>
    Effect.gen(function*() {
      let { store } = yield* leftBy(again(1), { stuck: [1] })
      for (let n = 2; n <= 8; n++) {
        const next = yield* start([], { stuck: [1], store })
        const { runs } = yield* next.agent.recover()
        assert.strictEqual(runs.length, 1)
        yield* next.reached
        yield* next.close
        assert.deepStrictEqual(next.called, [`1 by ${key("1.0")}, try ${n}`])
      }
      const { log } = yield* recovered(store)
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded"])
    }))

  it.effect("counts calls that were made again once", () =>
    Effect.gen(function*() {
      const { store } = yield* leftBy([again(1), again(2)], { stuck: [1] })
      const { log } = yield* recovered(store)
      assert.deepInclude(RunLog.only(log, "RunCompleted")[0]?.totals, { toolCalls: 2, toolRounds: 1, turns: 2 })
    }))

  it.effect("delivers what was said to the run after the results", () =>
    Effect.gen(function*() {
      const first = yield* start([again(1)], { stuck: [1] })
      const run = yield* first.agent.start(go)
      yield* first.reached
      yield* Steering.say(run, "steer", "shorter")
      yield* first.close
      const { script } = yield* recovered(first.store)
      const last = (yield* script.requests).at(-1)!.messages
      assert.deepStrictEqual(last.map(({ role }) => role).slice(-3), ["assistant", "tool", "user"])
      assert.deepStrictEqual(last.at(-1), Message.user("shorter"))
    }))
})

describe("a question that waited when its process was shut down", () => {
  /** Two calls that ask, with an approver who has not answered. */
  const asked = Effect.gen(function*() {
    const approver = Approvals.desk()
    const first = yield* start([[work(1, "a"), work(2, "b")]], { approver, agent: { toolkit: Approvals.kit } })
    yield* first.agent.start(go)
    yield* approver.asked("1.0")
    yield* first.close
    assert.deepStrictEqual(approver.interrupted, ["1.0"])
    assert.deepStrictEqual(RunLog.outcomes(yield* first.store.log("s")), [])
    return first
  })
  const other = (store: TestStore.TestStore, options: Options = {}) =>
    start([ScriptedModel.text("all done"), ScriptedModel.text("hello")], {
      ...options,
      store,
      agent: { toolkit: Approvals.kit }
    })
  const id = OpenCall.approvalId("r", "1.0")

  it.effect("is listed and answered anywhere, and its call runs when the run goes on", () =>
    Effect.gen(function*() {
      const { store } = yield* asked
      const inbox = yield* other(store)
      assert.deepStrictEqual((yield* inbox.agent.approvals("s")).map(({ id }) => id), [id])
      yield* inbox.agent.decide({ sessionId: "s", approvalId: id, approved: true })
      assert.deepStrictEqual(yield* inbox.agent.approvals("s"), [])
      const approver = Approvals.answering(() => Approvals.no("never"))
      const { called } = yield* recovered(store, { approver, agent: { toolkit: Approvals.kit } })
      assert.deepStrictEqual(called, [`1 by ${key("1.0")}, try 1`])
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded", "1.1 Denied"])
      assert.deepStrictEqual(Approvals.violations(log), [])
    }))

  it.effect("is put to the approver of the process that goes on, as the same question", () =>
    Effect.gen(function*() {
      const { store } = yield* asked
      const approver = Approvals.desk()
      const next = yield* other(store, { approver })
      const { runs } = yield* next.agent.recover()
      assert.strictEqual((yield* approver.asked("1.0")).approvalId, id)
      yield* approver.answer("1.0", Approvals.yes)
      yield* approver.asked("1.1")
      yield* approver.answer("1.1", Approvals.yes)
      assert.strictEqual((yield* runs[0]!.result)._tag, "Completed")
      assert.deepStrictEqual(RunLog.only(yield* store.log("s"), "ApprovalRequested").map(({ callId }) => callId), [
        "1.0",
        "1.1"
      ])
    }))

  it.effect("suspends the run that goes on where nobody answers there", () =>
    Effect.gen(function*() {
      const { store } = yield* asked
      const { log } = yield* recovered(store, { agent: { toolkit: Approvals.kit } })
      assert.strictEqual(RunLog.endOf(log), "RunSuspended(approval)")
      assert.deepStrictEqual(RunLog.outcomes(log), [])
    }))

  it.effect("is closed by a new message, and by an abort", () =>
    Effect.gen(function*() {
      for (
        const [close, outcomes] of [
          [(agent: Agent.Client<string>) => agent.run({ sessionId: "s", input: "hello" }), ["Denied", "NotExecuted"]],
          [(agent: Agent.Client<string>) => agent.abort("s"), ["NotExecuted", "NotExecuted"]]
        ] as const
      ) {
        const { store } = yield* asked
        const { agent } = yield* other(store)
        yield* close(agent)
        const log = yield* store.log("s")
        assert.deepStrictEqual(RunLog.violations(log), [])
        assert.deepStrictEqual(RunLog.only(log, "ToolSettled").map(({ outcome }) => outcome._tag), [...outcomes])
        const error = yield* Effect.flip(agent.decide({ sessionId: "s", approvalId: id, approved: true }))
        assert.deepInclude(error.reason, { _tag: "ApprovalNotOpen", because: "settled" })
        assert.deepStrictEqual((yield* agent.recover()).runs, [])
      }
    }))
})

describe("an answer about a call that could not run before the shutdown", () => {
  const agent = { toolkit: Approvals.kit, toolPolicy: { maxParallel: 2 } }

  /** A process whose calls are as many as may run at once, beside one that asks. */
  const asked = Effect.gen(function*() {
    const approver = Approvals.desk()
    const first = yield* start([[again(8), again(9), work(1)]], { approver, stuck: [8, 9], agent })
    yield* first.agent.start(go)
    yield* first.reached
    yield* approver.asked("1.2")
    return { ...first, approver }
  })

  it.effect("counts, if it was given before: the call runs without another question", () =>
    Effect.gen(function*() {
      const { approver, close, store } = yield* asked
      yield* approver.answer("1.2", Approvals.yes)
      // everything ready runs first
      yield* TestClock.adjust("1 second")
      yield* close
      assert.lengthOf(RunLog.only(yield* store.log("s"), "ApprovalResolved"), 1)
      const { called } = yield* recovered(store, { agent })
      const keys = ["8 by s/r/1.0, try 2", "9 by s/r/1.1, try 2", "1 by s/r/1.2, try 1"]
      assert.sameMembers(called, keys)
    }))

  it.effect("counts, if it is given later: where it is the call's result, hooks of the next process see that", () =>
    Effect.gen(function*() {
      const first = yield* asked
      yield* first.close
      const answer = { sessionId: "s", approvalId: OpenCall.approvalId("r", "1.2"), approved: true, result: "by hand" }
      yield* (yield* start([], { store: first.store, agent })).agent.decide(answer)
      const mask: Hook = {
        name: "mask",
        afterToolCall: ({ outcome }) =>
          Effect.succeed({ outcome: { _tag: "Succeeded", result: "result" in outcome ? [outcome.result] : [] } })
      }
      const { script } = yield* Effect.provideService(recovered(first.store, { agent }), Hooks, [mask])
      assert.deepStrictEqual(yield* told(script), [["done 8"], ["done 9"], ["by hand"]])
    }))
})

describe("what is left of a run that was shut down", () => {
  const left = leftBy([again(1), work(2)], { stuck: [1] })

  it.effect("is settled for a new message, as after a crash", () =>
    Effect.gen(function*() {
      const { store } = yield* left
      const { agent, called } = yield* start([ScriptedModel.text("hello")], { store })
      yield* agent.run({ sessionId: "s", input: "never mind" })
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.violations(log), [])
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Interrupted", "1.1 NotExecuted(superseded)"])
      assert.deepStrictEqual(called, [])
    }))

  it.effect("is settled by an abort, and nothing goes on", () =>
    Effect.gen(function*() {
      const { store } = yield* left
      const { agent } = yield* start([], { store })
      yield* agent.abort("s")
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.violations(log), [])
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Interrupted", "1.1 NotExecuted(aborted)"])
      assert.strictEqual(RunLog.endOf(log), "RunAborted(requested)")
      assert.deepStrictEqual((yield* agent.recover()).runs, [])
    }))

  it.effect("is not shared with a fork, which makes none of the calls", () =>
    Effect.gen(function*() {
      const { store } = yield* left
      yield* store.service.fork("s", { to: "copy" })
      const log = yield* Stream.runCollect(store.service.read("copy"))
      assert.deepStrictEqual(RunLog.violations(log), [])
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 OutcomeUnknown", "1.1 NotExecuted(stopped)"])
      assert.strictEqual(RunLog.endOf(log), "RunAborted(forked)")
      yield* recovered(store)
    }))
})

it.effect("a shutdown while a reconciler is asked leaves its call, and the next process asks again", () =>
  Effect.gen(function*() {
    const store = yield* DeadRun.of(DeadRun.inTools("work"))
    const asked = yield* Deferred.make<void>()
    const stuck = { reconcile: () => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never) }
    const first = yield* Effect.provideService(start([], { store }), Reconciler.Reconciler, stuck)
    yield* first.agent.resumeStart({ sessionId: "s" })
    yield* Deferred.await(asked)
    yield* first.close
    assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), [])
    const knows = { reconcile: () => Effect.succeed({ _tag: "Done", result: "paid" } as const) }
    const next = yield* Effect.provideService(
      start([ScriptedModel.text("ok")], { store }),
      Reconciler.Reconciler,
      knows
    )
    yield* next.agent.resumeRun({ sessionId: "s" })
    assert.deepStrictEqual(yield* told(next.script), ["paid"])
    assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
  }))

it.effect("a store that was away leaves the calls that a crash would leave", () =>
  Effect.gen(function*() {
    const first = yield* start([[again(1), work(2, "b"), work(3, "c")]], {
      stuck: [1, 2],
      agent: { toolPolicy: { maxParallel: 2 } }
    })
    const run = yield* first.agent.start(go)
    yield* first.reached
    first.store.onAppend = TestStore.failingOnce()
    yield* Effect.exit(run.steer("hello"))
    yield* Effect.exit(run.result)
    const log: ReadonlyArray<RunEvent.Durable> = yield* first.store.log("s")
    assert.strictEqual(RunLog.endOf(log), "RunFailed(StoreUnavailable)")
    assert.deepStrictEqual(RunLog.outcomes(log), ["1.1 Interrupted"])
    const { called } = yield* recovered(first.store)
    assert.deepStrictEqual(called, [`1 by ${key("1.0")}, try 2`, `3 by ${key("1.2")}, try 1`])
  }))

describe("a shutdown while an agent works for a call that may be made again", () => {
  const root = { runId: "root", input: JSON.stringify({ turns: [[{ turns: [[{}], [{}]] }]] }) }
  const below = "root//1.0"

  it.effect("loses none of the turns that it finished: the call goes on with its run", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const gate = yield* ScriptedModel.makeGate
      const answer: Family.Options["answer"] = (request) =>
        request.metadata.runId === below && request.metadata.turn === 2
          ? [ScriptedModel.gate(gate)]
          : Family.answer(request)
      yield* Effect.scoped(Effect.gen(function*() {
        const { agent } = yield* Family.make({ store, answer })
        yield* agent.start(root)
        yield* gate.started
      }))
      assert.strictEqual(RunLog.endOf(yield* store.log("root")), shutDown)
      const { agent, logs, requests } = yield* Family.make({ store })
      const { runs } = yield* agent.recover()
      assert.deepStrictEqual(runs.map(({ sessionId }) => sessionId), ["root"])
      assert.deepInclude(yield* runs[0]!.result, { _tag: "Completed", text: "done" })
      const found = yield* logs
      assert.deepStrictEqual(Family.violations(found), [])
      assert.deepStrictEqual(RunLog.outcomes(found.get("root")!), ["1.0 Succeeded"])
      assert.deepStrictEqual(RunLog.outcomes(found.get(below)!), ["1.0 Succeeded", "2.0 Succeeded"])
      // turn 2 and the last one of the run below, the run of its call, and the last turn of the root
      assert.strictEqual(yield* requests, 4)
    }))

  it.effect("does not have its calls made twice either, however deep they are", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const gate = yield* ScriptedModel.makeGate
      const deepest = `${below}//2.0`
      const answer: Family.Options["answer"] = (request) =>
        request.metadata.runId === deepest ? [ScriptedModel.gate(gate)] : Family.answer(request)
      yield* Effect.scoped(Effect.gen(function*() {
        const { agent } = yield* Family.make({ store, answer })
        yield* agent.start(root)
        yield* gate.started
      }))
      for (const id of ["root", below, deepest]) assert.strictEqual(RunLog.endOf(yield* store.log(id)), shutDown)
      const { agent, logs, requests } = yield* Family.make({ store })
      assert.deepInclude(yield* agent.resumeRun({ sessionId: "root" }), { _tag: "Completed", text: "done" })
      const found = yield* logs
      assert.deepStrictEqual(Family.violations(found), [])
      assert.deepStrictEqual([...found.keys()].toSorted(), ["root", below, `${below}//1.0`, deepest])
      assert.deepStrictEqual(RunLog.outcomes(found.get(below)!), ["1.0 Succeeded", "2.0 Succeeded"])
      assert.strictEqual(yield* requests, 3)
    }))

  it.effect("keeps a question that is asked below it, though other calls beside it run", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const gate = yield* ScriptedModel.makeGate
      const plan: Family.Plan = { turns: [[{ turns: [[{ by: "buy" }]] }, { first: "waits" }]] }
      const answer: Family.Options["answer"] = (request) =>
        Family.planOf(request).first === undefined ? Family.answer(request) : [ScriptedModel.gate(gate)]
      yield* Effect.scoped(Effect.gen(function*() {
        const { agent } = yield* Family.make({ store, answer })
        yield* agent.start({ ...root, input: JSON.stringify(plan) })
        yield* gate.started
        yield* TestStore.logged(store, "root", "ToolPaused")
      }))
      const { agent, logs } = yield* Family.make({ store })
      const [question] = yield* agent.approvals("root")
      assert.strictEqual(question?.sessionId, below)
      yield* agent.decide({ sessionId: below, approvalId: question!.id, approved: true })
      const { runs } = yield* agent.recover()
      assert.deepInclude(yield* runs[0]!.result, { _tag: "Completed", text: "done" })
      assert.deepStrictEqual(Family.violations(yield* logs), [])
    }))
})
