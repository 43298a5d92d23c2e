/**
 * Agents that work for another agent's calls, on SQLite, each death with a file of its own. Every run afterwards checks the
 * usage that was reported.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { join } from "node:path"
import type * as Agent from "../../src/Agent.ts"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as CrashSweep from "../../src/testing/CrashSweep.ts"
import * as Family from "../support/Family.ts"

const plans: Readonly<Record<string, Family.Plan>> = {
  "calls that may be made again, two deep": { turns: [[{ turns: [[{}], [{}]] }]] },
  "calls that may not be made again, two deep": { turns: [[{ by: "order", turns: [[{ by: "order" }]] }]] },
  "calls that wait for people, two deep": { turns: [[{ turns: [[{ by: "order", turns: [[{ by: "buy" }]] }]] }, {}]] },
  "calls at once": { turns: [[{ turns: [[{}]] }, { by: "order" }, {}], [{}]] }
}

/** A process in which people answer at once, until nobody is asked any more. */
const played = (agent: Agent.Client<unknown>, sessionId: string, input: string) =>
  Effect.gen(function*() {
    let result = yield* agent.run({ runId: "root", sessionId, input })
    while (result._tag === "Suspended") {
      for (const { id, sessionId } of result.approvals) {
        yield* agent.decide({ sessionId, approvalId: id, approved: true })
      }
      result = yield* agent.resumeRun({ sessionId })
    }
  })

/** The agent, checked for the right totals whenever it has answered. */
const checked = (agent: Family.Client, store: SessionStore.Store): Family.Client => ({
  ...agent,
  run: (input) =>
    Effect.tap(agent.run(input), () =>
      Effect.gen(function*() {
        const found = Family.violations(yield* Effect.orDie(Family.logsOf(store)), true)
        if (found.length > 0) return yield* Effect.die(new Error(found.join("; ")))
      }))
})

export const subjects: CrashSweep.Subjects = Object.fromEntries(
  Object.entries(plans).map(([name, plan]) => [name, ({ folder, sessionId }: CrashSweep.Place) => {
    const member = Family.agentOf()
    return CrashSweep.subject({
      agent: Effect.flatMap(
        member.agent,
        (agent) => Effect.map(SessionStore.SessionStore, (store) => checked(agent, store))
      ),
      layer: Layer.provideMerge(member.layer, Layer.effect(SessionStore.SessionStore, SessionStore.SessionStore)),
      store: SessionStoreSqlite.layer({ filename: join(folder, "sessions.db") }),
      input: { runId: "root", sessionId, input: JSON.stringify(plan) },
      play: (agent) => played(agent, sessionId, JSON.stringify(plan))
    })
  }])
)
