/** An agent whose store writes, and reads nothing. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Agent from "../../src/Agent.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as RunsLocal from "../../src/layers/RunsLocal.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as SessionErrors from "../../src/layers/store/SessionErrors.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as CrashSweep from "../../src/testing/CrashSweep.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"

class Unread extends Agent.Service<Unread>()("test/Unread", { instructions: "" }) {}

const store = Layer.effect(
  SessionStore.SessionStore,
  Effect.map(SessionStoreMemory.make, (memory): SessionStore.Store => ({
    ...memory,
    read: () => Stream.fail(SessionErrors.unavailable("the disk is gone"))
  }))
)

const model = ScriptedModel.layer(() => ScriptedModel.text("done"))

export const subjects: CrashSweep.Subjects = {
  unread: ({ sessionId }) =>
    CrashSweep.subject({
      agent: Unread,
      layer: Unread.layer.pipe(Layer.provide([model, ContextWindow.layer, RunsLocal.layer])),
      store,
      input: { input: "go", sessionId }
    })
}
