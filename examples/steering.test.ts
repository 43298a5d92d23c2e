import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Scope } from "effect"
import { Fiberloop, SessionStoreMemory } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import { Desk, say, Writer } from "./steering.ts"

const chapter = (text: string) => ScriptedModel.call("write_chapter", { text })
const desk = Desk.toLayer({ write_chapter: () => Effect.succeed("Written.") })

/** A writer whose model says this, and the requests to the model. */
const withModel = (turns: Parameters<typeof ScriptedModel.layer>[0]) =>
  Writer.layer.pipe(
    Layer.provide([desk, Fiberloop.layer, SessionStoreMemory.layer]),
    Layer.provideMerge(ScriptedModel.layer(turns))
  )

const lastAsked = Effect.gen(function*() {
  const script = yield* ScriptedModel.Script
  return JSON.stringify((yield* script.requests).at(-1)?.messages.at(-1))
})

it.effect("what is said while a chapter is being written is read before the next one", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    yield* Effect.gen(function*() {
      const writer = yield* Writer
      const run = yield* writer.start({ input: "A story." })
      yield* gate.started
      const saying = yield* Effect.forkChild(say(run, "Add a dog."), { startImmediately: true })
      yield* gate.release
      assert.strictEqual(yield* Fiber.join(saying), run)
      assert.strictEqual((yield* run.result).text, "The dog barked.")
      assert.include(yield* lastAsked, "Add a dog.")
    }).pipe(
      Effect.provide(withModel([[chapter("One"), ScriptedModel.gate(gate)], ScriptedModel.text("The dog barked.")]))
    )
  }))

it.effect("what is said to a story whose process shuts down is left to whoever goes on with it", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    const scope = yield* Scope.make()
    const services = yield* Layer.buildWithScope(withModel([[chapter("One"), ScriptedModel.gate(gate)]]), scope)
    yield* Effect.gen(function*() {
      const writer = yield* Writer
      const run = yield* writer.start({ input: "A story." })
      yield* gate.started
      const saying = yield* Effect.forkChild(say(run, "Add a dog."), { startImmediately: true })
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* Fiber.join(saying), run)
    }).pipe(Effect.provide(services))
  }))

it.effect("what is said to a finished story begins the next one", () =>
  Effect.gen(function*() {
    const writer = yield* Writer
    const run = yield* writer.start({ input: "A story." })
    yield* run.result
    const next = yield* say(run, "And now a poem.")
    assert.notStrictEqual(next.runId, run.runId)
    assert.strictEqual((yield* next.result).text, "Roses are red.")
  }).pipe(Effect.provide(withModel([ScriptedModel.text("The end."), ScriptedModel.text("Roses are red.")]))))
