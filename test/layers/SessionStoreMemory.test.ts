import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { open, started, write } from "../../src/testing/sessions/Fixtures.ts"
import { conversation, fork } from "../../src/testing/sessions/Forking.ts"
import { suite } from "../../src/testing/SessionStoreSuite.ts"
import * as Yielding from "../support/Yielding.ts"

suite("SessionStoreMemory", SessionStoreMemory.layer)

describe("SessionStoreMemory: wherever a fiber yields", () => {
  /** Opens the copy at the n-th operation of a fork; what is then appended is in the log that everyone reads. */
  const opened = Effect.fnUntraced(
    function*(n: number) {
      const store = yield* SessionStore.SessionStore
      yield* write("s", conversation)
      const context = yield* Effect.context<never>()
      let session: Exit.Exit<SessionStore.Session, SessionStore.StoreError> | undefined
      const yielding = Yielding.at(n, () => {
        session = Effect.runSyncExitWith(context)(
          open("copy") as Effect.Effect<SessionStore.Session, SessionStore.StoreError>
        )
      })
      yield* Effect.exit(Yielding.run(yielding, fork("s", "copy")))
      if (session?._tag === "Success") {
        yield* session.value.append([started({ seq: session.value.head() + 1 })])
        assert.strictEqual((yield* store.info("copy"))?.head, session.value.head(), `${n}`)
      }
      return yielding.count()
    },
    Effect.scoped,
    Effect.provide(SessionStoreMemory.layer, { local: true })
  )

  it.effect("a session opened while another is copied to its id has one log", () =>
    Effect.gen(function*() {
      const count = yield* opened(0)
      for (let n = 1; n <= count; n++) yield* opened(n)
    }))
})
