/** Whether a suspended run is taken up, and what is read to know that. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TakingUp from "../../../src/loop/start/TakingUp.ts"
import * as RunState from "../../../src/run/RunState.ts"
import * as Drafts from "../../support/Drafts.ts"
import * as TestStore from "../../support/TestStore.ts"

it.effect.each([[true, 0], [false, 1]])(
  "reads a run that a call waits for only when no question of its own is open: %s",
  ([isAsked, reads]) =>
    Effect.gen(function*() {
      const { service } = yield* TestStore.make()
      let count = 0
      const read: typeof service.read = (sessionId, ...args) => {
        if (sessionId === "below") count++
        return service.read(sessionId, ...args)
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
      const session = yield* service.open("s", { runId: log[0].runId, create: true })
      yield* session.append(log)
      const { agent = "" } = log.reduce(RunState.evolve, RunState.empty)
      const { isDue } = yield* TakingUp.judge({ ...service, read }, "s", agent)
      assert.isFalse(isDue)
      assert.strictEqual(count, reads)
    })
)
