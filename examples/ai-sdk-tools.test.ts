import { jsonSchema, tool } from "@ai-sdk/provider-utils"
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Stream } from "effect"
import { Agent, Fiberloop, SessionStoreMemory } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import { existing, makeAgent, toolkitOf } from "./ai-sdk-tools.ts"

const world = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
  Effect.provide([Fiberloop.layer, SessionStoreMemory.layer, ScriptedModel.layer(turns)])

const results = Effect.gen(function*() {
  const requests = yield* (yield* ScriptedModel.Script).requests
  const last = requests.at(-1)!.messages.at(-1)!
  return last.role === "tool" ? last.content : []
})

const inputSchema = jsonSchema<{ id: string }>({ type: "object", properties: { id: { type: "string" } } }, {
  validate: (value) =>
    (value as { id: string }).id.length === 3
      ? { success: true, value: value as { id: string } }
      : { success: false, error: new Error("an id has three digits") }
})

it.effect("a model calls a tool of the AI SDK", () =>
  Effect.gen(function*() {
    const result = yield* (yield* makeAgent).run({ input: "How warm is it in Oslo?" })
    assert.strictEqual(result.text, "4 degrees.")
    assert.deepInclude((yield* results)[0], { result: { celsius: 4 }, isFailure: false })
    const [first] = yield* (yield* ScriptedModel.Script).requests
    assert.deepStrictEqual(first?.tools.map(({ name }) => name), Object.keys(existing))
  }).pipe(world(ScriptedModel.call("getWeather", { city: "Oslo" }), ScriptedModel.text("4 degrees."))))

it.effect("the model reads what the tool's schema refuses and what the tool throws", () =>
  Effect.gen(function*() {
    const find = tool({ inputSchema, execute: (): Promise<string> => Promise.reject(new Error("no such order")) })
    const agent = yield* Agent.make({ instructions: "", toolkit: toolkitOf({ find }) })
    yield* agent.run({ input: "Where is my lamp?" })
    const read = (yield* results).map(({ isFailure, result }) => [isFailure, result])
    assert.deepStrictEqual(read, [[true, "an id has three digits"], [true, "no such order"]])
  }).pipe(world(
    [ScriptedModel.call("find", { id: "7" }), ScriptedModel.call("find", { id: "007" })],
    ScriptedModel.text("There is none.")
  )))

it.effect("a tool that needs approval waits for a person", () =>
  Effect.gen(function*() {
    const pay = tool({
      inputSchema,
      needsApproval: async () => true,
      execute: (): string => assert.fail("nobody said yes")
    })
    const agent = yield* Agent.make({ instructions: "", toolkit: toolkitOf({ pay }) })
    const result = yield* agent.run({ input: "Pay it." })
    assert.deepInclude(result._tag === "Suspended" ? result.approvals[0] : result, {
      tool: "pay",
      params: { id: "007" }
    })
  }).pipe(world(ScriptedModel.call("pay", { id: "007" }))))

it.effect("what a tool yields is progress, and the last of it the result", () =>
  Effect.gen(function*() {
    const count = tool({
      inputSchema,
      execute: async function*() {
        yield { found: 1 }
        yield { found: 2 }
      }
    })
    const agent = yield* Agent.make({ instructions: "", toolkit: toolkitOf({ count }) })
    const events = yield* Stream.runCollect(agent.stream({ input: "How many?" }))
    const shown = events.flatMap((event) => event._tag === "ToolProgress" ? [event.value] : [])
    assert.deepStrictEqual(shown, [{ found: 1 }, { found: 2 }])
    assert.deepInclude((yield* results)[0], { result: { found: 2 }, isFailure: false })
  }).pipe(world(ScriptedModel.call("count", { id: "007" }), ScriptedModel.text("Two."))))

it.effect("a tool without `execute` has its result from a person", () =>
  Effect.gen(function*() {
    const whereTo = tool({ inputSchema, outputSchema: jsonSchema<string>({ type: "string" }) })
    const agent = yield* Agent.make({ instructions: "", toolkit: toolkitOf({ whereTo }) })
    const suspended = yield* agent.run({ sessionId: "trip", input: "Plan it." })
    const [question] = suspended._tag === "Suspended" ? suspended.approvals : []
    assert.deepInclude(question, { tool: "whereTo", needsResult: true })
    yield* agent.decide({ sessionId: "trip", approvalId: question!.id, approved: true, result: "Bergen" })
    yield* agent.resumeRun({ sessionId: "trip" })
    assert.deepInclude((yield* results)[0], { result: "Bergen", isFailure: false })
  }).pipe(world(ScriptedModel.call("whereTo", { id: "007" }), ScriptedModel.text("To Bergen."))))

it.effect("an abort reaches the tool's signal", () =>
  Effect.gen(function*() {
    const [started, aborted] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const wait = tool({
      inputSchema,
      execute: (_, { abortSignal }) =>
        new Promise<string>(() => {
          abortSignal?.addEventListener("abort", () => Deferred.doneUnsafe(aborted, Effect.void))
          Deferred.doneUnsafe(started, Effect.void)
        })
    })
    const agent = yield* Agent.make({ instructions: "", toolkit: toolkitOf({ wait }) })
    const run = yield* agent.start({ input: "Wait." })
    yield* Deferred.await(started)
    yield* run.abort
    yield* Deferred.await(aborted)
  }).pipe(world(ScriptedModel.call("wait", { id: "007" }))))
