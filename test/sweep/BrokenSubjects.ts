/** An agent whose process ends with an error by itself, before any point. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agent from "../../src/Agent.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as RunsLocal from "../../src/layers/RunsLocal.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as CrashSweep from "../../src/testing/CrashSweep.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"

class Broken extends Agent.Service<Broken>()("test/Broken", { instructions: "" }) {}

export const subjects: CrashSweep.Subjects = {
  broken: ({ sessionId }) =>
    CrashSweep.subject({
      agent: Broken,
      layer: Broken.layer.pipe(Layer.provide([ScriptedModel.layer([]), ContextWindow.layer, RunsLocal.layer])),
      store: SessionStoreMemory.layer,
      input: { input: "hello", sessionId },
      play: () => Effect.fail("broken by itself")
    })
}
