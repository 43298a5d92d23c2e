/** A store whose operations fail in turn: everything that can be asked of it counts as one. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as ToolExecutorToolkit from "../../src/layers/ToolExecutorToolkit.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { open } from "../../src/testing/sessions/Fixtures.ts"
import * as StoreFaults from "../../src/testing/StoreFaults.ts"

const below = Layer.mergeAll(SessionStoreMemory.layer, ToolExecutorToolkit.layer)

it.effect.each([1, 2, 3])(
  "operation %i fails: an abort is asked for, passed on, or neither",
  (at) =>
    Effect.gen(function*() {
      const faults = StoreFaults.make("down", at)
      let heard = 0
      const asked = yield* Effect.gen(function*() {
        yield* open("s", { onAbortAsked: Effect.sync(() => void heard++) })
        const store = yield* SessionStore.SessionStore
        return yield* store.askToAbort!("s", "run-1")
      }).pipe(Effect.scoped, Effect.provide(faults.around(below)), Effect.exit)
      yield* faults.clear
      assert.deepStrictEqual([asked._tag, heard], at < 3 ? ["Failure", 0] : ["Success", 1])
    })
)
