/** The spans of a store's operations, in every store. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { join } from "node:path"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import * as Message from "../../src/run/Message.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import { completed, open, started, write } from "../../src/testing/sessions/Fixtures.ts"
import { temporaryFolder } from "../support/Processes.ts"
import * as Traces from "../support/Traces.ts"

const sqlite = Layer.unwrap(
  Effect.map(temporaryFolder, (folder) => SessionStoreSqlite.layer({ filename: join(folder, "s.db") }))
)

const stores = [
  { name: "SessionStoreMemory", layer: SessionStoreMemory.layer },
  { name: "SessionStoreSqlite", layer: sqlite }
]

describe.each(stores)("$name", ({ layer }) => {
  it.effect("has a span for each of its operations except reading", () =>
    Effect.gen(function*() {
      const store = yield* SessionStore.SessionStore
      yield* write("s", [started({ seq: 1 }), completed({ seq: 2 })])
      const asked = [
        Effect.scoped(open("s")),
        store.lastOf("s", "RunStarted"),
        store.list(),
        store.info("s"),
        store.askToAbort!("s", "r"),
        store.send!("s", "r", { _tag: "Input", id: "1", after: 2, kind: "steer", messages: [Message.user("hi")] }),
        store.fork("s", { to: "copy" }),
        store.remove("copy"),
        Stream.runDrain(store.read("s"))
      ]
      const traces = Traces.make()
      for (const one of asked) yield* Effect.withTracer(one, traces.tracer)
      const own = traces.spans.filter(({ name }) => name.startsWith("SessionStore."))
      assert.deepStrictEqual(own.map((span) => `${span.name} ${Traces.stateOf(span)}`), [
        "SessionStore.open ok",
        "SessionStore.lastOf ok",
        "SessionStore.list ok",
        "SessionStore.info ok",
        "SessionStore.askToAbort ok",
        "SessionStore.send ok",
        "SessionStore.fork ok",
        "SessionStore.remove ok"
      ])
    }).pipe(Effect.provide(layer)))
})
