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
import type * as Hooks from "../../src/services/Hooks.ts"
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

it.live.each<readonly [string, ModelAiSdk.Options["settings"], ReadonlyArray<object>]>([
  ["the model's own words where OpenAI keeps them", undefined, [{ type: "item_reference", id: "msg_0" }]],
  [
    "its new words where OpenAI keeps nothing",
    { providerOptions: { openai: { store: false } } },
    [{ role: "assistant", content: "Ask ***." }]
  ]
])("a text that a hook rewrote goes back in %s", ([, settings, expected]) =>
  Effect.gen(function*() {
    const server = yield* OpenAi.make(answered(...Sdk.writes(0, "Ask ann.")), answered(...Sdk.writes(1, "Done.")))
    const hides: Hooks.Hook = {
      name: "hides-ann",
      beforeModelCall: ({ messages }) =>
        Effect.sync(() => ({ messages: JSON.parse(JSON.stringify(messages).replaceAll("ann", "***")) }))
    }
    const below = yield* Layer.build(Layer.mergeAll(
      Fiberloop.layer,
      SessionStoreMemory.layer,
      ModelAiSdk.layer({ model: Sdk.responses(server), settings })
    ))
    const agent = yield* Agent.make({ instructions: "Answer.", hooks: [hides] }).pipe(Effect.provide(below))
    yield* agent.run({ input: "Whom?", sessionId: "s" })
    yield* agent.run({ input: "And now?", sessionId: "s" })
    const input: ReadonlyArray<any> = server.requests[1]!.body.input
    const sent = input.filter(({ role, type }) => role === "assistant" || type === "item_reference")
    assert.deepStrictEqual<unknown>(sent, expected)
  }))
