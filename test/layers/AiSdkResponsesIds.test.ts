/**
 * OpenAI's Responses API keeps the calls of tools that it defines, and is sent only a reference to them: their results must name them by
 * the id that it gave.
 */
import { assert, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as ModelAiSdk from "../../src/layers/ModelAiSdk.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as Sdk from "../support/AiSdkServers.ts"
import * as OpenAi from "../support/OpenAiServer.ts"

const Shell = Tool.providerDefined({
  id: "openai.local_shell",
  customName: "local_shell",
  providerName: "local_shell",
  requiresHandler: true,
  parameters: Schema.Struct({ action: Schema.Json }),
  success: Schema.Struct({ output: Schema.String })
})

const shellCall = {
  type: "local_shell_call",
  id: "lsh_1",
  call_id: "call_given",
  status: "completed",
  action: { type: "exec", command: ["ls"], env: {} }
}

const answered = (...payloads: ReadonlyArray<Record<string, unknown>>) =>
  OpenAi.events(Sdk.named(Sdk.created, ...payloads, Sdk.completed()))

it.live("the result of a call that OpenAI keeps names it by OpenAI's own id", () =>
  Effect.gen(function*() {
    const server = yield* OpenAi.make(
      answered(
        { type: "response.output_item.added", output_index: 0, item: shellCall },
        { type: "response.output_item.done", output_index: 0, item: shellCall }
      ),
      answered(...Sdk.writes(0, "Done."))
    )
    const toolkit = Toolkit.make(Shell({}))
    const below = yield* Layer.build(Layer.mergeAll(
      Fiberloop.layer,
      SessionStoreMemory.layer,
      ModelAiSdk.layer({ model: Sdk.responses(server) }),
      toolkit.toLayer({ local_shell: () => Effect.succeed({ output: "a.txt" }) })
    ))
    const agent = yield* Agent.make({ instructions: "Look.", toolkit }).pipe(Effect.provide(below))
    assert.strictEqual((yield* agent.run({ input: "go" })).text, "Done.")
    const input: ReadonlyArray<any> = server.requests[1]!.body.input
    assert.deepStrictEqual(input.slice(-2), [
      { type: "item_reference", id: "lsh_1" },
      { type: "local_shell_call_output", call_id: "call_given", output: "a.txt" }
    ])
  }))
