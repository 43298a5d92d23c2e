import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Stream } from "effect"
import { type ContextManager, SessionStore, SessionStoreMemory } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import { ask, compact, condensedBy, lastTen, ReaderLive } from "./long-conversation.ts"

const { call, text } = ScriptedModel

/** The agent with a model that says this, and a context kept small by this strategy. */
const Test = (context: Layer.Layer<ContextManager>, ...turns: ReadonlyArray<ScriptedModel.Turn>) =>
  ReaderLive.pipe(Layer.provideMerge([context, SessionStoreMemory.layer, ScriptedModel.layer(turns)]))

const noSummary = condensedBy(ScriptedModel.layer([]))

const read = (...pages: ReadonlyArray<number>) => pages.map((page) => call("read_page", { page }))

/** The last request to the model, in full. */
const lastSent = Effect.gen(function*() {
  const requests = yield* (yield* ScriptedModel.Script).requests
  return JSON.stringify(requests.at(-1)?.messages)
})

it.effect("old pages become notes that the model can read past, and the log loses nothing", () =>
  Effect.gen(function*() {
    const { answer, shortened } = yield* ask("Read three pages. The code word is canary.")
    assert.strictEqual(answer, "Read.")
    assert.match(shortened.join(), /^pruning: \d+ to \d+ tokens$/)
    const sent = yield* lastSent
    assert.notInclude(sent, "1.7 Turn the screw 8 times.")
    assert.include(sent, "characters of this output were left out to save room")
    assert.include(sent, "3.7 Turn the screw 10 times.")
    assert.include(sent, "The code word is canary.")
    const log = yield* Stream.runCollect((yield* SessionStore).read("manual"))
    assert.include(JSON.stringify(log), "1.7 Turn the screw 8 times.")
  }).pipe(Effect.provide(Test(noSummary, ...read(1, 2, 3), text("Read.")))))

it.effect("by hand, a cheaper model sums up, and the next request begins with its words", () =>
  Effect.gen(function*() {
    const cheap = yield* Layer.build(ScriptedModel.layer([text("A canary was mentioned.")]))
    const long = "The screw turns. ".repeat(200)
    yield* Effect.gen(function*() {
      yield* ask("The code word is canary.")
      yield* ask("Tell me of the screw.")
      assert.match(yield* compact, /^summary: \d+ to \d+ tokens$/)
      assert.strictEqual((yield* ask("Which word?")).answer, "Canary.")
      const sent = yield* lastSent
      assert.include(sent, "A canary was mentioned.")
      assert.notInclude(sent, "The code word is canary.")
      assert.include(sent, "Tell me of the screw.")
    }).pipe(
      Effect.provide(Test(condensedBy(Layer.succeedContext(cheap)), text(long), text("It turns."), text("Canary.")))
    )
    const asked = yield* Context.get(cheap, ScriptedModel.Script).requests
    assert.include(JSON.stringify(asked[0]?.messages), "The code word is canary.")
  }))

it.effect("compacting by hand says so if nothing can be left out", () =>
  Effect.gen(function*() {
    yield* ask("Hello.")
    assert.include(yield* compact, "nothing can be left out")
  }).pipe(Effect.provide(Test(noSummary, text("Hello.")))))

it.effect("a custom strategy keeps the last ten questions", () =>
  Effect.gen(function*() {
    for (let n = 1; n <= 12; n++) yield* ask(`Question ${n}?`)
    assert.match(yield* compact, /^lastTen: /)
    yield* ask("And now?")
    const sent = yield* lastSent
    assert.notInclude(sent, "Question 2?")
    assert.include(sent, "Question 3?")
  }).pipe(Effect.provide(Test(lastTen, ...Array.from({ length: 13 }, () => text("Yes."))))))
