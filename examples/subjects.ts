import { Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, ContextWindow, RunsLocal, SessionStoreSqlite, ToolCall } from "fiberloop"
import { CrashSweep, ScriptedModel } from "fiberloop/testing"
import { appendFileSync, existsSync, readFileSync } from "node:fs"

const Till = Toolkit.make(Tool.make("pay", { success: Schema.String, dependencies: [ToolCall] }))

class Payer extends Agent.Service<Payer>()("app/Payer", { instructions: "Pay.", toolkit: Till }) {}

const handlers = (till: string) =>
  Till.toLayer({
    pay: Effect.fnUntraced(function*() {
      appendFileSync(till, `${(yield* ToolCall).idempotencyKey}\n`)
      return "paid"
    })
  })

const model = ScriptedModel.layer(({ messages }) =>
  messages.some(({ role }) => role === "tool") ? ScriptedModel.text("Paid.") : ScriptedModel.call("pay", {})
)

export const subjects: CrashSweep.Subjects = {
  "one payment": ({ folder, sessionId }) => {
    const till = `${folder}/till`
    const payments = () => existsSync(till) ? readFileSync(till, "utf8").trim().split("\n") : []
    return CrashSweep.subject({
      agent: Payer,
      layer: Layer.provide(Payer.layer, [handlers(till), model, ContextWindow.layer, RunsLocal.layer]),
      store: SessionStoreSqlite.layer({ filename: `${folder}/sessions.db` }),
      input: { input: "Pay what is due.", sessionId },
      effects: Effect.sync(() => payments().map((key) => ({ key, mayRepeat: false })))
    })
  }
}
