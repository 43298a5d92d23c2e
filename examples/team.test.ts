import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Fiberloop, SessionLines, SessionStore, SessionStoreMemory } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import { Editor, EditorLive, Researcher } from "./team.ts"

const json = (value: unknown) => ScriptedModel.text(JSON.stringify(value))

/** A model for each agent, over one store. */
const team = (editor: ReadonlyArray<ScriptedModel.Turn>, researcher: ReadonlyArray<ScriptedModel.Turn>) =>
  EditorLive.pipe(
    Layer.provide(Researcher.layer.pipe(Layer.provide(ScriptedModel.layer(researcher)))),
    Layer.provideMerge([Fiberloop.layer, SessionStoreMemory.layer, ScriptedModel.layer(editor)])
  )

const research = ScriptedModel.call("research", { topic: "tides" })

/** How the sessions in the store ended, keyed by their first words. */
const ends = Effect.gen(function*() {
  const sessions = yield* (yield* SessionStore).list()
  return Object.fromEntries(sessions.map(({ end, title }) => [title, end]))
})

it.effect("the editor reads what the researcher found, and answers with a value", () =>
  Effect.gen(function*() {
    const result = yield* (yield* Editor).run({ input: "Tides." })
    assert.deepStrictEqual(result._tag === "Completed" ? result.output : result.explain, { paragraph: "Two a day." })
    const [, second] = yield* (yield* ScriptedModel.Script).requests
    const [found] = second?.messages.at(-1)?.content ?? []
    assert.deepStrictEqual(
      found,
      { type: "tool-result", id: "c00000300", name: "research", result: { facts: ["Two a day"] }, isFailure: false }
    )
    assert.deepStrictEqual(yield* ends, { "Tides.": "RunCompleted", tides: "RunCompleted" })
  }).pipe(Effect.provide(team([research, json({ paragraph: "Two a day." })], [json({ facts: ["Two a day"] })]))))

it.effect("a researcher that takes too long is stopped, and the editor continues", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    const waiting = [ScriptedModel.text("Let me "), ScriptedModel.gate(gate)]
    yield* Effect.gen(function*() {
      const fiber = yield* Effect.forkChild((yield* Editor).run({ input: "Tides." }))
      // move time only once the model is known to be waiting
      yield* gate.started
      yield* TestClock.adjust("50 seconds")
      yield* gate.closed
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Completed")
      assert.strictEqual((yield* ends)["tides"], "RunLimited")
    }).pipe(Effect.provide(team([research, json({ paragraph: "Unknown." })], [waiting])))
  }))

it.effect("what the researcher spends counts as the editor's, within the editor's limit", () =>
  Effect.gen(function*() {
    const result = yield* (yield* Editor).run({ input: "Tides.", limits: { maxTokens: 30 } })
    assert.strictEqual(result._tag === "Limited" && result.reason, "tokens")
    // the first call of each
    assert.deepStrictEqual(result.usage, { inputTokens: 20, outputTokens: 10 })
    assert.deepStrictEqual(yield* ends, { "Tides.": "RunLimited", tides: "RunLimited" })
  }).pipe(Effect.provide(team([research], [ScriptedModel.text("Two a day, I think.")]))))

it.effect("stopping the editor stops the researcher", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    yield* Effect.gen(function*() {
      const run = yield* (yield* Editor).start({ input: "Tides." })
      yield* gate.started
      yield* run.abort
      yield* gate.closed
      assert.deepStrictEqual(yield* ends, { "Tides.": "RunAborted", tides: "RunAborted" })
    }).pipe(Effect.provide(team([research], [ScriptedModel.gate(gate)])))
  }))

/** All sessions as they are now, each as lines: what a process that dies here would leave. */
const left = Effect.gen(function*() {
  const sessions = yield* (yield* SessionStore).list()
  return yield* Effect.forEach(sessions, ({ sessionId }) => Stream.runCollect(SessionLines.toLines(sessionId)))
})

it.effect("after the process dies, both continue where they were, and no work is done twice", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    const logs = yield* Effect.gen(function*() {
      yield* (yield* Editor).start({ runId: "essay", input: "Tides." })
      yield* gate.started
      return yield* left
    }).pipe(Effect.provide(team([research], [ScriptedModel.gate(gate)])))

    yield* Effect.gen(function*() {
      yield* Effect.forEach(logs, (lines) => SessionLines.fromLines(Stream.fromIterable(lines)))
      const result = yield* (yield* Editor).run({ runId: "essay", input: "Tides." })
      assert.deepStrictEqual(result._tag === "Completed" ? result.output : result.explain, { paragraph: "Two a day." })
      const store = yield* SessionStore
      const [helped] = (yield* store.list()).filter(({ title }) => title === "tides")
      const log = yield* Stream.runCollect(store.read(helped!.sessionId))
      assert.deepStrictEqual(
        log.flatMap(({ _tag }) => _tag.startsWith("Run") ? [_tag] : []),
        ["RunStarted", "RunAborted", "RunResumed", "RunCompleted"]
      )
    }).pipe(Effect.provide(team([json({ paragraph: "Two a day." })], [json({ facts: ["Two a day"] })])))
  }))
