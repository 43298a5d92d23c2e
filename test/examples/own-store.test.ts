/** examples/own-store.ts over stores that the test beside it does not have. */
import { NodeFileSystem } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { readFileSync } from "node:fs"
import * as OwnStore from "../../examples/own-store.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { completed, started, write } from "../../src/testing/sessions/Fixtures.ts"
import * as ClassStore from "../support/ClassStore.ts"
import { temporaryFolder } from "../support/Processes.ts"

it.effect("its store copies what a store keeps that is an instance of a class, as are its sessions", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    yield* Effect.gen(function*() {
      yield* write("s", [started({ seq: 1 }), completed({ seq: 2 })])
      const store = yield* SessionStore.SessionStore
      const log = yield* Stream.runCollect(store.read("s"))
      const copy = readFileSync(OwnStore.fileOf(folder, "s"), "utf8").trimEnd().split("\n").map((line) =>
        JSON.parse(line)
      )
      assert.lengthOf(log, 2)
      assert.deepStrictEqual(copy, log)
      assert.strictEqual(yield* store.lastOf("s", "RunStarted"), 1)
      assert.strictEqual((yield* store.info("s"))?.sessionId, "s")
      assert.lengthOf(yield* store.list(), 1)
      assert.lengthOf(yield* Stream.runCollect(Stream.take(store.watch("s"), 2)), 2)
      assert.isFalse(yield* store.askToAbort!("s", "run-1"))
      assert.isFalse(
        yield* store.send!("s", "run-1", { _tag: "Input", id: "a", after: 0, kind: "steer", messages: [] })
      )
    }).pipe(Effect.provide(Layer.provide(OwnStore.layer(folder), [ClassStore.layer, NodeFileSystem.layer])))
  }))

it.effect("its store passes nothing on to other processes over a store that does not", () =>
  Effect.gen(function*() {
    const { askToAbort: _1, send: _2, ...below } = yield* SessionStoreMemory.make
    const store = yield* OwnStore.make("unused").pipe(Effect.provideService(SessionStore.SessionStore, below))
    assert.deepStrictEqual(Object.keys(store).filter((name) => name === "askToAbort" || name === "send"), [])
  }).pipe(Effect.provide(NodeFileSystem.layer)))
