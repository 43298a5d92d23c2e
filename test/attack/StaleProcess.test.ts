/** A process that was stopped while others took over its session, and wakes. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { temporaryFolder } from "../support/Processes.ts"
import * as RunLog from "../support/RunLog.ts"
import * as AttackAgent from "./AttackAgent.ts"
import * as Attackers from "./Attackers.ts"

const lease = 900

/** Its lease runs out. */
const resumed = (b: Attackers.Attacker) =>
  Effect.repeat(b.ask({ do: "resume", input: { sessionId: "s" } }), { while: ({ error }) => error === "SessionBusy" })

it.live("a run that waits for an approver ends in its process once that wakes and another has its session", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const a = yield* Attackers.start({ folder, lease, isAsked: true })
    const b = yield* Attackers.start({ folder, lease })
    const input = { sessionId: "s", runId: "r", input: Attackers.plan([{ tool: "refund" }]) }
    const run = yield* a.send({ do: "run", input })
    yield* a.told(({ at }) => at === "approver")
    yield* a.signal("SIGSTOP")
    assert.strictEqual(Attackers.ok(yield* resumed(b)), "Suspended: ")
    const hello = { do: "run", input: { sessionId: "s", input: "hello" } } as const
    assert.strictEqual(Attackers.ok(yield* b.ask(hello)), "Completed: done")
    yield* a.signal("SIGCONT")
    assert.strictEqual((yield* Effect.timeout(run.answer, "20 seconds"))["error"], "StaleWriter")
    assert.strictEqual(Attackers.ok(yield* a.ask(hello)), "Completed: done")
    assert.deepStrictEqual(RunLog.violations(yield* Attackers.logOf(folder, "s")), [])
    assert.deepStrictEqual(AttackAgent.effects(folder), [])
  }))

it.live("nothing begins below a call in a process that wakes after another has gone on with the run around it", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const a = yield* Attackers.start({ folder, lease })
    const b = yield* Attackers.start({ folder, lease })
    const below = [[{ tool: "put", wait: "gate" }], [{ tool: "pay" }]] as const
    const input = { sessionId: "s", runId: "r", input: Attackers.plan([{ tool: "hire", plan: below }]) }
    const run = yield* a.send({ do: "run", input })
    yield* a.told(Attackers.atGate("gate"))
    yield* a.signal("SIGSTOP")
    assert.strictEqual(Attackers.ok(yield* resumed(b)), "Completed: done")
    yield* a.signal("SIGCONT")
    assert.strictEqual((yield* Effect.timeout(run.answer, "20 seconds"))["error"], "StaleWriter")
    yield* a.ask({ do: "go", name: "gate" })
    yield* a.ask({ do: "run", input: { sessionId: "s", input: "hello" } })
    assert.deepStrictEqual(RunLog.outcomes(yield* Attackers.logOf(folder, "s")), ["1.0 OutcomeUnknown"])
    assert.deepStrictEqual(AttackAgent.effects(folder).map((line) => line.split(" ")[0]), ["put"])
  }))
