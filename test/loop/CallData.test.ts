/** What decides about a call knows the run's `data`, in every process that goes on with the run. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Approver from "../../src/services/Approver.ts"
import * as Reconciler from "../../src/services/Reconciler.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as Drafts from "../support/Drafts.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

/** Staff may. */
const approver = Approvals.answering(({ data }) => data === "staff" ? Approvals.yes : undefined)

for (const data of ["staff", "guest"]) {
  it.effect(`an approver is told the data of a run that another process has begun: ${data}`, () =>
    Effect.gen(function*() {
      const started = Drafts.started("go")
      const log = [{ ...started, input: { ...started.input, data } }, ...DeadRun.inTools("work").slice(1, 3)]
      const store = yield* DeadRun.of(log)
      const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], {
        store,
        agent: { toolkit: Approvals.kit }
      })
      const resumed = Stream.runCollect(agent.resume({ sessionId: "s" }))
      const events = yield* Effect.provideService(resumed, Approver.Approver, approver)
      const expected = data === "staff" ? "RunCompleted(stop)" : "RunSuspended(approval)"
      assert.strictEqual(RunLog.endOf(events), expected)
    }))
}

it.effect("a resume may bring other data, for approvers and reconcilers too", () =>
  Effect.gen(function*() {
    const [started, turn, said, intent] = DeadRun.inTools("work", "again")
    const store = yield* DeadRun.of([started!, turn!, said!, intent!])
    const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], {
      store,
      agent: { toolkit: Approvals.withWork(TestAgent.kit.tools.work) }
    })
    const told: Array<unknown> = []
    const reconcile = ({ data, tool }: Reconciler.Question) =>
      Effect.as(Effect.sync(() => told.push([tool, data])), { _tag: "Done" } as const)
    yield* Stream.runDrain(agent.resume({ sessionId: "s", data: "staff" })).pipe(
      Effect.provideService(Reconciler.Reconciler, { reconcile })
    )
    assert.deepStrictEqual(told, [["work", "staff"]])
  }))
