/** Agents that a sweep finds fault with: their stores do not tell of runs, or lose what they confirmed, or they do not come to an end. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { join } from "node:path"
import * as Agent from "../../src/Agent.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as RunsLocal from "../../src/layers/RunsLocal.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as CrashSweep from "../../src/testing/CrashSweep.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Appending from "../support/Appending.ts"
import { stores } from "./Stores.ts"

class Clerk extends Agent.Service<Clerk>()("test/Clerk", { instructions: "" }) {}

const clerk =
  (turn: ScriptedModel.Turn, wrong: Appending.Changed = (store) => store): CrashSweep.Subjects[string] =>
  ({ folder, sessionId }) =>
    CrashSweep.subject({
      agent: Clerk,
      layer: Layer.provide(Clerk.layer, [ScriptedModel.layer(() => turn), ContextWindow.layer, RunsLocal.layer]),
      store: Layer.effect(
        SessionStore.SessionStore,
        SessionStore.SessionStore.useSync(wrong)
      ).pipe(Layer.provide(stores.Sqlite(join(folder, "sessions.db")))),
      input: { input: "go", sessionId }
    })

export const subjects: CrashSweep.Subjects = {
  unlisted: clerk(ScriptedModel.text("done"), (store) => ({ ...store, list: () => Effect.succeed([]) })),
  forgetful: clerk(ScriptedModel.text("done"), Appending.forgetful),
  endless: clerk(ScriptedModel.call("search", {}))
}
