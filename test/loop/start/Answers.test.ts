/** Whether a suspended run continues when it is resumed, and what is read to know that. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Answers from "../../../src/loop/start/Answers.ts"
import * as RunState from "../../../src/run/RunState.ts"
import * as Drafts from "../../support/Drafts.ts"
import * as TestStore from "../../support/TestStore.ts"

it.effect.each([[true, 0], [false, 1]])(
  "reads a run that a call waits for only when no question of its own is open: %s",
  ([isAsked, reads]) =>
    Effect.gen(function*() {
      const { service } = yield* TestStore.make()
      let count = 0
      const read: typeof service.read = (...args) => {
        count++
        return service.read(...args)
      }
      const log = Drafts.log(
        Drafts.started("go"),
        Drafts.turnStarted(1),
        Drafts.assistant([Drafts.call("search"), Drafts.call("search")]),
        Drafts.toolStarted("1.0"),
        Drafts.toolPaused("1.0", { sessionId: "below", runId: "below" }),
        ...isAsked ? [Drafts.approvalRequested("1.1")] : [Drafts.settled("1.1", "found")],
        Drafts.suspended
      )
      const state = log.reduce(RunState.evolve, RunState.empty)
      assert.isFalse(yield* Answers.areThere({ ...service, read }, "s", state))
      assert.strictEqual(count, reads)
    })
)
