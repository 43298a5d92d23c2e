/** What an answer reads of a long session: its last run, and not what was said before it. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Suspended from "../support/Suspended.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const stores = { memory: SessionStoreMemory.make, SQLite: SessionStoreSqlite.make({ filename: ":memory:" }) }

it.effect.each(Object.entries(stores))(
  "questions and answers are found without reading earlier runs: %s",
  ([, make]) =>
    Effect.gen(function*() {
      const base = yield* make
      let read: Array<string> = []
      const store = TestStore.over({
        ...base,
        read: (sessionId, range) =>
          Stream.tap(base.read(sessionId, range), ({ runId }) => Effect.sync(() => read.push(runId)))
      })
      const answers = Array.from({ length: 20 }, () => ScriptedModel.text("yes"))
      const made = yield* Suspended.before([...answers, TestAgent.work(1)], { store })
      for (const [i] of answers.entries()) yield* made.agent.run({ sessionId: "s", runId: `before ${i}`, input: "go" })
      yield* made.agent.run(Suspended.go)
      read = []
      assert.deepStrictEqual(yield* made.waiting, ["1.0"])
      yield* made.decide("1.0")
      assert.deepStrictEqual(new Set(read), new Set([Suspended.go.runId]))
      assert.isUndefined((yield* made.waiting)[0])
    })
)
