/** An agent whose process starts another one, which lives on with its stderr. The argument is a file for the ids of such processes. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { spawn } from "node:child_process"
import { appendFileSync } from "node:fs"
import { join } from "node:path"
import * as Agent from "../../src/Agent.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as RunsLocal from "../../src/layers/RunsLocal.ts"
import * as CrashSweep from "../../src/testing/CrashSweep.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import { stores } from "./Stores.ts"

class Leaver extends Agent.Service<Leaver>()("test/Leaver", { instructions: "" }) {}

const model = ScriptedModel.layer(() => ScriptedModel.text("done"))

/** A process that does nothing until it is killed. */
const start = (file: string) =>
  Effect.sync(() => {
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 60_000)"], {
      stdio: ["ignore", "ignore", "inherit"],
      detached: true
    })
    child.unref()
    appendFileSync(file, `${child.pid}\n`)
  })

export const subjects: CrashSweep.Subjects = {
  leaving: ({ argument, folder, sessionId }) =>
    CrashSweep.subject({
      agent: Leaver,
      layer: Layer.provide(Leaver.layer, [model, ContextWindow.layer, RunsLocal.layer]),
      store: stores.Sqlite(join(folder, "sessions.db")),
      input: { input: "go", sessionId },
      play: (client) => Effect.andThen(start(argument), client.run({ input: "go", sessionId }))
    })
}
