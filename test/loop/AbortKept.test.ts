/** An abort that was asked of a drive which died before it heard of that, and what comes before somebody carries it out. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import { notice } from "../../src/testing/sessions/Fixtures.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

/** A dead run that was to be aborted. */
const asked = Effect.gen(function*() {
  const store = yield* DeadRun.of(DeadRun.unanswered())
  yield* Effect.scoped(Effect.gen(function*() {
    yield* store.service.open("s", { runId: "s run", create: false, onAbortAsked: Effect.void })
    assert.isTrue(yield* store.service.askToAbort!("s", "s run"))
  }))
  return store
})

it.effect("it is carried out by the next drive where the one that heard of it was refused", () =>
  Effect.gen(function*() {
    const { log, service } = yield* asked
    // somebody else writes to the session once the run was found
    let isWritten = false
    const late = TestStore.over({
      ...service,
      open: (sessionId, options) =>
        Effect.gen(function*() {
          const session = yield* service.open(sessionId, options)
          if (isWritten) return session
          isWritten = true
          yield* session.append([notice({ seq: session.head() + 1, runId: "s run" })])
          return session
        })
    })
    const { agent, script } = yield* TestAgent.make([ScriptedModel.text("on")], { store: late })
    assert.deepStrictEqual(yield* agent.recover(), { runs: [], refused: [] })
    const { runs } = yield* agent.recover()
    yield* runs[0]!.result
    assert.strictEqual(RunLog.endOf(yield* log("s")), "RunAborted(requested)")
    assert.lengthOf(yield* script.requests, 0)
  }))

it.effect("it is carried out although another agent was to resume the run by hand meanwhile, and was refused", () =>
  Effect.gen(function*() {
    const [begun, ...rest] = DeadRun.inTools("look")
    const store = yield* DeadRun.of([{ ...begun!, agent: "test/Tested" } as typeof begun & {}, ...rest])
    yield* Effect.scoped(Effect.gen(function*() {
      yield* store.service.open("s", { runId: "run-1", create: false, onAbortAsked: Effect.void })
      assert.isTrue(yield* store.service.askToAbort!("s", "run-1"))
    }))
    const other = yield* Layer.build(
      Layer.mergeAll(Fiberloop.layer, store.layer, ScriptedModel.layer([ScriptedModel.text("on")]))
    )
    const refused = Agent.make({ name: "other", instructions: "" }).pipe(
      Effect.flatMap((agent) => agent.resumeRun({ sessionId: "s" })),
      Effect.provideContext(other)
    )
    assert.strictEqual((yield* Effect.flip(refused)).reason._tag, "InvalidInput")
    const { agent, script } = yield* TestAgent.make([ScriptedModel.text("on")], { store })
    const { runs } = yield* agent.recover()
    yield* runs[0]!.result
    assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunAborted(requested)")
    assert.lengthOf(yield* script.requests, 0)
  }))
