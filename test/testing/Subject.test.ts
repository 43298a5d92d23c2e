/** The log of what a sweep tests: a session that does not exist has none, any other must be readable. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Agent from "../../src/Agent.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as RunsLocal from "../../src/layers/RunsLocal.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as SessionErrors from "../../src/layers/store/SessionErrors.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as CrashSweep from "../../src/testing/CrashSweep.ts"
import * as FaultSweep from "../../src/testing/FaultSweep.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"

class Swept extends Agent.Service<Swept>()("test/Swept", { instructions: "" }) {}

/** Answers everything, over this store. */
const subjectOn = (store: Layer.Layer<SessionStore.SessionStore, SessionStore.StoreError>, sessionId = "s") =>
  CrashSweep.subject({
    agent: Swept,
    layer: Swept.layer.pipe(
      Layer.provide([ScriptedModel.layer(() => ScriptedModel.text("done")), ContextWindow.layer, RunsLocal.layer])
    ),
    store,
    input: { input: "go", sessionId }
  })

describe("a log", () => {
  it.effect("of a session that does not exist is empty", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* CrashSweep.logOf(subjectOn(SessionStoreMemory.layer), "s"), [])
    }))

  const damaged = SessionErrors.damaged("s", 3, "is not JSON")

  const unreadable = Layer.effect(
    SessionStore.SessionStore,
    Effect.map(
      SessionStoreMemory.make,
      (store): SessionStore.Store => ({ ...store, read: () => Stream.fail(damaged) })
    )
  )

  for (
    const [claim, store] of [
      ["that cannot be read", unreadable],
      ["whose store cannot be opened", Layer.effect(SessionStore.SessionStore, Effect.fail(damaged))]
    ] as const
  ) {
    it.effect(`${claim} is not taken for an empty one`, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(CrashSweep.logOf(subjectOn(store), "s"))
        assert.deepStrictEqual([error.message, error.cause], [`the log cannot be read: ${damaged.message}`, damaged])
      }))
  }

  it.live("that cannot be read is what a sweep reports, and nothing that it would say of an empty one", () =>
    Effect.gen(function*() {
      const { failures } = yield* FaultSweep.sweep({
        subjects: { one: ({ sessionId }) => subjectOn(unreadable, sessionId) },
        faults: ["fails"],
        every: 3
      })
      assert.deepStrictEqual([...new Set(failures.map(({ what }) => what.replace(/^[^:]*: /, "")))], [
        `the log cannot be read: ${damaged.message}`
      ])
    }))
})
