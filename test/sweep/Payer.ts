/** An agent that asks before it pays, over the SQLite sessions of a folder, in any number of processes. */
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import { stores } from "./Stores.ts"

const kit = Toolkit.make(
  Tool.make("pay", {
    parameters: Schema.Struct({ n: Schema.Finite }),
    success: Schema.String,
    dependencies: [ToolCall],
    needsApproval: true
  })
)

export class Payer extends Agent.Service<Payer>()("test/Payer", { instructions: "Be brief.", toolkit: kit }) {}

const ledgerOf = (folder: string) => join(folder, "ledger")

/** The session of every payment that was made. */
export const payments = (folder: string): ReadonlyArray<string> =>
  existsSync(ledgerOf(folder)) ? readFileSync(ledgerOf(folder), "utf8").trim().split("\n") : []

/** Its model pays once and is done. */
export const layer = (folder: string) =>
  Payer.layer.pipe(
    Layer.provideMerge(stores.Sqlite(join(folder, "sessions.db"))),
    Layer.provide([
      Fiberloop.layer,
      ScriptedModel.layer(({ metadata }) =>
        metadata.turn === 1 ? ScriptedModel.call("pay", { n: 1 }) : ScriptedModel.text("done")
      ),
      kit.toLayer({
        pay: () =>
          Effect.gen(function*() {
            const { sessionId } = yield* ToolCall
            appendFileSync(ledgerOf(folder), `${sessionId}\n`)
            return "paid"
          })
      })
    ])
  )
