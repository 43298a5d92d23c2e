/** The runs of events, which few of their rows hold. */
import { assert, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import {
  answer,
  compacted,
  completed,
  type Durable,
  notice,
  notices,
  reasonOf,
  started
} from "../../src/testing/sessions/Fixtures.ts"
import { temporaryFolder } from "../support/Processes.ts"

/** Two runs in one append, more rows than one statement takes, another run without a landmark, and one event by itself. */
const appends: Arr.NonEmptyReadonlyArray<Arr.NonEmptyReadonlyArray<Durable>> = [
  [started({ seq: 1 }), answer({ seq: 2 }), compacted({ seq: 3 }), notice({ seq: 4 })],
  [
    notice({ seq: 5 }),
    completed({ seq: 6 }),
    started({ seq: 7, runId: "run-2" }),
    ...Arr.makeBy(200, (i) => notice({ seq: 8 + i, runId: "run-2" }))
  ],
  [notice({ seq: 208, runId: "run-2" }), notice({ seq: 209, runId: "run-3" }), notice({ seq: 210, runId: "run-3" })],
  [completed({ seq: 211, runId: "run-3" })]
]
const holders = [1, 3, 5, 7, 105, 205, 208, 209, 211]

/** A database with a session "s" that was written in these appends. */
const database = Effect.fnUntraced(function*(written = appends) {
  const file = join(yield* temporaryFolder, "sessions.db")
  const store = yield* SessionStoreSqlite.make({ filename: file })
  const db = yield* Effect.acquireRelease(
    Effect.sync(() => new DatabaseSync(file)),
    (db) => Effect.sync(() => db.close())
  )
  yield* Effect.scoped(Effect.gen(function*() {
    const session = yield* store.open("s", { runId: "run-1", create: true })
    for (const events of written) yield* session.append(events)
  }))
  return { db, store }
})

it.effect("a row holds its run where another begins, in a landmark, and as the first of its statement", () =>
  Effect.gen(function*() {
    const { db } = yield* database()
    const holding = db.prepare("SELECT seq FROM fiberloop_log WHERE new_run <> '' ORDER BY seq")
    assert.deepStrictEqual(holding.all().map(({ seq }) => seq), holders)
  }))

it.effect("an event has its run wherever a reader begins, and in a copy", () =>
  Effect.gen(function*() {
    const { store } = yield* database()
    const events = appends.flat()
    for (const event of events) {
      const { seq } = event
      assert.deepStrictEqual(yield* Stream.runCollect(store.read("s", { from: seq })), events.slice(seq - 1))
      assert.deepStrictEqual(yield* Stream.runCollect(store.read("s", { from: seq, to: seq })), [event])
      assert.deepStrictEqual(yield* store.watch("s", seq).pipe(Stream.take(1), Stream.runCollect), [event])
    }
    yield* store.fork("s", { to: "copy" })
    assert.deepStrictEqual(yield* Stream.runCollect(store.read("copy")), events)
  }))

it.effect("a landmark is found by its run", () =>
  Effect.gen(function*() {
    const { store } = yield* database()
    assert.strictEqual(yield* store.lastOf("s", "ContextCompacted", "run-1"), 3)
    assert.strictEqual(yield* store.lastOf("s", "RunStarted", "run-2"), 7)
  }))

const short = [[notice({ seq: 1, runId: "run-0" }), notice({ seq: 2, runId: "run-0" })], notices(3, 6)] as const

for (
  const [state, damage, from, said] of [
    [
      "an event whose row lost it",
      "UPDATE fiberloop_log SET new_run = '' WHERE seq = 1",
      1,
      "1 of session \"s\" has lost its run"
    ],
    [
      "the event after the row that held it",
      "DELETE FROM fiberloop_log WHERE seq = 3",
      4,
      "4 of session \"s\" has lost its run"
    ],
    ["an event further on", "DELETE FROM fiberloop_log WHERE seq IN (3, 4)", 6, "6 of session \"s\" has lost its run"],
    [
      "the second event without the first",
      "DELETE FROM fiberloop_log WHERE seq = 1",
      2,
      "2 of session \"s\" has lost its run"
    ]
  ] as const
) {
  it.effect(`${state} is refused, and not read as one of another run`, () =>
    Effect.gen(function*() {
      const { db, store } = yield* database(short)
      db.exec(damage)
      const reason = yield* reasonOf(Stream.runDrain(store.read("s", { from })))
      assert.strictEqual(reason._tag, "StoreRefused")
      assert.include(reason.message, `Event ${said}`)
    }))
}

for (const seq of [1, 3]) {
  it.effect(`event ${seq}, which held the run of the next one, is said to be missing`, () =>
    Effect.gen(function*() {
      const { db, store } = yield* database(short)
      db.prepare("DELETE FROM fiberloop_log WHERE seq = ?").run(seq)
      const reason = yield* reasonOf(Stream.runDrain(store.read("s", { from: seq })))
      assert.include(reason.message, `Event ${seq} of session "s" is missing`)
    }))
}
