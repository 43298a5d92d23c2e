/** What tools did, as sweeps look for it: by the keys of their calls. */
import { assert, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agent from "../../src/Agent.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as RunsLocal from "../../src/layers/RunsLocal.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as CrashSweep from "../../src/testing/CrashSweep.ts"
import * as FaultSweep from "../../src/testing/FaultSweep.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"

const till = Toolkit.make(Tool.make("pay", { success: Schema.String, dependencies: [ToolCall] }))

class Payer extends Agent.Service<Payer>()("test/Payer", { instructions: "Pay.", toolkit: till }) {}

const model = ScriptedModel.layer(({ messages }) =>
  messages.some(({ role }) => role === "tool") ? ScriptedModel.text("Paid.") : ScriptedModel.call("pay", {})
)

/** Pays once, in a run whose id is made for it. */
const payment = ({ sessionId }: CrashSweep.Place): CrashSweep.Subject => {
  const keys: Array<string> = []
  const pay = Effect.map(ToolCall, ({ idempotencyKey }) => {
    keys.push(idempotencyKey)
    return "paid"
  })
  return CrashSweep.subject({
    agent: Payer,
    layer: Payer.layer.pipe(
      Layer.provide([till.toLayer({ pay: () => pay }), model, ContextWindow.layer, RunsLocal.layer])
    ),
    // its sessions outlive the layer, as a database would
    store: Layer.succeed(SessionStore.SessionStore, Effect.runSync(SessionStoreMemory.make)),
    input: { input: "Pay what is due.", sessionId },
    effects: Effect.sync(() => keys.map((key) => ({ key, mayRepeat: false })))
  })
}

it.live.each(["one payment", "客户在线支付订单时进程被终止的场景", "a payment, ".repeat(10)])(
  "is found whatever a subject is called, %s",
  (name) =>
    Effect.gen(function*() {
      const { failures, points } = yield* FaultSweep.sweep({
        subjects: { [name]: payment },
        faults: ["fails"],
        every: 3
      })
      assert.deepStrictEqual(failures, [])
      assert.isAbove(points, 1)
    })
)
