/** Agents that do not go on after a death: one whose store does not tell of its runs, and one that does not come to an end. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { join } from "node:path"
import * as Agent from "../../src/Agent.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as RunsLocal from "../../src/layers/RunsLocal.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as CrashSweep from "../../src/testing/CrashSweep.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import { stores } from "./Stores.ts"

class Clerk extends Agent.Service<Clerk>()("test/Clerk", { instructions: "" }) {}

const clerk =
  (turn: ScriptedModel.Turn, more: Partial<SessionStore.Store> = {}): CrashSweep.Subjects[string] =>
  ({ folder, sessionId }) =>
    CrashSweep.subject({
      agent: Clerk,
      layer: Layer.provide(Clerk.layer, [ScriptedModel.layer(() => turn), ContextWindow.layer, RunsLocal.layer]),
      store: Layer.effect(
        SessionStore.SessionStore,
        SessionStore.SessionStore.useSync((store) => ({ ...store, ...more }))
      ).pipe(Layer.provide(stores.Sqlite(join(folder, "sessions.db")))),
      input: { input: "go", sessionId }
    })

export const subjects: CrashSweep.Subjects = {
  unlisted: clerk(ScriptedModel.text("done"), { list: () => Effect.succeed([]) }),
  endless: clerk(ScriptedModel.call("search", {}))
}
