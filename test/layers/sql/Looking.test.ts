/** When a store looks into its database for what was said to the owners of its sessions. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Looking from "../../../src/layers/sql/Looking.ts"

it.effect("a store that is closed looks no more, even while a session outlives it", () =>
  Effect.gen(function*() {
    const store = yield* Scope.make()
    let looks = 0
    const look = Effect.sync(() => void looks++)
    const looking = yield* Scope.provide(Looking.make(look, (asking) => asking), store)
    yield* looking.hold
    yield* TestClock.adjust("1 second")
    assert.strictEqual(looks, 2)
    yield* Scope.close(store, Exit.void)
    yield* TestClock.adjust("1 second")
    assert.strictEqual(looks, 2)
  }))
