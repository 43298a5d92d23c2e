/**
 * Sessions that other versions wrote, through the stores: newer ones are refused and left unchanged, older ones are
 * migrated when read, and unknown types are kept.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import type * as EventMigrations from "../../src/run/log/EventMigrations.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import { Migrations } from "../../src/services/Migrations.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Fixtures from "../../src/testing/sessions/Fixtures.ts"
import { temporaryFolder } from "../support/Processes.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

type Events = readonly [RunEvent.Durable, ...ReadonlyArray<RunEvent.Durable>]
type Test = Effect.Effect<void, unknown, SessionStore.SessionStore | Scope.Scope>

/** A kind of store, with these migrations. */
interface Place {
  readonly name: string
  readonly store: (
    steps: EventMigrations.Steps
  ) => Effect.Effect<SessionStore.Store, SessionStore.StoreError, Scope.Scope>
}

const places: ReadonlyArray<Place> = [
  {
    name: "in memory",
    store: (steps) => Effect.provideService(SessionStoreMemory.make, Migrations, steps)
  },
  {
    name: "in SQLite",
    store: (steps) => Effect.provideService(SessionStoreSqlite.make({ filename: ":memory:" }), Migrations, steps)
  }
]

const newer = RunEvent.version + 1
const { answer, completed, notice, started } = Fixtures

/** A run whose last two events were written by a newer version. */
const fromTomorrow: Events = [
  started({ seq: 1 }),
  answer({ seq: 2 }),
  { ...notice({ seq: 3 }), version: newer },
  { ...completed({ seq: 4 }), version: newer }
]

const uses: Record<
  string,
  (store: SessionStore.Store) => Effect.Effect<unknown, SessionStore.StoreError, Scope.Scope>
> = {
  "read": (store) => Stream.runDrain(store.read("s")),
  "watch": (store) => Stream.runDrain(store.watch("s")),
  "open": (store) => store.open("s", { runId: "run-2", create: true }),
  "open, taking over": (store) => store.open("s", { runId: "run-2", create: false, takeOver: true }),
  "fork": (store) => store.fork("s", { to: "copy" })
}

/** The reason why an agent's run or resumption of the session fails. */
const driven = (store: SessionStore.Store, how: "stream" | "resume") =>
  Effect.gen(function*() {
    const { agent } = yield* TestAgent.make([], { store: TestStore.over(store) })
    const stream = how === "stream"
      ? agent.stream({ input: "hello", sessionId: "s" })
      : agent.resume({ sessionId: "s" })
    return yield* Fixtures.reasonOf(Stream.runDrain(stream))
  })

const assertRefused = (reason: { readonly _tag: string; readonly message: string }) => {
  assert.strictEqual(reason._tag, "StoreRefused")
  for (const part of [`version ${newer}`, `up to version ${RunEvent.version}`, `"s"`, "Update fiberloop"]) {
    assert.include(reason.message, part)
  }
}

for (const { name, store } of places) {
  const test = (claim: string, body: Test, steps: EventMigrations.Steps = {}) =>
    it.effect(claim, () => Effect.provide(Effect.scoped(body), Layer.effect(SessionStore.SessionStore, store(steps))))

  describe(`a session of a newer version ${name}`, () => {
    for (const [use, run] of Object.entries(uses)) {
      test(
        `is refused to ${use}`,
        Effect.gen(function*() {
          const store = yield* SessionStore.SessionStore
          yield* Fixtures.write("s", fromTomorrow)
          const before = yield* store.list()
          assertRefused(yield* Fixtures.reasonOf(run(store)))
          assert.deepStrictEqual(yield* store.list(), before)
        })
      )
    }

    for (const how of ["stream", "resume"] as const) {
      test(
        `is refused to an agent's ${how}`,
        Effect.gen(function*() {
          const store = yield* SessionStore.SessionStore
          yield* Fixtures.write("s", fromTomorrow)
          const before = yield* store.list()
          assertRefused(yield* driven(store, how))
          assert.deepStrictEqual(yield* store.list(), before)
        })
      )
    }

    test(
      "can be read and forked before its first newer event",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* Fixtures.write("s", [
          started({ seq: 1 }),
          completed({ seq: 2 }),
          { ...started({ seq: 3 }), version: newer }
        ])
        assert.deepStrictEqual(Fixtures.seqs(yield* Fixtures.readAll("s", { to: 2 })), [1, 2])
        assert.strictEqual((yield* store.fork("s", { to: "copy" })).head, 2)
        yield* store.open("copy", { runId: "run-2", create: false })
      })
    )
  })

  describe(`a session of older versions ${name}`, () => {
    /** Two versions that never existed: the first called a notice's text `words`, the second had no kinds. */
    const steps: EventMigrations.Steps = {
      [-1]: { NoticeAdded: ({ words, ...rest }) => ({ ...rest, text: words }) },
      0: { NoticeAdded: (event) => ({ ...event, kind: "resume" }) }
    }
    const { text: _1, kind: _2, ...bare } = notice({ seq: 2 }) as Extract<RunEvent.Durable, { _tag: "NoticeAdded" }>
    const older = [
      { ...started({ seq: 1 }), version: -1 },
      { ...bare, version: -1, words: "two" },
      { ...bare, seq: 3, at: 30, version: 0, text: "three" },
      notice({ seq: 4 }, "four"),
      { _tag: "FromYesterday", ...Fixtures.base({ seq: 5 }), version: 0, words: ["kept"] },
      completed({ seq: 6 })
    ] as unknown as Events
    const migrated = [
      started({ seq: 1 }),
      notice({ seq: 2 }, "two"),
      notice({ seq: 3 }, "three"),
      notice({ seq: 4 }, "four"),
      { _tag: "FromYesterday", ...Fixtures.base({ seq: 5 }), words: ["kept"] },
      completed({ seq: 6 })
    ]

    test(
      "is read, watched and forked as this version would have written it",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* Fixtures.write("s", older)
        assert.deepStrictEqual<unknown>(yield* Fixtures.readAll("s"), migrated)
        assert.deepStrictEqual<unknown>(
          yield* Stream.runCollect(Stream.take(store.watch("s", 2), 5)),
          migrated.slice(1)
        )
        yield* store.fork("s", { to: "copy" })
        assert.deepStrictEqual<unknown>(yield* Fixtures.readAll("copy"), migrated)
      }),
      steps
    )

    test(
      "continues with an answer to a new message",
      Effect.gen(function*() {
        const store = yield* SessionStore.SessionStore
        yield* Fixtures.write("s", older)
        const { agent, script } = yield* TestAgent.make([ScriptedModel.text("hello!")], {
          store: TestStore.over(store)
        })
        const result = yield* Effect.orDie(agent.run({ input: "hello", sessionId: "s" }))
        assert.strictEqual(result.text, "hello!")
        const [request] = yield* script.requests
        for (const words of ["two", "three", "four", "hello"]) assert.include(JSON.stringify(request!.messages), words)
        const log = yield* Fixtures.readAll("s")
        assert.deepStrictEqual<unknown>(log.slice(0, 6), migrated)
        assert.deepStrictEqual(RunLog.violations(log), [])
      }),
      steps
    )

    test(
      "is refused when a migration step is missing, naming the event",
      Effect.gen(function*() {
        yield* Fixtures.write("s", older)
        const reason = yield* Fixtures.reasonOf(Fixtures.readAll("s"))
        assert.strictEqual(reason._tag, "StoreRefused")
        assert.include(reason.message, "Event 1 of session \"s\" has version -1")
      }),
      { 0: {} }
    )
  })

  test(
    `events of unknown types are kept ${name} when a session is forked and continues`,
    Effect.gen(function*() {
      const store = yield* SessionStore.SessionStore
      const strange = { _tag: "FromTomorrow", ...Fixtures.base({ seq: 2 }), payload: { deep: [1, null] } }
      yield* Fixtures.write("s", [started({ seq: 1 }), strange as unknown as RunEvent.Durable, completed({ seq: 3 })])
      yield* store.fork("s", { to: "copy" })
      const { agent } = yield* TestAgent.make([ScriptedModel.text("hello!")], { store: TestStore.over(store) })
      yield* Effect.orDie(agent.run({ input: "hello", sessionId: "copy" }))
      assert.deepStrictEqual<unknown>((yield* Fixtures.readAll("copy"))[1], strange)
    })
  )
}

describe("a file with a session of a newer version", () => {
  for (
    const [use, run] of [
      ...Object.entries(uses),
      ...(["stream", "resume"] as const).map((how) => [how, (store: SessionStore.Store) => driven(store, how)] as const)
    ]
  ) {
    it.effect(`is byte for byte the same after ${use}`, () =>
      Effect.gen(function*() {
        const filename = join(yield* temporaryFolder, "s.db")
        const use = <A, E, R>(f: (store: SessionStore.Store) => Effect.Effect<A, E, R>) =>
          Effect.scoped(Effect.flatMap(SessionStoreSqlite.make({ filename }), f))
        yield* use((store) =>
          Effect.provideService(Fixtures.write("s", fromTomorrow), SessionStore.SessionStore, store)
        )
        const before = readFileSync(filename)
        yield* use((store) => Effect.exit(Effect.scoped<unknown, unknown, Scope.Scope>(run(store))))
        assert.isTrue(before.equals(readFileSync(filename)))
      }))
  }
})
