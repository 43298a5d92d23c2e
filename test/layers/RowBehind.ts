/** A session whose row was damaged: its log goes on after the event that the row has as the last. */
import { assert } from "@effect/vitest"
import type * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as SessionStore from "../../src/services/SessionStore.ts"
import { completed, type Durable, notices, reasonOf, started } from "../../src/testing/sessions/Fixtures.ts"

const events: Arr.NonEmptyReadonlyArray<Durable> = [started({ seq: 1 }), ...notices(2, 15), completed({ seq: 16 })]

const open = (store: SessionStore.Store, create: boolean) => store.open("s", { runId: "run-1", create })

/** Whatever reads or continues it is refused and says where it is damaged; it can be removed. */
export const check = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  damage: (head: number) => Effect.Effect<unknown, unknown>
) {
  yield* Effect.scoped(Effect.flatMap(open(store, true), (session) => session.append(events)))
  for (const head of [3, 0]) {
    yield* damage(head)
    const asked: Record<string, Effect.Effect<unknown, SessionStore.StoreError>> = {
      read: Stream.runDrain(store.read("s")),
      watch: Stream.runDrain(store.watch("s")),
      open: Effect.scoped(open(store, false)),
      create: Effect.scoped(open(store, true)),
      info: store.info("s"),
      fork: store.fork("s", { to: "copy" })
    }
    for (const [how, refused] of Object.entries(asked)) {
      const reason = yield* reasonOf(refused)
      assert.strictEqual(reason._tag, "StoreRefused", how)
      assert.include(reason.message, `Event ${head + 1} of session "s" comes after event ${head}`)
      assert.include(reason.message, "is damaged")
    }
  }
  yield* damage(16)
  assert.deepStrictEqual(yield* Stream.runCollect(store.read("s")), [...events])
  yield* damage(3)
  yield* store.remove("s")
  assert.deepStrictEqual(yield* store.list(), [])
})
