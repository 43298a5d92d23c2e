/** What becomes of events of other versions in every session store; a part of `SessionStoreSuite`. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as EventMigrations from "../../run/log/EventMigrations.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import { base, completed, type Durable, notice, open, readAll, started, tagOf, write } from "./Fixtures.ts"
import { assert, describe, type Test } from "./TestRunner.ts"

/** What the version before this one called a text, in the tests. */
export const steps: EventMigrations.Steps = {
  [RunEvent.version - 1]: { NoticeAdded: ({ words, ...event }) => ({ ...event, text: words }) }
}

/** A notice as the version before wrote it. */
const older = (seq: number): Durable =>
  ({
    _tag: "NoticeAdded",
    kind: "resume",
    words: "notice",
    ...base({ seq }),
    version: RunEvent.version - 1
  }) as unknown as Durable

const newer = (seq: number): Durable => ({ ...notice({ seq }), version: RunEvent.version + 1 })

export const versions = (name: string, test: Test): void => {
  describe(`${name}: other versions`, () => {
    test(
      "a log that ends with an event of a newer version is not opened, however it is asked for, and nothing changes",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* write("s", [started({ seq: 1 }), newer(2)])
        const before = yield* store.list({ unowned: true })
        for (const options of [{}, { create: false }, { takeOver: true }]) {
          assert.strictEqual(yield* tagOf(Effect.scoped(open("s", options))), "StoreRefused")
        }
        assert.deepStrictEqual(yield* store.list({ unowned: true }), before)
        assert.strictEqual(before.length, 1)
      })
    )

    test(
      "such a log is not taken over from its writer, who goes on",
      Effect.gen(function*() {
        const session = yield* open("s")
        yield* session.append([started({ seq: 1 }), newer(2)])
        assert.strictEqual(yield* tagOf(open("s", { runId: "run-2", takeOver: true })), "StoreRefused")
        yield* session.append([notice({ seq: 3 })])
        assert.strictEqual(session.head(), 3)
      })
    )

    test(
      "events of an older version are read, watched and copied as this one would have written them",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* write("s", [started({ seq: 1 }), older(2), completed({ seq: 3 })])
        yield* store.fork("s", { to: "copy" })
        const expected = [started({ seq: 1 }), notice({ seq: 2 }), completed({ seq: 3 })]
        assert.deepStrictEqual(yield* readAll("s"), expected)
        assert.deepStrictEqual(yield* Stream.runCollect(Stream.take(store.watch("s"), 3)), expected)
        assert.deepStrictEqual(yield* readAll("copy"), expected)
      })
    )
  })
}
