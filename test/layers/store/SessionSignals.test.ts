/** Watchers of a session are woken while they wait, and forgotten afterwards. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as SessionSignals from "../../../src/layers/store/SessionSignals.ts"

it.effect("a watcher that has left is forgotten, and those that stay are woken", () =>
  Effect.gen(function*() {
    const signals = SessionSignals.make()
    const stays = yield* signals.listen("s")
    const left = yield* Effect.scoped(signals.listen("s"))
    signals.notify("s")
    assert.deepStrictEqual([stays.isOpen(), left.isOpen()], [true, false])
  }))
