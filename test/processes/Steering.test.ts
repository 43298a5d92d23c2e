/** Messages and answers to runs of other processes, which stop, freeze or die meanwhile. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as RunEvent from "../../src/run/RunEvent.ts"
import { temporaryFolder } from "../support/Processes.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Steering from "../support/Steering.ts"
import * as WorkerAgent from "./WorkerAgent.ts"
import * as Workers from "./Workers.ts"

const go = Workers.plan([{ tool: "put", wait: "gate" }])

/** A run of one process that is held in a tool, and two processes more. */
const held = Effect.fnUntraced(function*(lease?: number) {
  const folder = yield* temporaryFolder
  const options = lease === undefined ? { folder } : { folder, lease }
  const [a, b, c] = [yield* Workers.start(options), yield* Workers.start(options), yield* Workers.start(options)]
  yield* a.send({ do: "run", input: { sessionId: "s", runId: "r", input: go } })
  yield* a.told(Workers.atGate("gate"))
  return { a, b, c, folder }
})

it.live("a message reaches the run of another process, and its sender learns with which turn", () =>
  Effect.gen(function*() {
    const { a, b, folder } = yield* held()
    const { answer } = yield* b.send({ do: "say", sessionId: "s", text: "shorter" })
    yield* Workers.happened(folder, "s", (event) => event._tag === "InputQueued")
    yield* a.ask({ do: "go", name: "gate" })
    assert.deepStrictEqual(Workers.ok(yield* answer), { _tag: "Delivered", turn: 2 })
    const log = yield* Workers.ended(folder, "s")
    assert.deepStrictEqual(Steering.received(log), ["steer: shorter"])
    assert.deepStrictEqual(RunLog.violations(log), [])
  }))

it.live("where the process dies before it hears of a message, whoever goes on is sent it, once", () =>
  Effect.gen(function*() {
    const { a, b, c, folder } = yield* held()
    yield* a.signal("SIGSTOP")
    const { answer } = yield* b.send({ do: "say", sessionId: "s", text: "shorter" })
    yield* Workers.sent(folder)
    yield* a.kill
    yield* c.ask({ do: "recover" })
    yield* c.told(Workers.atGate("gate"))
    yield* Workers.happened(folder, "s", (event) => event._tag === "InputQueued")
    yield* c.ask({ do: "go", name: "gate" })
    assert.deepStrictEqual(Workers.ok(yield* answer), { _tag: "Delivered", turn: 2 })
    const log = yield* Workers.ended(folder, "s", "RunCompleted")
    assert.deepStrictEqual(Steering.received(log), ["steer: shorter"])
    assert.deepStrictEqual(RunLog.violations(log), [])
  }))

it.live("where the process is taken for dead, a message that was not delivered is not accepted when it wakes up", () =>
  Effect.gen(function*() {
    // the lease outlasts the sending, on a busy machine too
    const { a, b, folder } = yield* held(5000)
    yield* a.signal("SIGSTOP")
    const told = Workers.ok(yield* b.ask({ do: "say", sessionId: "s", text: "shorter" }))
    assert.deepInclude(told, { _tag: "NotDelivered", reason: "left" })
    yield* a.signal("SIGCONT")
    yield* a.ask({ do: "go", name: "gate" })
    yield* a.told((what) => "error" in what || "ok" in what && typeof what["ok"] === "string")
    const log = yield* Workers.logOf(folder, "s")
    assert.deepStrictEqual(log.filter(({ _tag }) => _tag === "InputQueued"), [])
    assert.isFalse(log.some(RunEvent.isEnd))
  }))

it.live("an answer reaches the run of another process, which goes on, and where that dies first, its log", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const [a, b] = [yield* Workers.start({ folder, isAsked: true }), yield* Workers.start({ folder })]
    const input = Workers.plan([{ tool: "refund" }], [{ tool: "refund" }])
    yield* a.send({ do: "run", input: { sessionId: "s", runId: "r", input } })
    yield* a.told(({ at }) => at === "approver")
    const yes = (approvalId: string) =>
      b.ask({ do: "decide", input: { sessionId: "s", approvalId, approved: true, by: "ann" } })
    assert.isNull(Workers.ok(yield* yes("r/1.0")))
    yield* Workers.happened(folder, "s", (event) => event._tag === "ApprovalRequested" && event.turn === 2)
    yield* a.signal("SIGSTOP")
    const deciding = yield* b.send({ do: "decide", input: { sessionId: "s", approvalId: "r/2.0", approved: true } })
    yield* Workers.sent(folder)
    yield* a.kill
    assert.isNull(Workers.ok(yield* deciding.answer))
    assert.strictEqual(Workers.ok(yield* b.ask({ do: "resume", input: { sessionId: "s" } })), "Completed: done")
    const log = yield* Workers.logOf(folder, "s")
    assert.deepStrictEqual(WorkerAgent.effects(folder).map((line) => line.split(" ")[0]), ["refund", "refund"])
    assert.deepStrictEqual(RunLog.violations(log), [])
  }))
