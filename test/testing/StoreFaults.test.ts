/** A store whose operations fail in turn: everything that can be asked of it counts as one. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as ToolExecutorToolkit from "../../src/layers/ToolExecutorToolkit.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { notices, open } from "../../src/testing/sessions/Fixtures.ts"
import * as StoreFaults from "../../src/testing/StoreFaults.ts"
import * as ClassStore from "../support/ClassStore.ts"

const belowOf = (store: Layer.Layer<SessionStore.SessionStore>) => Layer.mergeAll(store, ToolExecutorToolkit.layer)

const stores = [["literals", SessionStoreMemory.layer], ["classes", ClassStore.layer]] as const

it.effect.each(stores.flatMap(([name, store]) => [1, 2, 3].map((at) => ({ name, store, at }))))(
  "over $name, operation $at fails: an abort is asked for, passed on, or neither",
  ({ at, store }) =>
    Effect.gen(function*() {
      const faults = StoreFaults.make("down", at)
      let heard = 0
      const asked = yield* Effect.gen(function*() {
        yield* open("s", { onAbortAsked: Effect.sync(() => void heard++) })
        const store = yield* SessionStore.SessionStore
        return yield* store.askToAbort!("s", "run-1")
      }).pipe(Effect.scoped, Effect.provide(faults.around(belowOf(store))), Effect.exit)
      yield* faults.clear
      assert.deepStrictEqual([asked._tag, heard], at < 3 ? ["Failure", 0] : ["Success", 1])
    })
)

it.effect("a session of a class keeps its id and its head", () =>
  Effect.gen(function*() {
    const faults = StoreFaults.make("down", 100)
    const found = yield* Effect.gen(function*() {
      const session = yield* open("s")
      yield* session.append(notices(1, 2))
      return [session.sessionId, session.head()]
    }).pipe(Effect.scoped, Effect.provide(faults.around(belowOf(ClassStore.layer))))
    assert.deepStrictEqual(found, ["s", 2])
  }))
