/** The first run of a process, with each store: a tool call and an answer. `build.mjs` checks which modules and functions it uses. */
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Agent from "../src/Agent.ts"
import * as Fiberloop from "../src/Fiberloop.ts"
import * as SessionStoreMemory from "../src/layers/SessionStoreMemory.ts"
import * as SessionStoreSqlite from "../src/layers/SessionStoreSqlite.ts"
import * as Model from "../src/services/Model.ts"

const Double = Toolkit.make(
  Tool.make("double", { parameters: Schema.Struct({ n: Schema.Finite }), success: Schema.Finite })
)

const usage = { inputTokens: 1, outputTokens: 1 }
const call: ReadonlyArray<Model.ModelPart> = [
  { type: "tool-call", id: "call", name: "double", params: { n: 1 } },
  { type: "finish", reason: "tool-calls", usage }
]
const answer: ReadonlyArray<Model.ModelPart> = [
  { type: "text-delta", block: "text", delta: "It is " },
  { type: "text-delta", block: "text", delta: "2." },
  { type: "finish", reason: "stop", usage }
]
const model = Layer.succeed(Model.Model, {
  info: { provider: "scripted", name: "scripted" },
  stream: ({ messages }) => Stream.fromIterable(messages.at(-1)?.role === "tool" ? answer : call)
})

const program = Effect.gen(function*() {
  const agent = yield* Agent.make({ instructions: "Answer in one sentence.", toolkit: Double })
  const events = yield* Stream.runCollect(agent.stream({ input: "What is twice 1?" }))
  if (events.at(-1)?._tag !== "RunCompleted") return yield* Effect.die(new Error("the run did not complete"))
})

const tools = Double.toLayer({ double: ({ n }) => Effect.succeed(n * 2) })
for (const store of [SessionStoreMemory.layer, SessionStoreSqlite.layer({ filename: ":memory:" })]) {
  await Effect.runPromise(Effect.provide(program, Layer.mergeAll(Fiberloop.layer, store, model, tools)))
}
