import { NodeFileSystem } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Stream } from "effect"
import { Agent, Fiberloop, SessionStore, SessionStoreMemory } from "fiberloop"
import { ScriptedModel, SessionStoreSuite } from "fiberloop/testing"
import { fileOf, layer, make } from "./own-store.ts"

const temporaryFolder = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

// what every store must do; the folder is removed last, after the store below it has closed
SessionStoreSuite.suite(
  "own-store",
  Layer.unwrap(Effect.map(temporaryFolder, (folder) => Layer.provide(layer(folder), SessionStoreMemory.layer))).pipe(
    Layer.provide(NodeFileSystem.layer)
  )
)

/** A store that copies to a folder, the store below it, and an agent with `answers` that uses it. */
const using = (answers: number) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const folder = yield* temporaryFolder
    const below = yield* SessionStoreMemory.make
    const Below = Layer.succeed(SessionStore, below)
    const Test = Layer.mergeAll(
      Fiberloop.layer,
      Layer.provide(layer(folder), Below),
      ScriptedModel.layer(Array.from({ length: answers }, () => ScriptedModel.text("Hello.")))
    )
    const context = yield* Layer.build(Test)
    const agent = yield* Effect.provide(Agent.make({ instructions: "Be brief." }), context)
    const store = yield* Effect.provide(SessionStore, context)
    return {
      folder,
      fs,
      store,
      restarted: Effect.provideService(make(folder), SessionStore, below),
      ask: agent.run({ sessionId: "s", input: "Hi" }),
      log: Stream.runCollect(below.read("s")),
      copy: (sessionId: string) =>
        Effect.map(fs.readFileString(fileOf(folder, sessionId)), (text) =>
          text.trimEnd().split("\n").map((line) => JSON.parse(line)))
    }
  })

it.effect("the copy equals the log, line by line", () =>
  Effect.gen(function*() {
    const { ask, copy, log, store } = yield* using(2)
    yield* ask
    yield* ask
    assert.deepStrictEqual(yield* copy("s"), yield* log)
    yield* store.fork("s", { to: "t" })
    assert.deepStrictEqual(yield* copy("t"), yield* Stream.runCollect(store.read("t")))
  }).pipe(Effect.provide(NodeFileSystem.layer)))

it.effect("a copy that a crash cut off catches up when the session is opened", () =>
  Effect.gen(function*() {
    const { ask, copy, folder, fs, log, restarted } = yield* using(1)
    yield* ask
    const file = fileOf(folder, "s")
    const text = yield* fs.readFileString(file)
    yield* fs.writeFileString(file, text.slice(0, text.length / 2))
    // the process after the crash: a new store over the same sessions
    yield* Effect.scoped((yield* restarted).open("s", { runId: "next", create: false }))
    assert.deepStrictEqual(yield* copy("s"), yield* log)
  }).pipe(Effect.provide(NodeFileSystem.layer)))

it.effect("a failing copy fails no run", () =>
  Effect.gen(function*() {
    const { ask, folder, fs, log } = yield* using(1)
    yield* fs.makeDirectory(fileOf(folder, "s"))
    assert.strictEqual((yield* ask)._tag, "Completed")
    assert.strictEqual((yield* log).at(-1)?._tag, "RunCompleted")
  }).pipe(Effect.provide(NodeFileSystem.layer)))

it.effect("the copy is removed with its session", () =>
  Effect.gen(function*() {
    const { ask, folder, fs, store } = yield* using(1)
    yield* ask
    yield* store.remove("s")
    assert.deepStrictEqual(yield* fs.readDirectory(folder), [])
  }).pipe(Effect.provide(NodeFileSystem.layer)))
