/** What the sender of an answer is told when its question is not found in the session. */
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as SessionStore from "../../src/services/SessionStore.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Family from "../support/Family.ts"
import * as TestStore from "../support/TestStore.ts"

it.effect("an answer to a question that the session asks only meanwhile is told that it was not open", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    const { service } = yield* TestStore.make()
    let isRefused = false
    const asked = yield* Deferred.make<void>()
    // the run asks between the look at its log and the look below it
    const late: SessionStore.Store = {
      ...service,
      lastOf: (sessionId, type, runId) => {
        if (runId !== undefined) isRefused = true
        const found = service.lastOf(sessionId, type, runId)
        return isRefused && runId === undefined
          ? Effect.andThen(Effect.andThen(gate.release, Deferred.await(asked)), found)
          : found
      }
    }
    const store = TestStore.over(late)
    store.onAppend = ({ events, store }) =>
      events.some(({ _tag }) => _tag === "RunSuspended") ? Effect.tap(store, Deferred.succeed(asked, undefined)) : store
    const { agent } = yield* Family.make({
      store,
      answer: (request) => [ScriptedModel.gate(gate), ...Family.answer(request)]
    })
    yield* agent.start({ runId: "root", input: JSON.stringify({ turns: [[{ by: "buy" }]] }) })
    yield* gate.started
    const { reason } = yield* Effect.flip(
      agent.decide({ sessionId: "root", approvalId: "root/1.0", approved: true })
    )
    assert.deepInclude(reason, { _tag: "ApprovalNotOpen", because: "unknown" })
  }))
